//! Accumulators of scores, and the admitted entries of a search.

use roaring::RoaringBitmap;

use crate::Filter;

use super::top::Top;

/// Entries that a search may return.
pub(super) enum Admitted {
    All,
    Bits(Vec<u64>),
}

impl Admitted {
    pub(super) fn new(filter: Filter<'_>, slots: usize) -> Self {
        match filter {
            Filter::All => Self::All,
            Filter::Only(docs) => Self::Bits(bits(docs, slots)),
        }
    }

    pub(super) fn has(&self, doc: u32) -> bool {
        match self {
            Self::All => true,
            Self::Bits(bits) => bits.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1),
        }
    }
}

/// Faster to test than the bitmap.
fn bits(docs: &RoaringBitmap, slots: usize) -> Vec<u64> {
    let mut bits = vec![0_u64; slots.div_ceil(64)];
    for doc in docs {
        if let Some(word) = bits.get_mut(doc as usize / 64) {
            *word |= 1 << (doc % 64);
        }
    }
    bits
}

/// Score accumulators.
pub(super) struct Accumulators {
    /// By entry; 0 if not found.
    scores: Vec<f32>,
    /// Entries with a score.
    pub docs: Vec<u32>,
    /// Whether new entries can no longer be added.
    pub is_closed: bool,
    /// Weighted counts of the current part by entry, and the entries that have one.
    pub bags: Vec<u32>,
    pub spread: Vec<u32>,
}

impl Accumulators {
    pub(super) fn new(slots: usize) -> Self {
        Self { scores: vec![0.0; slots], docs: Vec::new(), is_closed: false, bags: Vec::new(), spread: Vec::new() }
    }

    pub(super) fn score(&self, doc: u32) -> f32 {
        self.scores.get(doc as usize).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, doc: u32, worth: impl FnOnce() -> f32) {
        let Some(sum) = self.scores.get_mut(doc as usize) else { return };
        if *sum == 0.0 {
            if self.is_closed {
                return;
            }
            self.docs.push(doc);
        }
        *sum += worth();
    }

    pub(super) fn put(&mut self, doc: u32, bag: u32) {
        if self.is_closed && self.score(doc) == 0.0 {
            return;
        }
        let Some(sum) = self.bags.get_mut(doc as usize) else { return };
        if *sum == 0 {
            self.spread.push(doc);
        }
        *sum = sum.saturating_add(bag);
    }

    /// Score of the last of the best `limit`.
    pub(super) fn least(&self, limit: usize) -> f32 {
        let mut top = Top::new(limit);
        self.docs.iter().for_each(|doc| top.offer(*doc, self.score(*doc)));
        top.least()
    }
}
