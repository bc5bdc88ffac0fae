//! Dictionary of terms.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Maximum average number of terms per bucket.
const FULL: usize = 256;

/// Terms by keyed hash (collisions cannot be forced by a text) in buckets that split one at a time (Litwin 1980,
/// "Linear hashing"): no insert pays for a full rehash, and clones share unchanged buckets.
#[derive(Debug, Clone, Default)]
pub(super) struct Dictionary {
    hasher: RandomState,
    buckets: Vec<Arc<Bucket>>,
    len: usize,
}

#[derive(Debug, Clone, Default)]
struct Bucket {
    /// Sorted by hash.
    entries: Vec<Entry>,
    /// Their terms, with gaps of removed ones.
    text: String,
    gaps: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    start: u32,
    length: u16,
    number: u32,
}

impl Dictionary {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Hash used by the other functions.
    pub(super) fn hash(&self, term: &str) -> u64 {
        self.hasher.hash_one(term)
    }

    pub(super) fn get(&self, hash: u64, term: &str) -> Option<u32> {
        let bucket = self.buckets.get(self.place(hash))?;
        bucket.same(hash).find(|(_, entry)| bucket.term(entry) == term).map(|(_, entry)| entry.number)
    }

    /// Adds a term that is not present.
    pub(super) fn insert(&mut self, hash: u64, term: &str, number: u32) {
        if self.buckets.is_empty() {
            self.buckets.push(Arc::default());
        }
        self.add(hash, term, number);
        self.len += 1;
        if self.len > self.buckets.len() * FULL {
            self.split();
        }
    }

    pub(super) fn remove(&mut self, hash: u64, number: u32) {
        let place = self.place(hash);
        let Some(bucket) = self.buckets.get_mut(place) else { return };
        let at = bucket.same(hash).find(|(_, entry)| entry.number == number).map(|(at, _)| at);
        if let Some(at) = at {
            let bucket = Arc::make_mut(bucket);
            bucket.gaps += usize::from(bucket.entries.remove(at).length);
            bucket.close_gaps();
            self.len -= 1;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.buckets.iter().flat_map(|bucket| bucket.entries.iter().map(|entry| (bucket.term(entry), entry.number)))
    }

    pub(super) fn bytes(&self) -> usize {
        let held = |bucket: &Arc<Bucket>| {
            size_of::<Bucket>() + 24 + bucket.entries.capacity() * size_of::<Entry>() + bucket.text.capacity()
        };
        self.buckets.iter().map(held).sum()
    }

    /// Bucket of a hash.
    fn place(&self, hash: u64) -> usize {
        let low = usize::try_from(hash & u64::from(u32::MAX)).unwrap_or_default();
        // Buckets before `buckets - whole` are already split: they use one more bit.
        let whole = 1_usize << self.buckets.len().max(1).ilog2();
        let wide = low & (2 * whole - 1);
        if wide < self.buckets.len() { wide } else { low & (whole - 1) }
    }

    fn add(&mut self, hash: u64, term: &str, number: u32) {
        let place = self.place(hash);
        if let Some(bucket) = self.buckets.get_mut(place) {
            Arc::make_mut(bucket).add(hash, term, number);
        }
    }

    /// Splits the next bucket.
    fn split(&mut self) {
        let whole = 1_usize << self.buckets.len().ilog2();
        let turn = self.buckets.len() - whole;
        let Some(old) = self.buckets.get_mut(turn).map(std::mem::take) else { return };
        self.buckets.push(Arc::default());
        for entry in &old.entries {
            let term = old.term(entry);
            self.add(self.hash(term), term, entry.number);
        }
    }
}

/// The low half of a hash selects the bucket, the high half orders its entries.
fn high(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or_default()
}

impl Bucket {
    fn term(&self, entry: &Entry) -> &str {
        let start = entry.start as usize;
        self.text.get(start..start + usize::from(entry.length)).unwrap_or_default()
    }

    /// Insertion point of a hash; since hashes are uniform it is near its proportional position.
    fn first(&self, hash: u64) -> usize {
        let hash = high(hash);
        let guess = (u64::from(hash) * self.entries.len() as u64) >> 32;
        let mut at = usize::try_from(guess).unwrap_or_default();
        while at.checked_sub(1).and_then(|before| self.entries.get(before)).is_some_and(|entry| entry.hash >= hash) {
            at -= 1;
        }
        while self.entries.get(at).is_some_and(|entry| entry.hash < hash) {
            at += 1;
        }
        at
    }

    /// Entries with this hash, with their indices.
    fn same(&self, hash: u64) -> impl Iterator<Item = (usize, &Entry)> {
        let from = self.first(hash);
        let rest = self.entries.get(from..).unwrap_or_default();
        (from..).zip(rest.iter().take_while(move |entry| entry.hash == high(hash)))
    }

    fn add(&mut self, hash: u64, term: &str, number: u32) {
        let (Ok(start), Ok(length)) = (u32::try_from(self.text.len()), u16::try_from(term.len())) else { return };
        self.text.push_str(term);
        self.entries.insert(self.first(hash), Entry { hash: high(hash), start, length, number });
    }

    fn close_gaps(&mut self) {
        if self.gaps * 2 <= self.text.len() {
            return;
        }
        let old = std::mem::take(self);
        for entry in &old.entries {
            let start = u32::try_from(self.text.len()).unwrap_or_default();
            self.text.push_str(old.term(entry));
            self.entries.push(Entry { start, ..*entry });
        }
    }
}
