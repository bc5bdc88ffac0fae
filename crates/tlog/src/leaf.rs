//! Entries of the audit log: the canonical bytes that are hashed into the tree, and commitments to what is kept beside
//! them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::canonical::{CanonicalError, parse_unambiguous, to_canonical};

/// Maximum length of an entry, in bytes.
pub const MAX_LEAF: usize = 2048;
/// Version of the entries.
const VERSION: u8 = 2;

/// How an act ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Ok,
    /// It was not permitted.
    Refused,
    /// It was permitted and failed.
    Failed,
}

/// An entry of the audit log. All its texts are identifiers, so that it can stay when what it is about is erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leaf {
    /// Version of the format: 2.
    pub v: u8,
    /// Identifier of the entry.
    pub id: String,
    /// Time of the act (RFC 3339, UTC).
    pub at: String,
    /// Principal who acted.
    pub actor: String,
    /// What acted for the principal: an agent, a command line, an import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The act.
    pub action: String,
    /// What was acted on.
    pub resource: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Approval under which it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Request by which it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Commitment to the details: [`commitment`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// Hash of what the record now allows: [`fingerprint`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// An entry that is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeafError {
    /// The entry has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The bytes are not the canonical form of what they contain.
    #[error("it is not in its canonical form")]
    NotCanonical,
    /// A member is missing, not known, or of another type or version.
    #[error("it is no entry of version {VERSION}: {0}")]
    Members(String),
    /// The entry is too long.
    #[error("it has {0} bytes, an entry has at most {MAX_LEAF}")]
    TooLong(usize),
}

impl Leaf {
    /// Makes an entry without its optional members.
    #[must_use]
    pub fn new(id: String, at: String, actor: String, action: String, resource: String, outcome: Outcome) -> Self {
        let (via, approval, request, details, after) = (None, None, None, None, None);
        Self { v: VERSION, id, at, actor, via, action, resource, outcome, approval, request, details, after }
    }

    /// Returns the canonical bytes, whose leaf hash is in the tree.
    ///
    /// # Errors
    /// [`LeafError::TooLong`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, LeafError> {
        let value = serde_json::to_value(self).map_err(|error| LeafError::Members(error.to_string()))?;
        let bytes = to_canonical(&value)?.into_bytes();
        if bytes.len() > MAX_LEAF { Err(LeafError::TooLong(bytes.len())) } else { Ok(bytes) }
    }

    /// Reads canonical bytes.
    ///
    /// # Errors
    /// [`LeafError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LeafError> {
        if bytes.len() > MAX_LEAF {
            return Err(LeafError::TooLong(bytes.len()));
        }
        let value = parse_unambiguous(bytes)?;
        if to_canonical(&value)?.as_bytes() != bytes {
            return Err(LeafError::NotCanonical);
        }
        let leaf: Self = serde_json::from_value(value).map_err(|error| LeafError::Members(error.to_string()))?;
        if leaf.v == VERSION { Ok(leaf) } else { Err(LeafError::Members(format!("its version is {}", leaf.v))) }
    }
}

/// Random bytes that keep a commitment from being guessed. Erasing them with the details leaves nothing to compare with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt([u8; Salt::LEN]);

impl Salt {
    /// Bytes of a salt.
    pub const LEN: usize = 16;

    /// Wraps bytes from a cryptographic random number generator.
    #[must_use]
    pub const fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the salt in base64url without padding.
    #[must_use]
    pub fn to_base64url(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Reads a salt from base64url without padding.
    #[must_use]
    pub fn from_base64url(text: &str) -> Option<Self> {
        if text.len() != (Self::LEN * 4).div_ceil(3) {
            return None;
        }
        Some(Self(URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?))
    }
}

impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salt")
    }
}

/// Commits to details that are kept beside the entry: base64url of SHA-256 of the salt and their canonical form.
///
/// # Errors
/// [`CanonicalError`]: the details have no canonical form.
pub fn commitment(salt: Salt, details: &Value) -> Result<String, CanonicalError> {
    let canonical = to_canonical(details)?;
    Ok(URL_SAFE_NO_PAD.encode(Sha256::new().chain_update(salt.0).chain_update(canonical).finalize()))
}

/// Hashes what a record allows (roles, scopes, keys; nothing personal): base64url of SHA-256 of its canonical form.
///
/// # Errors
/// [`CanonicalError`]: the value has no canonical form.
pub fn fingerprint(value: &Value) -> Result<String, CanonicalError> {
    Ok(URL_SAFE_NO_PAD.encode(Sha256::digest(to_canonical(value)?)))
}
