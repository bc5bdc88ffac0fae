//! Scores single entries from the forward index.

use super::TextIndex;
use super::bm25::Norm;
use super::neighbours::WHOLE;
use super::plan::{Part, Plan, Source, words};

impl TextIndex {
    /// Creates a scorer of the parts from `from` on.
    pub(super) fn entry_scorer<'a>(&'a self, plan: &'a Plan<'a>, from: usize) -> EntryScorer<'a> {
        let parts = plan.parts.get(from..).unwrap_or_default();
        let mut terms = Vec::new();
        for (slot, part) in parts.iter().enumerate() {
            if let Source::Terms(of_part) = part.source {
                terms.extend(of_part.iter().map(|term| (*term, slot)));
            }
        }
        terms.sort_unstable();
        let (own, bags) = (vec![0; parts.len()], vec![0; parts.len()]);
        EntryScorer { index: self, norm: plan.norm, parts, terms, own, bags }
    }
}

/// Adds the remaining parts of a plan to one entry after the other.
pub(super) struct EntryScorer<'a> {
    index: &'a TextIndex,
    norm: Norm,
    parts: &'a [Part<'a>],
    /// Terms with the index of their part.
    terms: Vec<(u32, usize)>,
    own: Vec<u32>,
    bags: Vec<u32>,
}

impl EntryScorer<'_> {
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
        let mut terms = self.terms.iter().peekable();
        for (term, count) in self.index.forward.get(doc) {
            while terms.next_if(|(number, _)| *number < term).is_some() {}
            while let Some((_, slot)) = terms.next_if(|(number, _)| *number == term) {
                if let Some(own) = self.own.get_mut(*slot) {
                    *own = count.max(*own);
                }
            }
            if terms.peek().is_none() {
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
