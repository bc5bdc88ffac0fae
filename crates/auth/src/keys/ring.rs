//! Rotation of the signing keys.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{self, KeyError};
use super::set::{KeySet, Retired, SigningKey};
use crate::claims::LEEWAY;
use crate::jwk::PrivateKey;

const DAY: u64 = 24 * 3600;

/// Times of the key rotation, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationPolicy {
    /// Time for which a key signs.
    pub rotate_every: u64,
    /// Time for which the next key is published before it signs, so that clients that cache the JWKS have it in time.
    pub publish_ahead: u64,
    /// Maximum lifetime of a token: a retired key is kept for this time.
    pub longest_token: u64,
}

impl Default for RotationPolicy {
    fn default() -> Self {
        Self { rotate_every: 90 * DAY, publish_ahead: DAY, longest_token: 30 * DAY }
    }
}

/// A change of the keys, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SigningKeyChange {
    /// A next key was published; it signs from `use_from` (seconds) on.
    Published {
        /// Identifier of the key.
        kid: String,
        /// Time from which it signs, in seconds.
        use_from: u64,
    },
    /// The next key is now the current one; the previous key is retired.
    Promoted {
        /// Identifier of the new current key.
        kid: String,
        /// Identifier of the retired key.
        retired: String,
    },
    /// A retired key was removed: every token it signed has expired.
    Dropped {
        /// Identifier of the key.
        kid: String,
    },
    /// A key was revoked; tokens that it signed are no longer accepted.
    Revoked {
        /// Identifier of the key.
        kid: String,
    },
}

/// Owner of the signing keys and their folder. Pass [`KeyRing::set`] to the code that signs and verifies.
#[derive(Debug)]
pub struct KeyRing {
    folder: PathBuf,
    policy: RotationPolicy,
    set: Arc<KeySet>,
}

impl KeyRing {
    /// Reads the keys in `folder`; creates the folder and a key if there are none.
    ///
    /// # Errors
    ///
    /// Fails if the folder or its file is unreadable, accessible to others or damaged.
    pub fn open(folder: impl AsRef<Path>, policy: RotationPolicy, now: u64) -> Result<Self, KeyError> {
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

    /// Reads the keys of a folder as [`Self::open`] does, without changing them; returns their number.
    ///
    /// # Errors
    ///
    /// Those of [`Self::open`].
    pub fn check(folder: impl AsRef<Path>) -> Result<usize, KeyError> {
        Ok(file::read(folder.as_ref())?.map_or(0, |set| set.all().count()))
    }

    /// Returns the current keys. The result is not updated when they change.
    pub fn set(&self) -> Arc<KeySet> {
        self.set.clone()
    }

    /// Performs the rotation steps that are due at `now`: publishes a next key, promotes it, removes expired ones. Call
    /// this about once a minute; missed steps are caught up.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written; the keys are then unchanged.
    pub fn tick(&mut self, now: u64) -> Result<Vec<SigningKeyChange>, KeyError> {
        let mut set = (*self.set).clone();
        let mut changes = Vec::new();
        self.remove_expired(&mut set, now, &mut changes);
        self.promote(&mut set, now, &mut changes);
        let due = set.current.use_from.saturating_add(self.policy.rotate_every);
        if set.next.is_none() && now.saturating_add(self.policy.publish_ahead) >= due {
            self.publish(&mut set, due.max(now.saturating_add(self.policy.publish_ahead)), &mut changes)?;
        }
        self.save(set, changes)
    }

    /// Starts a rotation now by publishing a next key, which signs after `publish_ahead`. Does nothing if a rotation is
    /// in progress.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn rotate(&mut self, now: u64) -> Result<Vec<SigningKeyChange>, KeyError> {
        let mut changes = self.tick(now)?;
        if self.set.next.is_none() {
            let mut set = (*self.set).clone();
            let mut more = Vec::new();
            self.publish(&mut set, now.saturating_add(self.policy.publish_ahead), &mut more)?;
            changes.extend(self.save(set, more)?);
        }
        Ok(changes)
    }

    /// Revokes a compromised key: tokens that it signed are rejected from now on. The current key is replaced
    /// immediately, by the next or by a new one. Clear the [`crate::TokenCache`] afterwards.
    ///
    /// # Errors
    ///
    /// Fails if there is no such key or the file cannot be written.
    pub fn revoke(&mut self, kid: &str, now: u64) -> Result<Vec<SigningKeyChange>, KeyError> {
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
        self.save(set, vec![SigningKeyChange::Revoked { kid: kid.to_owned() }])
    }

    fn remove_expired(&self, set: &mut KeySet, now: u64, changes: &mut Vec<SigningKeyChange>) {
        set.retired.retain(|key| {
            let over = key.retired.is_some_and(|retired| now > retired.until);
            if over {
                changes.push(SigningKeyChange::Dropped { kid: key.kid().to_owned() });
            }
            !over
        });
    }

    fn promote(&self, set: &mut KeySet, now: u64, changes: &mut Vec<SigningKeyChange>) {
        let Some(next) = set.next.take_if(|next| now >= next.use_from) else { return };
        // The old key has signed until this tick, which may be later than the next key's `use_from`.
        let retired = Retired { at: now, until: now.saturating_add(self.policy.longest_token + LEEWAY) };
        let old = std::mem::replace(&mut set.current, next);
        changes.push(SigningKeyChange::Promoted { kid: set.current.kid().to_owned(), retired: old.kid().to_owned() });
        set.retired.push(Arc::new(old.with_times(old.use_from, Some(retired))));
    }

    fn publish(&self, set: &mut KeySet, use_from: u64, changes: &mut Vec<SigningKeyChange>) -> Result<(), KeyError> {
        let key = new_key(use_from)?;
        changes.push(SigningKeyChange::Published { kid: key.kid().to_owned(), use_from });
        set.next = Some(Arc::new(key));
        Ok(())
    }

    fn save(&mut self, set: KeySet, changes: Vec<SigningKeyChange>) -> Result<Vec<SigningKeyChange>, KeyError> {
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
