//! The read-only view of all keys that requests are checked against.

use std::collections::HashMap;
use std::sync::Arc;

use super::record::KeyRecord;
use super::token::{SecretHash, Token, matches};
use muster_core::Millis;

/// Every key by the part of it that is not secret.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    by_lookup: HashMap<String, Arc<KeyRecord>>,
}

/// Why a key is not let in. All but `Malformed` look the same to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Malformed,
    Unknown,
    Expired,
    Revoked,
}

impl Directory {
    pub(super) fn insert(&mut self, record: Arc<KeyRecord>) {
        self.by_lookup.insert(record.lookup.clone(), record);
    }

    pub fn len(&self) -> usize {
        self.by_lookup.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_lookup.is_empty()
    }

    /// Until when a key may be used by a secret of that hash; `None` where it may not be used at `now`.
    pub(super) fn lives_until(&self, lookup: &str, hash: &SecretHash, now: Millis) -> Option<Millis> {
        let record = self.by_lookup.get(lookup).filter(|record| record.revoked_at.is_none())?;
        let end = record.expires_at.unwrap_or(Millis(u64::MAX));
        let secret = record.secret_until(hash)?;
        Some(end.min(secret)).filter(|until| *until > now)
    }

    /// The record of a key as sent, if it may be used at `now`.
    pub fn authenticate(&self, key: &str, now: Millis) -> Result<Arc<KeyRecord>, Refusal> {
        let token = Token::parse(key).map_err(|_| Refusal::Malformed)?;
        let Some(record) = self.by_lookup.get(&token.lookup) else {
            // Hashed all the same, so that an unknown key takes as long as a wrong one.
            let _ = matches(&token.secret.hash(), &[0; 32]);
            return Err(Refusal::Unknown);
        };
        if !record.takes(&token.secret, now) {
            return Err(Refusal::Unknown);
        }
        if record.revoked_at.is_some() {
            return Err(Refusal::Revoked);
        }
        if record.expires_at.is_some_and(|at| at <= now) {
            return Err(Refusal::Expired);
        }
        Ok(Arc::clone(record))
    }
}
