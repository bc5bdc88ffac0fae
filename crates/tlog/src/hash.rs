//! Hashes of the Merkle tree of RFC 6962, section 2.1, over SHA-256.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A SHA-256 hash: of a leaf, of an inner node or of a whole tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; Hash::LEN]);

impl Hash {
    /// Bytes of a hash.
    pub const LEN: usize = 32;
    /// Characters of a hash in base64, with its padding.
    const BASE64: usize = 44;

    /// Wraps the bytes of a hash.
    #[must_use]
    pub const fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// Returns the hash in standard base64 (RFC 4648, section 4), as notes and proofs contain it.
    #[must_use]
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Decodes a hash from standard base64. Returns `None` unless the text is the only encoding of 32 bytes.
    #[must_use]
    pub fn from_base64(text: &str) -> Option<Self> {
        if text.len() != Self::BASE64 {
            return None;
        }
        Some(Self(STANDARD.decode(text).ok()?.try_into().ok()?))
    }

    /// Computes the hash of a leaf: SHA-256 of a zero byte and the entry.
    #[must_use]
    pub fn of_leaf(entry: &[u8]) -> Self {
        Self(Sha256::new().chain_update([0x00]).chain_update(entry).finalize().into())
    }

    /// Computes the hash of an inner node: SHA-256 of a byte with the value 1 and the hashes of both children.
    #[must_use]
    pub fn of_node(left: &Self, right: &Self) -> Self {
        Self(Sha256::new().chain_update([0x01]).chain_update(left.0).chain_update(right.0).finalize().into())
    }

    /// Computes the root of a tree without leaves: SHA-256 of nothing.
    #[must_use]
    pub fn of_empty_tree() -> Self {
        Self(Sha256::digest([]).into())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_base64())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_base64())
    }
}
