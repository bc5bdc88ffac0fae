//! What can go wrong with storage.

/// A store's refusal.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// A precondition of the batch did not hold; nothing was written.
    #[error("the stored record is not the expected one")]
    Conflict,
    /// The bytes at this key fail their checksum.
    #[error("corrupt record: {0}")]
    Corrupt(String),
    /// A record was written by a newer version of the program.
    #[error("record schema {found} is newer than {known}, the newest this program knows: run the newer program")]
    NewerSchema { found: u16, known: u16 },
    /// Too many commits wait for the disk: try again.
    #[error("the store's queue is full")]
    Busy,
    /// A sync failed once: what was acknowledged is safe, nothing more is accepted. A write answered with this may or
    /// may not be there after a restart.
    #[error("the store only reads: {0}")]
    Poisoned(String),
    /// Another process holds the folder.
    #[error("the data folder {0} is in use by another process")]
    Locked(String),
    /// The request itself is wrong (limit 0, a key over 4 KiB, a value over its bound).
    #[error("bad request to the store: {0}")]
    BadRequest(String),
    #[error("storage failed: {0}")]
    Io(String),
}
