use super::postings::{Item, Postings};
use super::{Bm25, Statistics, TextIndex, TextQuery};

/// A query as one index knows it: valid until the index changes.
#[derive(Debug, Clone)]
pub struct Resolved<'q> {
    pub(super) query: &'q TextQuery,
    /// By word: the numbers of those of its terms that the index has.
    pub(super) words: Vec<Vec<u32>>,
    /// By pair: the entries that hold it and how often, rising.
    pub(super) pairs: Vec<Vec<(u32, u32)>>,
    statistics: Statistics,
}

impl Resolved<'_> {
    /// Of this index alone: to be merged with those of the others that are searched with it.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}

impl TextIndex {
    /// What an entry of infinitely many occurrences of every word and pair that any entry holds would score.
    #[must_use]
    pub fn best(&self, query: &TextQuery, statistics: &Statistics) -> f32 {
        let documents = statistics.documents;
        let idf = |df: u64| if df > 0 { Bm25::idf(documents, df) } else { 0.0 };
        let words = query.words.iter().enumerate();
        let words: f32 = words.map(|(nth, word)| idf(statistics.df(nth)) * f32::from(word.count)).sum();
        let pairs = query.pairs.iter().zip(&statistics.pairs);
        words + self.options.pairs * pairs.map(|(pair, df)| idf(*df) * f32::from(pair.count)).sum::<f32>()
    }

    /// Looks a query's terms up. Finding its pairs goes through the postings of their words.
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
        let mut pairs = vec![Vec::new(); query.pairs.len()];
        if self.options.pairs > 0.0 {
            let numbers = |word: usize| words.get(word).map(Vec::as_slice).unwrap_or_default();
            for ((pair, found), frequency) in query.pairs.iter().zip(&mut pairs).zip(&mut statistics.pairs) {
                *found = self.pair(numbers(pair.first), numbers(pair.second));
                *frequency = found.len() as u64;
            }
        }
        Resolved { query, words, pairs, statistics }
    }

    /// Entries in which a term of `first` stands right before one of `second`; of the alternatives the most frequent
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

/// Entries once each, rising, with the highest of their counts.
pub(super) fn merge(all: &mut Vec<(u32, u32)>) {
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    all.dedup_by_key(|(doc, _)| *doc);
}

fn together(first: &Postings, second: &Postings) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let (mut left, mut right) = (first.cursor(), second.cursor());
    let (mut one, mut other) = (left.seek(0), right.seek(0));
    while let (Some(a), Some(b)) = (one, other) {
        match a.doc.cmp(&b.doc) {
            std::cmp::Ordering::Less => one = left.seek(b.doc),
            std::cmp::Ordering::Greater => other = right.seek(a.doc),
            std::cmp::Ordering::Equal => {
                let count = adjacent(&a, &b);
                if count > 0 {
                    found.push((a.doc, count));
                }
                one = left.seek(a.doc.saturating_add(1));
                other = right.seek(a.doc.saturating_add(1));
            }
        }
    }
    found
}

/// How many positions of `first` are one before one of `second`.
fn adjacent(first: &Item<'_>, second: &Item<'_>) -> u32 {
    let mut after = second.positions().peekable();
    let mut count = 0;
    for position in first.positions() {
        while after.next_if(|other| *other <= position).is_some() {}
        count += u32::from(after.peek() == Some(&position.saturating_add(1)));
    }
    count
}
