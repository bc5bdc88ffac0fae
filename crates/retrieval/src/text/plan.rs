use super::bm25::Norm;
use super::neighbours::WHOLE;
use super::{Bm25, Resolved, Statistics, TextIndex};

/// Postings that can be gone through in the time in which one entry's terms are looked at: where there are threads,
/// neighbours make both dearer.
const LOOK: usize = 24;

/// A query's words and pairs with their weights, the heaviest first: the order in which every score is added up, so
/// that a score is the same to the bit wherever it is asked for.
pub(super) struct Plan<'a> {
    pub parts: Vec<Part<'a>>,
    pub norm: Norm,
}

pub(super) struct Part<'a> {
    /// Its word's number, then its pair's from the number of words on.
    pub number: usize,
    pub df: u64,
    pub idf: f32,
    pub weight: f32,
    pub source: Source<'a>,
    /// What it adds to a score at most.
    pub bound: f32,
    /// Postings to go through.
    pub postings: usize,
}

/// Where it is found.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// Terms of which the most frequent in an entry counts.
    Terms(&'a [u32]),
    /// Entries and counts.
    Pair(&'a [(u32, u32)]),
}

impl Plan<'_> {
    /// Of looking at so many entries, in postings.
    pub(super) fn cost_of_looking(&self, docs: usize) -> usize {
        docs.saturating_mul(LOOK + self.parts.len())
    }
}

impl TextIndex {
    /// What of a query this index has.
    pub(super) fn plan<'a>(&self, resolved: &'a Resolved<'_>, statistics: &Statistics) -> Plan<'a> {
        let norm = self.options.bm25.norm(statistics.mean_length());
        let query = resolved.query;
        let words = query.words.iter().zip(&resolved.words).enumerate().map(|(number, (word, terms))| {
            let (df, factor) = (statistics.df(number), f32::from(word.count));
            (number, df, factor, Source::Terms(terms))
        });
        let first = query.words.len();
        let pairs = query.pairs.iter().zip(&resolved.pairs).enumerate().map(|(nth, (pair, found))| {
            let df = statistics.pairs.get(nth).copied().unwrap_or_default();
            (first + nth, df, f32::from(pair.count) * self.options.pairs, Source::Pair(found))
        });
        let mut parts = Vec::new();
        for (number, df, factor, source) in words.chain(pairs) {
            let (postings, most) = self.size(source);
            if postings > 0 {
                let idf = Bm25::idf(statistics.documents, df);
                let weight = idf * factor;
                let bound = weight * norm.saturation(self.most_in_bag(most), 0.0);
                parts.push(Part { number, df, idf, weight, source, bound, postings });
            }
        }
        parts.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.number.cmp(&b.number)));
        Plan { parts, norm }
    }

    /// Postings of a source, and the highest count in them.
    fn size(&self, source: Source<'_>) -> (usize, u32) {
        match source {
            Source::Terms(terms) => terms
                .iter()
                .map(|term| self.postings(*term))
                .fold((0, 0), |(all, most), postings| (all + postings.len() as usize, most.max(postings.most()))),
            Source::Pair(found) => (found.len(), found.iter().map(|(_, count)| *count).max().unwrap_or_default()),
        }
    }

    fn most_in_bag(&self, most: u32) -> f32 {
        let weights = if self.documents.are_linked() { self.documents.weights().sum() } else { WHOLE };
        words(most.saturating_mul(weights))
    }
}

/// 256ths of a word in words.
pub(super) fn words(bag: u32) -> f32 {
    bag as f32 / WHOLE as f32
}
