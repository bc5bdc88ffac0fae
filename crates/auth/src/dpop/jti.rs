//! Detects replayed proofs, for as long as they would be accepted.
//!
//! Anyone can create keys and valid proofs for them, so the memory is bounded in three ways. It is divided into
//! partitions by a keyed hash of the proof's key, so that an attacker cannot choose a partition to fill. Each key may
//! use a limited number of proofs per window and is rejected beyond that: a flood with one key blocks that key only,
//! and none of its proofs is evicted early. A partition filled by many keys evicts its oldest proof, so that legitimate
//! proofs are still admitted.
//!
//! Limitation: a proof can be replayed within its window by an attacker who has the proof and its token, and who gets
//! so many valid proofs of new keys checked meanwhile that the proof's partition overflows. As the partition is
//! unknown, nearly all must overflow; with the defaults this takes half a million signatures within two minutes. Where
//! this is not acceptable, require nonces ([`super::Nonces`]) and limit logins.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use super::proof::{Proof, WINDOW};

/// Time for which a proof is remembered, in seconds: a proof issued one minute in the future is valid for two,
/// inclusive.
const KEEP: u64 = 2 * WINDOW + 1;

/// Bounds of a [`JtiStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JtiLimits {
    /// Number of partitions.
    pub partitions: usize,
    /// Maximum number of proofs in one partition; about 75 bytes each.
    pub per_partition: usize,
    /// Maximum number of proofs of one key within two minutes.
    pub per_key: u32,
}

impl Default for JtiLimits {
    fn default() -> Self {
        Self { partitions: 64, per_partition: 8_192, per_key: 4_096 }
    }
}

/// Reason for which a proof cannot be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JtiError {
    /// The proof was used before.
    #[error("the proof was used before: create a new one for each request")]
    Replayed,
    /// The proof is outside its time window.
    #[error("the proof is older than a minute or from the future: check the machine's clock")]
    WrongTime,
    /// The key has used too many proofs within the window.
    #[error("this key has used too many proofs within two minutes: wait")]
    TooMany,
}

/// A 64-bit hash under a key of this process. An attacker cannot find two equal ones; among a million proofs, the
/// probability that a given one collides is about one in ten million million.
type ProofHash = u64;

struct UsedProof {
    at: u64,
    mark: ProofHash,
    key: ProofHash,
}

#[derive(Default)]
struct Partition {
    order: VecDeque<UsedProof>,
    marks: std::collections::HashSet<ProofHash>,
    keys: HashMap<ProofHash, u32>,
}

/// The proofs used within the last two minutes.
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
    /// Creates an empty store with these bounds.
    pub fn new(limits: JtiLimits) -> Self {
        let limits =
            JtiLimits { partitions: limits.partitions.max(1), per_partition: limits.per_partition.max(1), ..limits };
        let partitions = (0..limits.partitions).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), partitions, limits }
    }

    /// Marks a verified proof as used at `now` (seconds). Succeeds only the first time.
    ///
    /// # Errors
    ///
    /// - `Replayed`: the proof was used before.
    /// - `WrongTime`: the proof is outside its window.
    /// - `TooMany`: the key has used too many proofs.
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

    /// Returns the number of remembered proofs.
    pub fn len(&self) -> usize {
        self.partitions.iter().map(|p| p.lock().unwrap_or_else(PoisonError::into_inner).order.len()).sum()
    }

    /// Returns whether no proof is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Partition {
    fn admit(&mut self, mark: ProofHash, key: ProofHash, now: u64, limits: JtiLimits) -> Result<(), JtiError> {
        while self.order.front().is_some_and(|seen| seen.at.saturating_add(KEEP) <= now) {
            self.evict_oldest();
        }
        if self.marks.contains(&mark) {
            return Err(JtiError::Replayed);
        }
        if self.keys.get(&key).is_some_and(|count| *count >= limits.per_key) {
            return Err(JtiError::TooMany);
        }
        if self.order.len() >= limits.per_partition {
            self.evict_oldest();
        }
        self.order.push_back(UsedProof { at: now, mark, key });
        self.marks.insert(mark);
        *self.keys.entry(key).or_default() += 1;
        Ok(())
    }

    fn evict_oldest(&mut self) {
        let Some(seen) = self.order.pop_front() else { return };
        self.marks.remove(&seen.mark);
        if let Some(count) = self.keys.get_mut(&seen.key) {
            *count -= 1;
            if *count == 0 {
                self.keys.remove(&seen.key);
            }
        }
        // Releases the memory taken by a flood once it is over.
        if self.order.is_empty() {
            *self = Self::default();
        }
    }
}
