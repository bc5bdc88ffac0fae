//! The record of a stored picture.

use muster_core::Millis;
use muster_store::{Record, Tree};
use serde::{Deserialize, Serialize};

/// A stored picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Identifier, `img_…`, which sorts by time of creation.
    pub id: String,
    /// Principal that it belongs to.
    pub owner: String,
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// Bytes of the file.
    pub bytes: u64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Time of creation.
    pub created: Millis,
    /// Time from which it is gone.
    pub expires: Millis,
    /// Model that drew it.
    pub model: String,
    /// Provider that drew it.
    pub provider: String,
    /// How it was drawn: `model` or `sketch`.
    pub method: String,
}

/// Prefix of the keys, and of the identifiers.
pub(super) const PREFIX: &str = "img_";

impl Picture {
    pub(super) fn key(id: &str) -> Vec<u8> {
        id.as_bytes().to_vec()
    }

    /// Returns the hash in lower-case hexadecimal.
    pub fn hash(&self) -> String {
        use std::fmt::Write as _;
        self.sha256.iter().fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl Record for Picture {
    const TREE: Tree = Tree::Pictures;
    const SCHEMA: u16 = 1;
}
