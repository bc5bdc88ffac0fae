use super::query::QueryWord;

/// Statistics behind the weights of a query's words: of one index, or of several merged, so that scores are comparable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    pub(super) documents: u64,
    /// Sum of weighted lengths, in 256ths of a word.
    pub(super) length: u64,
    /// Number of entries with a term, by word and alternative.
    pub(super) words: Vec<Vec<u64>>,
    pub(super) pairs: Vec<u64>,
}

impl Statistics {
    /// Adds the statistics of another index for the same query.
    pub fn merge(&mut self, other: &Self) {
        self.documents += other.documents;
        self.length += other.length;
        self.words.resize_with(self.words.len().max(other.words.len()), Vec::new);
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            add(mine, theirs);
        }
        add(&mut self.pairs, &other.pairs);
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the mean length of an entry with its neighbours, in words.
    #[must_use]
    pub fn mean_length(&self) -> f32 {
        (self.length as f64 / 256.0 / self.documents.max(1) as f64) as f32
    }

    /// Document frequency of a word: the maximum over its alternatives (as Lucene's `SynonymQuery`).
    pub(super) fn df(&self, word: usize) -> u64 {
        self.words.get(word).and_then(|terms| terms.iter().max()).copied().unwrap_or_default()
    }

    pub(super) fn empty_for(words: &[QueryWord], pairs: usize) -> Self {
        let words = words.iter().map(|word| vec![0; word.terms.len()]).collect();
        Self { words, pairs: vec![0; pairs], ..Self::default() }
    }
}

fn add(mine: &mut Vec<u64>, theirs: &[u64]) {
    mine.resize(mine.len().max(theirs.len()), 0);
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
}
