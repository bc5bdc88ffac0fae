//! Scores given entries from the forward index.

use super::TextIndex;
use super::bm25::Norm;
use super::neighbours::WHOLE;
use super::plan::{Part, Plan, Source, words};

impl TextIndex {
    /// Creates a scorer of the parts from `from` on.
    pub(super) fn looker<'a>(&'a self, plan: &'a Plan<'a>, from: usize) -> Looker<'a> {
        let parts = plan.parts.get(from..).unwrap_or_default();
        let mut wanted = Vec::new();
        for (slot, part) in parts.iter().enumerate() {
            if let Source::Terms(terms) = part.source {
                wanted.extend(terms.iter().map(|term| (*term, slot)));
            }
        }
        wanted.sort_unstable();
        let (own, bags) = (vec![0; parts.len()], vec![0; parts.len()]);
        Looker { index: self, norm: plan.norm, parts, wanted, own, bags }
    }
}

/// Adds the remaining parts of a plan to one entry after the other.
pub(super) struct Looker<'a> {
    index: &'a TextIndex,
    norm: Norm,
    parts: &'a [Part<'a>],
    /// Terms with the index of their part.
    wanted: Vec<(u32, usize)>,
    own: Vec<u32>,
    bags: Vec<u32>,
}

impl Looker<'_> {
    /// Adds the contributions of the parts to a score.
    pub(super) fn add(&mut self, doc: u32, score: f32) -> f32 {
        if self.index.documents.get(doc).is_none() {
            return score;
        }
        self.count(doc);
        let length = words(self.index.documents.bag(doc));
        let found = self.parts.iter().zip(&self.bags).filter(|(_, bag)| **bag > 0);
        found.fold(score, |score, (part, bag)| score + part.weight * self.norm.saturation(words(*bag), length))
    }

    /// Weighted count of each part in an entry, in 256ths.
    pub(super) fn bags(&mut self, doc: u32) -> &[u32] {
        self.count(doc);
        &self.bags
    }

    fn count(&mut self, doc: u32) {
        self.bags.fill(0);
        let documents = &self.index.documents;
        let weights = documents.weights();
        self.put(doc, WHOLE);
        for (other, weight) in documents.before(doc).zip(weights.before) {
            self.put(other, weight);
        }
        for (other, weight) in documents.after(doc).zip(weights.after) {
            self.put(other, weight);
        }
    }

    fn put(&mut self, doc: u32, weight: u32) {
        if weight == 0 {
            return;
        }
        self.own.fill(0);
        let mut wanted = self.wanted.iter().peekable();
        for (term, count) in self.index.forward.get(doc) {
            while wanted.next_if(|(number, _)| *number < term).is_some() {}
            while let Some((_, slot)) = wanted.next_if(|(number, _)| *number == term) {
                if let Some(own) = self.own.get_mut(*slot) {
                    *own = count.max(*own);
                }
            }
            if wanted.peek().is_none() {
                break;
            }
        }
        for (part, (own, bag)) in self.parts.iter().zip(self.own.iter_mut().zip(&mut self.bags)) {
            if let Source::Pair(found) = part.source
                && let Ok(at) = found.binary_search_by_key(&doc, |(doc, _)| *doc)
            {
                *own = found.get(at).map_or(0, |(_, count)| *count);
            }
            *bag = bag.saturating_add(own.saturating_mul(weight));
        }
    }
}
