//! Least-recently-used cache of query vectors. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Hash of a query and model, of constant size. The cache is dropped with its model.
type Key = [u8; 32];

/// Recently used vectors.
#[derive(Debug)]
pub(super) struct Cache {
    capacity: usize,
    vectors: HashMap<Key, (Arc<[f32]>, u64)>,
    order: BTreeMap<u64, Key>,
    next: u64,
}

impl Cache {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, vectors: HashMap::new(), order: BTreeMap::new(), next: 0 }
    }

    /// Returns the key of a query for a model.
    pub(super) fn key(model: &str, text: &str) -> Key {
        Sha256::new_with_prefix(model).chain_update([0]).chain_update(text).finalize().into()
    }

    /// Returns a cached vector, and marks it as used.
    pub(super) fn get(&mut self, key: &Key) -> Option<Arc<[f32]>> {
        let (vector, place) = self.vectors.get_mut(key)?;
        self.order.remove(place);
        *place = self.next;
        self.order.insert(self.next, *key);
        self.next += 1;
        Some(Arc::clone(vector))
    }

    /// Inserts a vector; the least recently used one is evicted.
    pub(super) fn insert(&mut self, key: Key, vector: Arc<[f32]>) {
        if let Some((_, place)) = self.vectors.insert(key, (vector, self.next)) {
            self.order.remove(&place);
        }
        self.order.insert(self.next, key);
        self.next += 1;
        while self.vectors.len() > self.capacity {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.vectors.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_vector_is_evicted() {
        let (mut cache, vector) = (Cache::new(2), |x: f32| Arc::<[f32]>::from([x]));
        let [a, b, c] = ["a", "b", "c"].map(|text| Cache::key("m", text));
        cache.insert(a, vector(1.0));
        cache.insert(b, vector(2.0));
        assert_eq!(cache.get(&a), Some(vector(1.0)));
        cache.insert(c, vector(3.0));
        assert_eq!((cache.get(&a), cache.get(&b), cache.get(&c)), (Some(vector(1.0)), None, Some(vector(3.0))));
        cache.insert(c, vector(4.0));
        assert_eq!(cache.get(&c), Some(vector(4.0)));
        assert_eq!((cache.vectors.len(), cache.order.len()), (2, 2));
    }

    #[test]
    fn keys_differ_by_model() {
        assert_ne!(Cache::key("one", "text"), Cache::key("two", "text"));
        assert_ne!(Cache::key("m", "atext"), Cache::key("ma", "text"));
    }
}
