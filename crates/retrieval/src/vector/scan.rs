use std::cmp::Reverse;
use std::collections::BinaryHeap;

use roaring::RoaringBitmap;

use super::quantized::Quantized;
use super::ranked::Ranked;
use super::vectors::Vectors;
use crate::{DocNo, Filter};

/// Tolerance for floating-point errors of the bounds.
const ROUNDING: f32 = 1e-6;
/// Slots processed at once.
const BATCH: usize = 256;

/// Exact search by bounds: the high half bounds each cosine. Vectors that cannot reach the `limit`-th best lower bound
/// are discarded; for the rest the cosine is computed.
pub(super) struct Scan<'a> {
    vectors: &'a Vectors,
    query: &'a Quantized,
    filter: Filter<'a>,
    limit: usize,
    norm: f32,
    /// The best lower bounds, the worst on top.
    floor: BinaryHeap<Reverse<Ranked>>,
    threshold: f32,
    /// Candidates with their upper bounds.
    candidates: Vec<(u32, f32)>,
}

impl<'a> Scan<'a> {
    pub fn new(vectors: &'a Vectors, query: &'a Quantized, filter: Filter<'a>, limit: usize) -> Self {
        Self {
            vectors,
            query,
            filter,
            limit,
            norm: query.norm(),
            floor: BinaryHeap::new(),
            threshold: f32::NEG_INFINITY,
            candidates: Vec::new(),
        }
    }

    /// Scans all slots in order, or only those of a selective filter.
    pub fn all(mut self) -> Vec<Ranked> {
        match self.filter {
            Filter::Only(docs) if self.filter.len(self.vectors.live()) < self.vectors.slots() / 8 => {
                let slots = docs.iter().filter_map(|doc| self.vectors.slot(DocNo(doc)));
                self.gather(slots)
            }
            Filter::All | Filter::Only(_) => {
                self.vectors.coarse_all(self.query, |first, products| {
                    (first..).zip(products).for_each(|(slot, product)| self.offer(slot, *product));
                });
            }
        }
        self.finish()
    }

    /// Scans only these slots.
    pub fn of(mut self, slots: &RoaringBitmap) -> Vec<Ranked> {
        self.gather(slots.iter());
        self.finish()
    }

    fn gather(&mut self, slots: impl Iterator<Item = u32>) {
        let (mut batch, mut products) = (Vec::with_capacity(BATCH), Vec::new());
        let mut slots = slots.peekable();
        while slots.peek().is_some() {
            batch.clear();
            batch.extend(slots.by_ref().take(BATCH));
            self.vectors.coarse(self.query, &batch, &mut products);
            batch.iter().zip(&products).for_each(|(slot, product)| self.offer(*slot, *product));
        }
    }

    #[inline(always)]
    fn offer(&mut self, slot: u32, product: i32) {
        let coarse = self.vectors.coarse_score(self.query, slot, product);
        let slack = self.norm * self.vectors.slack(slot) + ROUNDING;
        if coarse + slack >= self.threshold {
            self.keep(slot, coarse, slack);
        }
    }

    fn keep(&mut self, slot: u32, coarse: f32, slack: f32) {
        if !self.vectors.doc(slot).is_some_and(|doc| self.filter.admits(doc)) {
            return;
        }
        self.candidates.push((slot, coarse + slack));
        self.floor.push(Reverse(Ranked::new(coarse - slack, slot)));
        if self.floor.len() > self.limit {
            self.floor.pop();
        }
        if let (true, Some(Reverse(worst))) = (self.floor.len() == self.limit, self.floor.peek()) {
            self.threshold = worst.score();
        }
    }

    fn finish(self) -> Vec<Ranked> {
        let left = self.candidates.iter().filter(|(_, upper)| *upper >= self.threshold);
        let slots: Vec<u32> = left.map(|(slot, _)| *slot).collect();
        ranked(self.vectors, self.query, &slots, self.limit)
    }
}

/// The best of these slots by cosine, as documents.
pub(super) fn ranked(vectors: &Vectors, query: &Quantized, slots: &[u32], limit: usize) -> Vec<Ranked> {
    let scored = vectors.exact(query, slots).into_iter().zip(slots);
    let documents = scored.filter_map(|(score, slot)| vectors.doc(*slot).map(|doc| Ranked::new(score, doc.0)));
    let mut documents: Vec<Ranked> = documents.collect();
    best(&mut documents, limit);
    documents
}

/// Keeps the best, sorted.
pub(super) fn best(documents: &mut Vec<Ranked>, limit: usize) {
    if documents.len() > limit {
        documents.select_nth_unstable_by(limit, |a, b| b.cmp(a));
        documents.truncate(limit);
    }
    documents.sort_unstable_by(|a, b| b.cmp(a));
}
