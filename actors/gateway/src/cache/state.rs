//! Stored values by digest, bounded in bytes: over all, and for each scope. Pure: time is an argument.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use muster_core::Millis;

use super::digest::Digest;

/// Bytes that an entry takes besides its value.
const OVERHEAD: usize = 512;

/// Returns the bytes that one scope may take: an eighth, so that no key fills the cache alone.
pub(super) fn share(max_bytes: usize) -> usize {
    max_bytes / 8
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    scope: Arc<str>,
    bytes: usize,
    stored_at: Millis,
    expires_at: Millis,
    /// Number of its last use.
    used: u64,
}

/// The entries of one scope.
#[derive(Debug, Default)]
struct ScopeEntries {
    bytes: usize,
    by_use: BTreeMap<u64, Digest>,
}

/// All entries.
#[derive(Debug)]
pub(super) struct CacheState<T> {
    max_bytes: usize,
    bytes: usize,
    uses: u64,
    entries: HashMap<Digest, Entry<T>>,
    by_use: BTreeMap<u64, Digest>,
    scopes: HashMap<Arc<str>, ScopeEntries>,
}

impl<T: Clone> CacheState<T> {
    pub(super) fn new(max_bytes: usize) -> Self {
        let (entries, scopes) = (HashMap::new(), HashMap::new());
        Self { max_bytes, bytes: 0, uses: 0, entries, by_use: BTreeMap::new(), scopes }
    }

    /// Returns a value and its age; `None` if there is none, or it is too old.
    pub(super) fn get(&mut self, digest: &Digest, max_age: Option<Duration>, now: Millis) -> Option<(T, Duration)> {
        let entry = self.entries.get(digest)?;
        if entry.expires_at <= now || now < entry.stored_at {
            self.remove(digest);
            return None;
        }
        let age = now.since(entry.stored_at);
        if max_age.is_some_and(|max_age| age > max_age) {
            return None;
        }
        let used = self.next_use();
        let entry = self.entries.get_mut(digest)?;
        let before = std::mem::replace(&mut entry.used, used);
        let (value, scope) = (entry.value.clone(), Arc::clone(&entry.scope));
        self.by_use.remove(&before);
        self.by_use.insert(used, *digest);
        if let Some(scope) = self.scopes.get_mut(&scope) {
            scope.by_use.remove(&before);
            scope.by_use.insert(used, *digest);
        }
        Some((value, age))
    }

    /// Stores a value in place of an earlier one. What was used least recently makes room: of the scope, if its share is
    /// full, else of all. A value larger than the share of a scope is not stored.
    pub(super) fn insert(
        &mut self,
        digest: Digest,
        scope: &str,
        value: T,
        bytes: usize,
        keep_for: Duration,
        now: Millis,
    ) {
        let bytes = bytes.saturating_add(OVERHEAD);
        self.remove(&digest);
        if bytes > share(self.max_bytes) {
            return;
        }
        while let Some(oldest) = self.fullest_oldest(scope, bytes) {
            self.remove(&oldest);
        }
        let scope: Arc<str> = scope.into();
        let used = self.next_use();
        let entries = self.scopes.entry(Arc::clone(&scope)).or_default();
        entries.bytes += bytes;
        entries.by_use.insert(used, digest);
        self.bytes += bytes;
        self.by_use.insert(used, digest);
        let entry = Entry { value, scope, bytes, stored_at: now, expires_at: now.plus(keep_for), used };
        self.entries.insert(digest, entry);
    }

    /// Returns what must make room for so many bytes of a scope, if anything must.
    fn fullest_oldest(&self, scope: &str, bytes: usize) -> Option<Digest> {
        let own = self.scopes.get(scope).filter(|own| own.bytes + bytes > share(self.max_bytes));
        let all = (self.bytes + bytes > self.max_bytes).then_some(&self.by_use);
        let (_, oldest) = own.map(|own| &own.by_use).or(all)?.first_key_value()?;
        Some(*oldest)
    }

    fn remove(&mut self, digest: &Digest) {
        let Some(entry) = self.entries.remove(digest) else { return };
        self.bytes -= entry.bytes;
        self.by_use.remove(&entry.used);
        if let Some(scope) = self.scopes.get_mut(&entry.scope) {
            scope.bytes -= entry.bytes;
            scope.by_use.remove(&entry.used);
            if scope.by_use.is_empty() {
                self.scopes.remove(&entry.scope);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.max_bytes);
    }

    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 64 * OVERHEAD;
    const SECOND: Duration = Duration::from_secs(1);

    fn digest(n: u8) -> Digest {
        [n; 32]
    }

    #[test]
    fn a_value_is_returned_with_its_age_until_it_expires() {
        let mut cache = CacheState::new(MAX);
        let at = |seconds: u64| Millis(1_000_000 + seconds * 1_000);
        cache.insert(digest(1), "key_1", 'a', 10, 60 * SECOND, at(0));
        assert_eq!(cache.get(&digest(1), None, at(59)), Some(('a', 59 * SECOND)));
        assert_eq!(cache.get(&digest(1), Some(58 * SECOND), at(59)), None, "too old for this request");
        assert_eq!(cache.get(&digest(1), Some(59 * SECOND), at(59)), Some(('a', 59 * SECOND)));
        assert_eq!(cache.get(&digest(1), None, at(60)), None);
        assert_eq!((cache.bytes, cache.scopes.len()), (0, 0), "it is gone");
    }

    #[test]
    fn a_scope_that_fills_its_share_evicts_its_own_only() {
        let mut cache = CacheState::new(MAX);
        let now = Millis(1_000);
        cache.insert(digest(200), "key_2", 'z', 0, SECOND, now);
        for n in 0..50 {
            cache.insert(digest(n), "key_1", 'a', 0, SECOND, now);
            assert!(n == 0 || cache.get(&digest(0), None, now).is_some(), "what is used stays");
        }
        assert!(cache.get(&digest(200), None, now).is_some());
        assert_eq!(cache.scopes["key_1"].bytes, share(MAX));
        cache.insert(digest(201), "key_3", 'b', share(MAX), SECOND, now);
        assert!(cache.get(&digest(201), None, now).is_none(), "larger than a share");
    }

    proptest! {
        /// Whatever is stored and read, the bounds hold, all books agree, and what is returned was stored under the digest.
        #[test]
        fn bounds_hold(steps in prop::collection::vec((any::<u8>(), 0..12_u8, 0..2_000_usize, 0..5_000_u64, any::<bool>()), 1..200)) {
            let mut cache = CacheState::new(MAX);
            let mut now = Millis(1_000);
            for (n, scope, bytes, wait, read) in steps {
                now = Millis(now.0 + wait);
                if read {
                    if let Some((value, age)) = cache.get(&digest(n), None, now) {
                        prop_assert_eq!(value, n);
                        prop_assert!(age < 20 * SECOND);
                    }
                } else {
                    cache.insert(digest(n), &scope.to_string(), n, bytes, 20 * SECOND, now);
                }
                prop_assert!(cache.bytes <= MAX);
                prop_assert!(cache.scopes.values().all(|scope| scope.bytes <= share(MAX) && !scope.by_use.is_empty()));
                prop_assert_eq!(cache.bytes, cache.entries.values().map(|entry| entry.bytes).sum::<usize>());
                prop_assert_eq!(cache.bytes, cache.scopes.values().map(|scope| scope.bytes).sum::<usize>());
                prop_assert_eq!(cache.entries.len(), cache.by_use.len());
            }
        }
    }
}
