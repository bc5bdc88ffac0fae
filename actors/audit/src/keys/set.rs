//! Which key signs when. Pure.

use muster_core::Millis;
use muster_tlog::{NoteSigner, SignatureType};

/// Bounds of the set.
pub(super) struct Bounds {
    /// Keys that sign at one time: each one is a line of every checkpoint.
    pub(super) most_signing: usize,
    /// Keys that are remembered, the oldest ones are dropped.
    pub(super) most: usize,
}

/// The bounds of a set of keys.
pub(super) const BOUNDS: Bounds = Bounds { most_signing: 4, most: 256 };

/// From when and until when a key signs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum KeyState {
    /// It was made; the log does not name it yet.
    #[default]
    Pending,
    /// It is the newest one.
    Signs { since: Millis },
    /// It has a successor.
    Ends { since: Millis, until: Millis },
}

#[derive(Clone, Default)]
pub(super) struct LogKey {
    pub(super) public: [u8; 32],
    /// Absent once the key signs no longer.
    pub(super) seed: Option<[u8; 32]>,
    pub(super) state: KeyState,
}

impl LogKey {
    /// Computes the public key of the seed.
    pub(super) fn with_public(self) -> Option<Self> {
        let seed = self.seed.as_ref()?;
        let public = *NoteSigner::new("key", SignatureType::Ed25519, seed).ok()?.public().key_bytes();
        Some(Self { public, ..self })
    }

    pub(super) const fn is_pending(&self) -> bool {
        matches!(self.state, KeyState::Pending)
    }

    fn signs(&self, now: Millis) -> bool {
        match self.state {
            KeyState::Pending => false,
            KeyState::Signs { .. } => true,
            KeyState::Ends { until, .. } => now < until,
        }
    }
}

/// All keys, in the order in which they were made.
#[derive(Clone)]
pub(super) struct KeySet {
    pub(super) instance: String,
    /// Secret of authentication codes.
    pub(super) secret: [u8; 32],
    pub(super) keys: Vec<LogKey>,
}

impl KeySet {
    /// The keys that sign, the newest first.
    pub(super) fn signing(&self, now: Millis) -> impl Iterator<Item = &LogKey> {
        self.keys.iter().rev().filter(move |key| key.signs(now))
    }

    /// Lets the pending key sign from `now` on and its predecessors until `until`. Returns whether there was one.
    pub(super) fn activate(&mut self, now: Millis, until: Millis) -> bool {
        if !self.keys.iter().any(LogKey::is_pending) {
            return false;
        }
        for key in &mut self.keys {
            key.state = match key.state {
                KeyState::Pending => KeyState::Signs { since: now },
                KeyState::Signs { since } => KeyState::Ends { since, until },
                ends @ KeyState::Ends { .. } => ends,
            };
        }
        true
    }

    /// Removes the private part of keys that sign no longer, and the oldest keys beyond the bound.
    pub(super) fn forget_expired_seeds(&mut self, now: Millis) {
        for key in &mut self.keys {
            if matches!(key.state, KeyState::Ends { until, .. } if until <= now) {
                key.seed = None;
            }
        }
        let surplus = self.keys.len().saturating_sub(BOUNDS.most);
        self.keys.drain(..surplus);
    }
}
