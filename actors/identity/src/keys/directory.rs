//! The read-only view of all keys that requests are checked against.

use std::collections::HashMap;
use std::sync::Arc;

use super::record::KeyRecord;
use super::token::{SecretHash, Token, matches};
use muster_core::Millis;

/// All keys, by lookup identifier.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    by_lookup: HashMap<String, Arc<KeyRecord>>,
}

/// Why a key is rejected. All reasons except `Malformed` result in the same response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRejection {
    /// The text does not have the form of a key.
    Malformed,
    /// No key has this identifier and secret.
    Unknown,
    /// The key's `expires_at` has passed.
    Expired,
    /// The key was revoked.
    Revoked,
}

impl Directory {
    pub(super) fn insert(&mut self, record: Arc<KeyRecord>) {
        self.by_lookup.insert(record.lookup.clone(), record);
    }

    pub(super) fn len(&self) -> usize {
        self.by_lookup.len()
    }

    /// Returns until when a key is accepted with the secret of this hash; `None` if it is not accepted at `now`.
    pub(super) fn valid_until(&self, lookup: &str, hash: &SecretHash, now: Millis) -> Option<Millis> {
        let record = self.by_lookup.get(lookup).filter(|record| record.revoked_at.is_none())?;
        let end = record.expires_at.unwrap_or(Millis(u64::MAX));
        let secret = record.secret_until(hash)?;
        Some(end.min(secret)).filter(|until| *until > now)
    }

    /// Returns the record of a key in the form that clients send, if it is accepted at `now`.
    pub(super) fn authenticate(&self, key: &str, now: Millis) -> Result<Arc<KeyRecord>, KeyRejection> {
        let token = Token::parse(key).map_err(|_| KeyRejection::Malformed)?;
        let Some(record) = self.by_lookup.get(&token.lookup) else {
            // Hashed nevertheless, so that an unknown key takes as long as a wrong secret.
            let _ = matches(&token.secret.hash(), &[0; 32]);
            return Err(KeyRejection::Unknown);
        };
        if !record.accepts(&token.secret, now) {
            return Err(KeyRejection::Unknown);
        }
        if record.revoked_at.is_some() {
            return Err(KeyRejection::Revoked);
        }
        if record.expires_at.is_some_and(|at| at <= now) {
            return Err(KeyRejection::Expired);
        }
        Ok(Arc::clone(record))
    }
}
