//! Why a change is rejected.

use serde::{Deserialize, Serialize};
use serde_json::json;

use muster_core::{Error, Kind};

/// A rejection that depends on stored state: part of an idempotent response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rejection {
    /// `If-Match` names a version other than the current one.
    Version { present: u32, wanted: u64 },
    /// `If-Match`, but there is no entry.
    Missing,
    /// `If-None-Match: *`, but there is an entry.
    Present { present: u32 },
    /// The owner has reached the maximum number of entries.
    Full { most: u64 },
    /// The owner's data is being deleted.
    Forgetting,
    /// The present entry cannot be read.
    Unreadable,
}

impl From<Rejection> for Error {
    fn from(refused: Rejection) -> Self {
        match refused {
            Rejection::Version { present, wanted } => {
                let message = format!("the entry is at version {present}, not {wanted}: read it again");
                Self::new(Kind::PreconditionFailed, message).detailing(json!({ "version": present }))
            }
            Rejection::Missing => Self::new(
                Kind::PreconditionFailed,
                "there is no entry of that key: send no If-Match to store a new one",
            ),
            Rejection::Present { present } => {
                let message = format!("the entry exists at version {present}: send no If-None-Match to replace it");
                Self::new(Kind::PreconditionFailed, message).detailing(json!({ "version": present }))
            }
            Rejection::Full { most } => {
                let message = format!("you have {most} entries, the maximum: delete some, or let them expire");
                Self::new(Kind::QuotaExceeded, message).coded("memory_full").detailing(json!({ "max_entries": most }))
            }
            Rejection::Forgetting => {
                Self::new(Kind::Conflict, "every entry of this owner is being deleted: store again once that has ended")
                    .coded("owner_being_forgotten")
            }
            Rejection::Unreadable => Self::new(Kind::Internal, "stored data could not be read: run `muster doctor`"),
        }
    }
}
