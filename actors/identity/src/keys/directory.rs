//! The read-only view of all keys that requests are checked against, with their teams and owners' budgets.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::record::KeyRecord;
use super::team::{OwnerRecord, TeamRecord};
use super::token::{SecretHash, Token, matches};
use muster_core::Millis;

/// All keys by lookup identifier, all teams, and the owners whose budgets were set at run time.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    by_lookup: HashMap<String, Arc<KeyRecord>>,
    /// Lookup identifiers by identifier.
    lookups: HashMap<String, String>,
    pub(super) teams: BTreeMap<String, Arc<TeamRecord>>,
    pub(super) owners: BTreeMap<String, f64>,
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
        if !self.lookups.contains_key(&record.id) {
            self.lookups.insert(record.id.clone(), record.lookup.clone());
        }
        self.by_lookup.insert(record.lookup.clone(), record);
    }

    pub(super) fn insert_team(&mut self, team: Arc<TeamRecord>) {
        self.teams.insert(team.id.clone(), team);
    }

    pub(super) fn remove_team(&mut self, id: &str) {
        self.teams.remove(id);
    }

    pub(super) fn insert_owner(&mut self, owner: &OwnerRecord) {
        match owner.budget_usd {
            Some(usd) => drop(self.owners.insert(owner.owner.clone(), usd)),
            None => drop(self.owners.remove(&owner.owner)),
        }
    }

    pub(super) fn by_id(&self, id: &str) -> Option<Arc<KeyRecord>> {
        self.by_lookup(self.lookups.get(id)?)
    }

    pub(super) fn by_lookup(&self, lookup: &str) -> Option<Arc<KeyRecord>> {
        self.by_lookup.get(lookup).cloned()
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
