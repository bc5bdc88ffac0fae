//! Proofs that were used, for as long as they could be used again.
//!
//! Anybody can make keys and with them valid proofs, so the memory is bounded in three ways. It is cut into partitions
//! by a keyed hash of the proof's key, so that nobody can choose whose partition to fill. One key may have so many
//! proofs in the window and is refused beyond: who floods with one key shuts out that key alone, and no proof of it is
//! ever forgotten early. A partition that many keys have filled forgets its oldest proof: honest ones are still let in.
//!
//! What is given up: a proof can be used a second time within its window by somebody who holds it and its token, and
//! gets so many valid proofs of ever new keys checked in the meantime that its partition (and so, not knowing which,
//! nearly all) runs over; with the defaults half a million signatures in two minutes. Where that is too much, ask for
//! nonces ([`super::Nonces`]) and limit logins.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use super::proof::{Proof, WINDOW};

/// How long a proof is remembered, seconds: one from a minute ahead holds for two, both ends counted.
const KEEP: u64 = 2 * WINDOW + 1;

/// How much is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JtiLimits {
    pub partitions: usize,
    /// Proofs in one partition; all in all about 75 bytes each.
    pub per_partition: usize,
    /// Proofs of one key within two minutes.
    pub per_key: u32,
}

impl Default for JtiLimits {
    fn default() -> Self {
        Self { partitions: 64, per_partition: 8_192, per_key: 4_096 }
    }
}

/// A proof that may not be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JtiError {
    #[error("the proof was used before: make a new one for each request")]
    Replayed,
    #[error("the proof is older than a minute or from the future: check the machine's clock")]
    WrongTime,
    #[error("there were too many proofs of this key within two minutes: wait")]
    TooMany,
}

/// 64 bits under a key of this process: an attacker cannot find two that are equal, and by chance a proof of a million
/// is taken for another one in ten million million times.
type Mark = u64;

struct Seen {
    at: u64,
    mark: Mark,
    key: Mark,
}

#[derive(Default)]
struct Partition {
    order: VecDeque<Seen>,
    marks: std::collections::HashSet<Mark>,
    keys: HashMap<Mark, u32>,
}

/// The proofs of the last two minutes.
pub struct JtiStore {
    hasher: RandomState,
    partitions: Vec<Mutex<Partition>>,
    limits: JtiLimits,
}

impl std::fmt::Debug for JtiStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JtiStore").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Default for JtiStore {
    fn default() -> Self {
        Self::new(JtiLimits::default())
    }
}

impl JtiStore {
    pub fn new(limits: JtiLimits) -> Self {
        let limits =
            JtiLimits { partitions: limits.partitions.max(1), per_partition: limits.per_partition.max(1), ..limits };
        let partitions = (0..limits.partitions).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), partitions, limits }
    }

    /// Uses a checked proof up at `now` (seconds): the first time it is let in, after that never.
    pub fn admit(&self, proof: &Proof, now: u64) -> Result<(), JtiError> {
        if proof.iat.abs_diff(now) > WINDOW {
            return Err(JtiError::WrongTime);
        }
        let key = self.hasher.hash_one(&proof.jkt);
        let mark = self.hasher.hash_one((&proof.jkt, &proof.jti));
        let which = usize::try_from(key % self.partitions.len() as u64).unwrap_or_default();
        let Some(partition) = self.partitions.get(which) else { return Err(JtiError::TooMany) };
        partition.lock().unwrap_or_else(PoisonError::into_inner).admit(mark, key, now, self.limits)
    }

    /// How many proofs are remembered.
    pub fn len(&self) -> usize {
        self.partitions.iter().map(|p| p.lock().unwrap_or_else(PoisonError::into_inner).order.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Partition {
    fn admit(&mut self, mark: Mark, key: Mark, now: u64, limits: JtiLimits) -> Result<(), JtiError> {
        while self.order.front().is_some_and(|seen| seen.at.saturating_add(KEEP) <= now) {
            self.forget_oldest();
        }
        if self.marks.contains(&mark) {
            return Err(JtiError::Replayed);
        }
        if self.keys.get(&key).is_some_and(|count| *count >= limits.per_key) {
            return Err(JtiError::TooMany);
        }
        if self.order.len() >= limits.per_partition {
            self.forget_oldest();
        }
        self.order.push_back(Seen { at: now, mark, key });
        self.marks.insert(mark);
        *self.keys.entry(key).or_default() += 1;
        Ok(())
    }

    fn forget_oldest(&mut self) {
        let Some(seen) = self.order.pop_front() else { return };
        self.marks.remove(&seen.mark);
        if let Some(count) = self.keys.get_mut(&seen.key) {
            *count -= 1;
            if *count == 0 {
                self.keys.remove(&seen.key);
            }
        }
        // What a flood took is given back once it is over.
        if self.order.is_empty() {
            *self = Self::default();
        }
    }
}
