//! When keys come and go.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{self, KeyError};
use super::set::{KeySet, Retired, SigningKey};
use crate::claims::LEEWAY;
use crate::jwk::PrivateKey;

const DAY: u64 = 24 * 3600;

/// How long keys are used; seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How long one key signs.
    pub rotate_every: u64,
    /// How long the next key is shown before it signs, so that those who keep the JWKS have it in time.
    pub publish_ahead: u64,
    /// The longest life of a token: for so long a retired key is kept.
    pub longest_token: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self { rotate_every: 90 * DAY, publish_ahead: DAY, longest_token: 30 * DAY }
    }
}

/// What a tick or an order changed, for the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A next key is shown; it signs from the given second on.
    Published { kid: String, use_from: u64 },
    /// The next key signs now; the old one is retired.
    Promoted { kid: String, retired: String },
    /// A retired key was forgotten: whatever it signed has ended.
    Dropped { kid: String },
    /// A key was withdrawn; what it signed is worth nothing any more.
    Revoked { kid: String },
}

/// The keys in their folder. One owner; hand [`KeyRing::set`] to those who sign and verify.
#[derive(Debug)]
pub struct KeyRing {
    folder: PathBuf,
    policy: Policy,
    set: Arc<KeySet>,
}

impl KeyRing {
    /// Reads the keys in `folder`; makes both where there are none.
    pub fn open(folder: impl AsRef<Path>, policy: Policy, now: u64) -> Result<Self, KeyError> {
        let folder = folder.as_ref().to_owned();
        let set = match file::read(&folder)? {
            Some(set) => set,
            None => {
                let set = KeySet { current: Arc::new(new_key(now)?), next: None, retired: Vec::new() };
                file::write(&folder, &set)?;
                set
            }
        };
        let mut ring = Self { folder, policy, set: Arc::new(set) };
        ring.tick(now)?;
        Ok(ring)
    }

    /// The keys as they stand; take it anew after a change.
    pub fn set(&self) -> Arc<KeySet> {
        self.set.clone()
    }

    /// Does what is due at `now`: shows a next key, lets it sign, forgets old ones. Call it every minute or so; what
    /// was missed is made up for. Nothing has changed when it fails.
    pub fn tick(&mut self, now: u64) -> Result<Vec<Change>, KeyError> {
        let mut set = (*self.set).clone();
        let mut changes = Vec::new();
        self.forget(&mut set, now, &mut changes);
        self.promote(&mut set, now, &mut changes);
        let due = set.current.use_from.saturating_add(self.policy.rotate_every);
        if set.next.is_none() && now.saturating_add(self.policy.publish_ahead) >= due {
            self.publish(&mut set, due.max(now.saturating_add(self.policy.publish_ahead)), &mut changes)?;
        }
        self.keep(set, changes)
    }

    /// Starts a rotation now: shows a next key, which signs after `publish_ahead`. Where one is under way already, it
    /// stays as it is and nothing is changed.
    pub fn rotate(&mut self, now: u64) -> Result<Vec<Change>, KeyError> {
        let mut changes = self.tick(now)?;
        if self.set.next.is_none() {
            let mut set = (*self.set).clone();
            let mut more = Vec::new();
            self.publish(&mut set, now.saturating_add(self.policy.publish_ahead), &mut more)?;
            changes.extend(self.keep(set, more)?);
        }
        Ok(changes)
    }

    /// Withdraws a key that others may have: what it signed is refused from now on. The current one is replaced at
    /// once, by the next or a new one. Clear the [`crate::TokenCache`] after it.
    pub fn revoke(&mut self, kid: &str, now: u64) -> Result<Vec<Change>, KeyError> {
        let mut set = (*self.set).clone();
        if set.current.kid() == kid {
            set.current = match set.next.take() {
                Some(next) => Arc::new(next.with_times(now.min(next.use_from), None)),
                None => Arc::new(new_key(now)?),
            };
        } else if set.next.as_ref().is_some_and(|key| key.kid() == kid) {
            set.next = None;
        } else {
            let before = set.retired.len();
            set.retired.retain(|key| key.kid() != kid);
            if set.retired.len() == before {
                return Err(KeyError::Unknown(kid.chars().take(64).collect()));
            }
        }
        self.keep(set, vec![Change::Revoked { kid: kid.to_owned() }])
    }

    fn forget(&self, set: &mut KeySet, now: u64, changes: &mut Vec<Change>) {
        set.retired.retain(|key| {
            let over = key.retired.is_some_and(|retired| now > retired.until);
            if over {
                changes.push(Change::Dropped { kid: key.kid().to_owned() });
            }
            !over
        });
    }

    fn promote(&self, set: &mut KeySet, now: u64, changes: &mut Vec<Change>) {
        let Some(next) = set.next.take_if(|next| now >= next.use_from) else { return };
        // It signed until this tick, which may be later than the next key's time.
        let retired = Retired { at: now, until: now.saturating_add(self.policy.longest_token + LEEWAY) };
        let old = std::mem::replace(&mut set.current, next);
        changes.push(Change::Promoted { kid: set.current.kid().to_owned(), retired: old.kid().to_owned() });
        set.retired.push(Arc::new(old.with_times(old.use_from, Some(retired))));
    }

    fn publish(&self, set: &mut KeySet, use_from: u64, changes: &mut Vec<Change>) -> Result<(), KeyError> {
        let key = new_key(use_from)?;
        changes.push(Change::Published { kid: key.kid().to_owned(), use_from });
        set.next = Some(Arc::new(key));
        Ok(())
    }

    fn keep(&mut self, set: KeySet, changes: Vec<Change>) -> Result<Vec<Change>, KeyError> {
        if !changes.is_empty() {
            file::write(&self.folder, &set)?;
            self.set = Arc::new(set);
        }
        Ok(changes)
    }
}

fn new_key(use_from: u64) -> Result<SigningKey, KeyError> {
    SigningKey::new(PrivateKey::generate()?, use_from, None).ok_or(KeyError::Random(crate::RandomError))
}
