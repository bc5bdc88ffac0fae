use std::io;

/// Why a vector is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidVector {
    /// Its length differs from the index's.
    #[error("a vector of this index has {expected} numbers, this one has {actual}: embed with the model of the index")]
    Length {
        /// Length of the index's vectors.
        expected: usize,
        /// Length of the rejected vector.
        actual: usize,
    },
    /// It has no direction: all numbers are zero, or one is not finite.
    #[error("a vector needs a direction: every number finite, one at least not zero")]
    NoDirection,
}

/// Why a vector index cannot be decoded. No part of it is used: it must be rebuilt from the vectors.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The reader failed, or the data is incomplete.
    #[error("the vector index cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The data is invalid, for the reason in the value.
    #[error("the data is not a vector index: {0}")]
    Malformed(&'static str),
}
