//! Order of last use, in which subjects are evicted.

use std::collections::BTreeMap;

/// Keys in the order of their last use.
#[derive(Debug)]
pub(super) struct Recency<K> {
    order: BTreeMap<u64, K>,
    next: u64,
}

impl<K> Default for Recency<K> {
    fn default() -> Self {
        Self { order: BTreeMap::new(), next: 0 }
    }
}

impl<K> Recency<K> {
    /// Adds a key as the most recent one. Returns its position, for `touch` and `remove`.
    pub(super) fn insert(&mut self, key: K) -> u64 {
        let place = self.next;
        self.next += 1;
        self.order.insert(place, key);
        place
    }

    /// Makes the key at `place` the most recent one. Returns its new position.
    pub(super) fn touch(&mut self, place: u64) -> u64 {
        if place + 1 == self.next {
            return place;
        }
        match self.order.remove(&place) {
            Some(key) => self.insert(key),
            None => place,
        }
    }

    pub(super) fn remove(&mut self, place: u64) {
        self.order.remove(&place);
    }

    /// Iterates from the least recently used key.
    pub(super) fn oldest(&self) -> impl Iterator<Item = &K> {
        self.order.values()
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }
}
