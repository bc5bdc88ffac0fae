//! The header: which instance a backup is of, and the state of its audit log.

use muster_tlog::canonical::{CanonicalError, parse_unambiguous, to_canonical};
use muster_tlog::{Checkpoint, SignatureType, VerifierKey};
use serde::{Deserialize, Serialize};

/// Maximum length of a header, in bytes.
pub const MAX_HEADER: usize = 64 << 10;
/// Maximum number of keys that sign a backup.
pub const MAX_KEYS: usize = 8;
/// Maximum length of a text other than the checkpoint, in bytes.
const MAX_TEXT: usize = 255;
const VERSION: u8 = 1;
/// What stands between name and generation in the origin of a log.
const AUDIT: &str = "/audit/";

/// What a backup says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the format: 1.
    pub v: u8,
    /// Identifier of the instance, `ins_…`.
    pub instance: String,
    /// Origin of its audit log: `<name>/audit/<generation>`.
    pub origin: String,
    /// Generation of the audit log.
    pub generation: u64,
    /// Time of the backup (RFC 3339, UTC).
    pub at: String,
    /// Verifier keys of the log (C2SP signed-note), each of which signed the backup.
    pub vkeys: Vec<String>,
    /// The newest signed checkpoint of the log when the backup was begun; none in a log without entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// Approval under which the backup was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

/// A header that is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// It is longer than [`MAX_HEADER`].
    #[error("its header has {0} bytes, the most is {MAX_HEADER}")]
    TooLong(usize),
    /// It is not the canonical form of a header.
    #[error("its header is not in canonical form")]
    NotCanonical,
    /// It has no canonical form.
    #[error("its header is not accepted: {0}")]
    Canonical(#[from] CanonicalError),
    /// A member is missing, not known, or has a value that is not accepted.
    #[error("its header is not accepted: {0}")]
    Members(String),
}

impl Header {
    /// Makes a header without keys, checkpoint and approval. `name` is that of the audit log.
    #[must_use]
    pub fn new(instance: String, name: &str, generation: u64, at: String) -> Self {
        let origin = format!("{name}{AUDIT}{generation}");
        Self { v: VERSION, instance, origin, generation, at, vkeys: Vec::new(), checkpoint: None, approval: None }
    }

    /// Returns the canonical bytes.
    ///
    /// # Errors
    /// [`HeaderError`]: it would not be read back.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HeaderError> {
        self.check()?;
        let value = serde_json::to_value(self).map_err(|error| HeaderError::Members(error.to_string()))?;
        let bytes = to_canonical(&value)?.into_bytes();
        if bytes.len() > MAX_HEADER { Err(HeaderError::TooLong(bytes.len())) } else { Ok(bytes) }
    }

    /// Reads canonical bytes. The checkpoint is one of this instance and generation that one of the keys signed.
    ///
    /// # Errors
    /// [`HeaderError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HeaderError> {
        if bytes.len() > MAX_HEADER {
            return Err(HeaderError::TooLong(bytes.len()));
        }
        let value = parse_unambiguous(bytes)?;
        if to_canonical(&value)?.as_bytes() != bytes {
            return Err(HeaderError::NotCanonical);
        }
        let header: Self = serde_json::from_value(value).map_err(|error| HeaderError::Members(error.to_string()))?;
        header.check()?;
        Ok(header)
    }

    /// Returns the keys that signed the backup.
    ///
    /// # Errors
    /// One of them is no Ed25519 verifier key, or they are not 1 to [`MAX_KEYS`] different ones.
    pub fn keys(&self) -> Result<Vec<VerifierKey>, HeaderError> {
        let bad = |why: String| HeaderError::Members(format!("vkeys: {why}"));
        if self.vkeys.is_empty() || self.vkeys.len() > MAX_KEYS {
            return Err(bad(format!("there are {}, 1 to {MAX_KEYS} are accepted", self.vkeys.len())));
        }
        let mut keys: Vec<VerifierKey> = Vec::new();
        for text in &self.vkeys {
            let key: VerifierKey = text.parse().map_err(|error| bad(format!("{error}")))?;
            if key.kind() != SignatureType::Ed25519 {
                return Err(bad("a witness signs no backup".to_owned()));
            }
            if keys.contains(&key) {
                return Err(bad("a key is repeated".to_owned()));
            }
            keys.push(key);
        }
        Ok(keys)
    }

    /// Returns the name of the instance: the beginning of the origin of its audit log.
    #[must_use]
    pub fn name(&self) -> &str {
        self.origin.rsplit_once(AUDIT).map_or(&self.origin, |(name, _)| name)
    }

    /// Opens the checkpoint.
    ///
    /// # Errors
    /// None of the keys signed it, or it is of another log.
    pub fn open_checkpoint(&self) -> Result<Option<Checkpoint>, HeaderError> {
        let Some(note) = &self.checkpoint else { return Ok(None) };
        let opened = Checkpoint::open(note.as_bytes(), &self.origin, &self.keys()?);
        let opened = opened.map_err(|error| HeaderError::Members(format!("checkpoint: {error}")))?;
        Ok(Some(opened.checkpoint))
    }

    fn check(&self) -> Result<(), HeaderError> {
        if self.v != VERSION {
            return Err(HeaderError::Members(format!("its version is {}: use the newer program", self.v)));
        }
        let [instance, origin, at] = [&self.instance, &self.origin, &self.at].map(Some);
        let texts = [("instance", instance), ("origin", origin), ("at", at), ("approval", self.approval.as_ref())];
        for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text?))) {
            if text.is_empty() || text.len() > MAX_TEXT || text.chars().any(char::is_control) {
                return Err(HeaderError::Members(format!(
                    "{name} has 1 to {MAX_TEXT} bytes without control characters"
                )));
            }
        }
        if self.origin != format!("{}{AUDIT}{}", self.name(), self.generation) || self.name().is_empty() {
            let why = format!("origin is not `<name>{AUDIT}{}`", self.generation);
            return Err(HeaderError::Members(why));
        }
        self.open_checkpoint().map(drop)?;
        self.keys().map(drop)
    }
}
