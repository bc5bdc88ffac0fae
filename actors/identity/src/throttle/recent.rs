//! A bounded table that removes the least recently used entry.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map of bounded size.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    entries: HashMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
    uses: u64,
    capacity: usize,
}

impl<K: Copy + Eq + Hash, V: Default> Recent<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: HashMap::new(), order: BTreeMap::new(), uses: 0, capacity }
    }

    /// Returns an entry without counting it as a use.
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    /// Returns an entry without counting it as a use.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    /// Returns an entry, which is created if there is none, and makes it the most recent one.
    pub(super) fn touch(&mut self, key: &K) -> &mut V {
        self.uses += 1;
        if !self.entries.contains_key(key)
            && self.entries.len() >= self.capacity
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        let (last_use, value) = self.entries.entry(*key).or_default();
        self.order.remove(last_use);
        *last_use = self.uses;
        self.order.insert(self.uses, *key);
        value
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Some((last_use, _)) = self.entries.remove(key) {
            self.order.remove(&last_use);
        }
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.entries.len(), self.order.len())
    }
}
