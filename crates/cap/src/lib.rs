//! The Common Alerting Protocol 1.2 (OASIS Standard CAP-V1.2, 2010): alerts read, checked and written, and lists of them
//! as an Atom feed (RFC 4287).
//!
//! Pure: bytes in, values out; knows nobody. What is read is bounded in size, depth and number of elements, and no entity
//! is ever expanded but XML's own five and characters by number.

mod atom;
mod check;
mod enums;
mod list;
mod model;
mod read;
mod time;
mod write;
mod xml;

pub use atom::{Entry, Feed};
pub use enums::{Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};
pub use model::{Alert, Area, Circle, Info, NamedValue, Polygon, Reference, Resource};
pub use read::{MAX_BYTES, parse};
pub use time::CapTime;

/// Why a document is no CAP alert.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct CapError {
    /// The element, such as `alert/info[1]/area[2]/polygon[1]`.
    pub place: String,
    /// What is wrong, and what would be right.
    pub why: String,
}

impl CapError {
    pub(crate) fn new(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: place.into(), why: why.into() }
    }
}
