use std::io;

/// Why a vector is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadVector {
    #[error("a vector of this index has {expected} numbers, this one has {given}: embed with the model of the index")]
    Length { expected: usize, given: usize },
    #[error("a vector needs a direction: every number finite, one at least not zero")]
    NoDirection,
}

/// Why bytes are not a valid vector index. Nothing of them is used: rebuild it from the vectors.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the vector index cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("these bytes are no vector index: {0}")]
    Malformed(&'static str),
}
