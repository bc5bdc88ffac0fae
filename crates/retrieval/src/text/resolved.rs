use std::cmp::Ordering;

use super::postings::Postings;
use super::{Bm25, Statistics, TextIndex, TextQuery};

/// Maximum postings traversed for a query's pairs, one to two milliseconds of work: pairs of very frequent words are
/// skipped. Pairs of rare words, which are the most significant, come first.
const MAX_POSTINGS: usize = 200_000;

/// A query resolved against one index: valid until the index changes.
#[derive(Debug, Clone)]
pub struct Resolved<'q> {
    pub(super) query: &'q TextQuery,
    /// Per word: the numbers of its terms in the index.
    pub(super) words: Vec<Vec<u32>>,
    /// Per pair: the entries that contain it, with counts, ascending.
    pub(super) pairs: Vec<Vec<(u32, u32)>>,
    statistics: Statistics,
}

impl Resolved<'_> {
    /// Returns the statistics of this index, to be merged with those of the other indexes of a search.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}

impl TextIndex {
    /// Returns the supremum of the scores: that of an entry with infinitely many occurrences of every word and pair that
    /// occurs in the index.
    #[must_use]
    pub fn best(&self, query: &TextQuery, statistics: &Statistics) -> f32 {
        let documents = statistics.documents;
        let idf = |df: u64| if df > 0 { Bm25::idf(documents, df) } else { 0.0 };
        let words = query.words.iter().enumerate();
        let words: f32 = words.map(|(nth, word)| idf(statistics.df(nth)) * f32::from(word.count)).sum();
        let pairs = query.pairs.iter().zip(&statistics.pairs);
        words + self.options.pairs * pairs.map(|(pair, df)| idf(*df) * f32::from(pair.count)).sum::<f32>()
    }

    /// Looks up a query's terms and finds its pairs, which traverses the postings of their words.
    #[must_use]
    pub fn resolve<'q>(&self, query: &'q TextQuery) -> Resolved<'q> {
        let mut statistics = Statistics::empty_for(&query.words, query.pairs.len());
        statistics.documents = self.len() as u64;
        statistics.length = self.documents.total();
        let mut words = Vec::with_capacity(query.words.len());
        for (word, frequencies) in query.words.iter().zip(&mut statistics.words) {
            let mut numbers = Vec::new();
            for (term, frequency) in word.terms.iter().zip(frequencies) {
                if let Some(number) = self.dictionary.get(self.dictionary.hash(term), term) {
                    *frequency = u64::from(self.postings(number).len());
                    numbers.push(number);
                }
            }
            words.push(numbers);
        }
        let pairs = self.pairs(query, &words);
        statistics.pairs = pairs.iter().map(|found| found.len() as u64).collect();
        Resolved { query, words, pairs, statistics }
    }

    /// Finds the pairs, those of rare words first, within the limit.
    fn pairs(&self, query: &TextQuery, words: &[Vec<u32>]) -> Vec<Vec<(u32, u32)>> {
        let mut found = vec![Vec::new(); query.pairs.len()];
        if self.options.pairs <= 0.0 {
            return found;
        }
        let numbers = |word: usize| words.get(word).map(Vec::as_slice).unwrap_or_default();
        let postings =
            |word: usize| numbers(word).iter().map(|term| self.postings(*term).len() as usize).sum::<usize>();
        let sides = query.pairs.iter().enumerate().map(|(nth, pair)| (nth, pair.first, pair.second));
        let mut order: Vec<_> = sides.map(|(nth, a, b)| (postings(a) + postings(b), nth, a, b)).collect();
        order.sort_unstable();
        let mut left = MAX_POSTINGS;
        for (cost, nth, first, second) in order {
            let Some(rest) = left.checked_sub(cost) else { break };
            left = rest;
            if let Some(found) = found.get_mut(nth) {
                *found = self.pair(numbers(first), numbers(second));
            }
        }
        found
    }

    /// Entries in which a term of `first` immediately precedes one of `second`; of the alternatives the most frequent
    /// counts.
    fn pair(&self, first: &[u32], second: &[u32]) -> Vec<(u32, u32)> {
        let mut all: Vec<(u32, u32)> = Vec::new();
        for (nth, first) in first.iter().enumerate() {
            for second in second {
                let found = together(self.postings(*first), self.postings(*second));
                if nth == 0 && all.is_empty() { all = found } else { all.extend(found) }
            }
        }
        if first.len() > 1 || second.len() > 1 {
            merge(&mut all);
        }
        all
    }
}

/// Deduplicates entries in ascending order, keeping the highest count.
pub(super) fn merge(all: &mut Vec<(u32, u32)>) {
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    all.dedup_by_key(|(doc, _)| *doc);
}

fn together(first: &Postings, second: &Postings) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let (mut left, mut right) = (first.cursor(), second.cursor());
    let (mut one, mut other) = (left.seek(0), right.seek(0));
    while let (Some(a), Some(b)) = (one, other) {
        match a.cmp(&b) {
            Ordering::Less => one = left.seek(b),
            Ordering::Greater => other = right.seek(a),
            Ordering::Equal => {
                let count = adjacent(left.positions(), right.positions());
                if count > 0 {
                    found.push((a, count));
                }
                one = left.seek(a.saturating_add(1));
                other = right.seek(a.saturating_add(1));
            }
        }
    }
    found
}

/// Number of positions of `first` immediately before one of `second`. Short entries use bit sets: branch mispredictions
/// in a merge cost more than shifts.
fn adjacent(mut first: impl Iterator<Item = u32>, mut second: impl Iterator<Item = u32>) -> u32 {
    let (mut count, mut awaited) = (0, 0_u128);
    let late = first.find(|position| {
        let is_late = *position >= 127;
        awaited |= if is_late { 0 } else { 1 << (position + 1) };
        is_late
    });
    let after = second.find(|position| {
        let is_late = *position >= 128;
        count += if is_late { 0 } else { (awaited >> position) as u32 & 1 };
        is_late
    });
    let (Some(late), Some(after)) = (late, after) else { return count };
    let mut after = std::iter::once(after).chain(second).peekable();
    for position in std::iter::once(late).chain(first) {
        while after.next_if(|other| *other <= position).is_some() {}
        count += u32::from(after.peek() == Some(&position.saturating_add(1)));
    }
    count
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::adjacent;

    proptest! {
        #[test]
        fn positions_are_adjacent_as_in_sets(
            first in prop::collection::btree_set(0..300_u32, 0..60),
            second in prop::collection::btree_set(0..300_u32, 0..60),
        ) {
            let after: BTreeSet<u32> = first.iter().map(|position| position + 1).collect();
            let expected = after.intersection(&second).count();
            prop_assert_eq!(adjacent(first.into_iter(), second.into_iter()) as usize, expected);
        }
    }
}
