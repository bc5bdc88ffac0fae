use super::bm25::Norm;
use super::neighbours::WHOLE;
use super::{Bm25, Resolved, Statistics, TextIndex};

/// Cost of scoring one entry by the forward index, in postings; with threads, neighbours raise both costs.
const ENTRY_COST: usize = 24;

/// Words and pairs of a query with their weights, the heaviest first. All scores are summed in this order, so that they
/// are bit-identical however they are computed.
pub(super) struct Plan<'a> {
    pub parts: Vec<Part<'a>>,
    pub norm: Norm,
}

pub(super) struct Part<'a> {
    /// Index of its word; pairs follow the words.
    pub number: usize,
    pub df: u64,
    pub idf: f32,
    pub weight: f32,
    pub source: Source<'a>,
    /// Upper bound of its contribution.
    pub bound: f32,
    /// Number of postings to traverse.
    pub postings: usize,
}

/// Source of its postings.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// Alternative terms, of which the most frequent in an entry counts.
    Terms(&'a [u32]),
    /// Entries and counts.
    Pair(&'a [(u32, u32)]),
}

impl Plan<'_> {
    /// Cost of scoring this many entries individually, in postings.
    pub(super) fn cost_of_scoring(&self, docs: usize) -> usize {
        docs.saturating_mul(ENTRY_COST + self.parts.len())
    }
}

impl TextIndex {
    /// Plans a query for this index.
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

    /// Number of postings of a source, and their maximum count.
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

/// Converts 256ths to words.
pub(super) fn words(bag: u32) -> f32 {
    bag as f32 / WHOLE as f32
}
