//! Errors of the store.

/// An error of the store.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// A precondition of the batch did not hold; nothing was written.
    #[error("the stored record is not the expected one")]
    Conflict,
    /// The data at this key fails its checksum.
    #[error("corrupt record: {0}")]
    Corrupt(String),
    /// A record was written by a newer version of the program.
    #[error(
        "record schema {found} is newer than {known}, the newest that this version supports: use the newer version"
    )]
    NewerSchema {
        /// Schema version of the record.
        found: u16,
        /// Newest schema version that this program supports.
        known: u16,
    },
    /// Too many commits are queued: try again.
    #[error("the store's queue is full")]
    Busy,
    /// A sync failed. What was acknowledged is safe, nothing more is accepted. A write that fails with this error may
    /// or may not be present after a restart.
    #[error("the store is read-only until it is reopened: {0}")]
    Poisoned(String),
    /// Another process uses the folder.
    #[error("the data folder {0} is in use by another process")]
    Locked(String),
    /// The request is invalid (limit 0, a key over 4 KiB, a value over its bound).
    #[error("bad request to the store: {0}")]
    BadRequest(String),
    /// An operation on files failed; the message has the path and, where one is known, a remedy.
    #[error("storage failed: {0}")]
    Io(String),
}
