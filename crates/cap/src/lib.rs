//! The Common Alerting Protocol 1.2 (OASIS Standard CAP-V1.2, 2010): parses, validates and writes alerts, and lists
//! them as an Atom feed (RFC 4287).
//!
//! This crate is pure: bytes in, values out. It depends on no other crate of the workspace. Input is bounded in size,
//! depth and number of elements. No entity is expanded except the five predefined ones of XML and numeric character
//! references.

#![warn(missing_docs)]

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

/// Describes why a document or a value is not a valid CAP alert.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct CapError {
    /// Path of the element, such as `alert/info[1]/area[2]/polygon[1]`.
    pub place: String,
    /// What is wrong, and what would be valid.
    pub why: String,
}

impl CapError {
    pub(crate) fn new(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: place.into(), why: why.into() }
    }
}
