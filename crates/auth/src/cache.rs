//! Cache of verified tokens, keyed by their whole SHA-256.
//!
//! Two tokens never share an entry, however similar they are: the key is the digest of all bytes, including the
//! signature. A hit does not imply that the session is still active or that permissions are unchanged; the caller
//! checks those on every request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use sha2::{Digest, Sha256};

/// Maximum number of cached tokens.
pub const CAPACITY: usize = 64 * 1024;
const SHARDS: usize = 16;

type Digest256 = [u8; 32];

struct Entry<T> {
    value: Arc<T>,
    exp: u64,
}

struct Shard<T> {
    entries: HashMap<Digest256, Entry<T>>,
    /// Insertion order; contains each digest of `entries` once.
    order: VecDeque<Digest256>,
}

/// Bounded cache of verified tokens and their claims. The oldest entry of a shard is evicted when the shard is full.
pub struct TokenCache<T> {
    shards: Vec<RwLock<Shard<T>>>,
    each: usize,
}

impl<T> std::fmt::Debug for TokenCache<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenCache").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<T> Default for TokenCache<T> {
    fn default() -> Self {
        Self::with_capacity(CAPACITY)
    }
}

impl<T> TokenCache<T> {
    /// Creates a cache for about `capacity` tokens, and at least one per shard.
    pub fn with_capacity(capacity: usize) -> Self {
        let shard = || RwLock::new(Shard { entries: HashMap::new(), order: VecDeque::new() });
        Self { shards: (0..SHARDS).map(|_| shard()).collect(), each: capacity.div_ceil(SHARDS).max(1) }
    }

    /// Returns the claims of a token that is cached and has not expired at `now` (seconds).
    pub fn get(&self, token: &str, now: u64) -> Option<Arc<T>> {
        let digest = digest(token);
        let shard = self.shard(&digest)?.read().unwrap_or_else(PoisonError::into_inner);
        shard.entries.get(&digest).filter(|entry| now < entry.exp).map(|entry| entry.value.clone())
    }

    /// Caches the claims of a verified token until `exp` (seconds).
    pub fn insert(&self, token: &str, value: Arc<T>, exp: u64) {
        let digest = digest(token);
        let Some(shard) = self.shard(&digest) else { return };
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        if shard.entries.insert(digest, Entry { value, exp }).is_none() {
            shard.order.push_back(digest);
        }
        while shard.entries.len() > self.each {
            let Some(oldest) = shard.order.pop_front() else { break };
            shard.entries.remove(&oldest);
        }
    }

    /// Removes all entries. Required after a signing key was revoked.
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            shard.entries.clear();
            shard.order.clear();
        }
    }

    /// Returns the number of cached tokens.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().unwrap_or_else(PoisonError::into_inner).entries.len()).sum()
    }

    /// Returns whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, digest: &Digest256) -> Option<&RwLock<Shard<T>>> {
        self.shards.get(usize::from(digest.first()? % 16))
    }
}

fn digest(token: &str) -> Digest256 {
    Sha256::digest(token).into()
}
