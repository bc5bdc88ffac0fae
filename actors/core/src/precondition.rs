//! Optimistic versions: who changes a record says which one it has read.

use crate::{Error, Kind};

/// What a writer says of the version that it has read (RFC 9110, `If-Match`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMatch {
    /// `*`: whatever is there.
    Any,
    Version(u64),
}

impl IfMatch {
    /// # Errors
    /// `PreconditionFailed` where another version is present; the details tell which.
    pub fn check(self, present: u64) -> Result<(), Error> {
        match self {
            Self::Any => Ok(()),
            Self::Version(version) if version == present => Ok(()),
            Self::Version(version) => {
                let message = format!("the record is at version {present}, not {version}: read it again");
                let details = serde_json::json!({ "version": present });
                Err(Error::new(Kind::PreconditionFailed, message).detailing(details))
            }
        }
    }
}
