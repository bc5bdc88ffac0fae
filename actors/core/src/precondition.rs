//! Optimistic concurrency control: a writer states the version that it has read.

use crate::{Error, Kind};

/// Version that a writer has read (RFC 9110, `If-Match`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMatch {
    /// `*`: any version.
    Any,
    /// A specific version.
    Version(u64),
}

impl IfMatch {
    /// Compares with the current version.
    ///
    /// # Errors
    ///
    /// `PreconditionFailed` if the current version is a different one; the details contain it.
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
