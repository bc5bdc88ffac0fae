use serde::{Deserialize, Serialize};

use crate::DocNo;

use super::plan::words;
use super::{Resolved, Statistics, TextIndex};

/// What one word of a query, or two that stand together, adds to an entry's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TermPart {
    /// As it was written, normalised; a pair as `first second`.
    pub term: String,
    /// Occurrences in the entry, with those in its neighbours by their weights.
    pub tf: f32,
    /// Entries that hold it.
    pub df: u64,
    pub idf: f32,
    /// `contribution = weight * tf / (tf + K)`: idf times how often it was asked for (and what a pair counts).
    pub weight: f32,
    pub contribution: f32,
}

impl TextIndex {
    /// The parts of an entry's score, the heaviest word first; they add up to it, in this order to the bit.
    #[must_use]
    pub fn explain(&self, query: &Resolved<'_>, statistics: &Statistics, doc: DocNo) -> Vec<TermPart> {
        if !self.contains(doc) {
            return Vec::new();
        }
        let plan = self.plan(query, statistics);
        let mut looker = self.looker(&plan, 0);
        let length = words(self.documents.bag(doc.0));
        let counted = plan.parts.iter().zip(looker.bags(doc.0)).filter(|(_, bag)| **bag > 0);
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
    /// Of a word, or from the number of words on of a pair.
    fn name(&self, number: usize) -> String {
        let word = |number: usize| self.query.words.get(number).map_or("", |word| &word.word);
        match number.checked_sub(self.query.words.len()).and_then(|nth| self.query.pairs.get(nth)) {
            Some(pair) => format!("{} {}", word(pair.first), word(pair.second)),
            None => word(number).to_owned(),
        }
    }
}
