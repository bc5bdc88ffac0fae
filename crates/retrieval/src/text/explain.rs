use serde::{Deserialize, Serialize};

use crate::DocNo;

use super::plan::words;
use super::{Resolved, Statistics, TextIndex};

/// Contribution of one query word, or adjacent pair, to an entry's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TermPart {
    /// Normalised word; a pair as `first second`.
    pub term: String,
    /// Occurrences in the entry, plus weighted ones in its neighbours.
    pub tf: f32,
    /// Number of entries that contain it.
    pub df: u64,
    /// Inverse document frequency, see [`Bm25::idf`](super::Bm25::idf).
    pub idf: f32,
    /// `contribution = weight * tf / (tf + K)`: idf times the count in the query (and the pair weight).
    pub weight: f32,
    /// Contribution to the score.
    pub contribution: f32,
}

impl TextIndex {
    /// Returns the parts of an entry's score, the heaviest first; their sum in this order is bit-identical to the score.
    #[must_use]
    pub fn explain(&self, query: &Resolved<'_>, statistics: &Statistics, doc: DocNo) -> Vec<TermPart> {
        if !self.contains(doc) {
            return Vec::new();
        }
        let plan = self.plan(query, statistics);
        let mut entry_scorer = self.entry_scorer(&plan, 0);
        let length = words(self.documents.bag(doc.0));
        let counted = plan.parts.iter().zip(entry_scorer.bags(doc.0)).filter(|(_, bag)| **bag > 0);
        let parts = counted.map(|(part, bag)| {
            let tf = words(*bag);
            let contribution = part.weight * plan.norm.saturation(tf, length);
            let term = query.name(part.number);
            TermPart { term, tf, df: part.df, idf: part.idf, weight: part.weight, contribution }
        });
        parts.collect()
    }
}

impl Resolved<'_> {
    /// Name of a word, or of a pair if `number` is beyond the words.
    fn name(&self, number: usize) -> String {
        let word = |number: usize| self.query.words.get(number).map_or("", |word| &word.word);
        match number.checked_sub(self.query.words.len()).and_then(|nth| self.query.pairs.get(nth)) {
            Some(pair) => format!("{} {}", word(pair.first), word(pair.second)),
            None => word(number).to_owned(),
        }
    }
}
