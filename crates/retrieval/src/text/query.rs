use std::collections::HashMap;

use crate::analysis::{Language, Languages, each_query_word, is_stop_word};

/// Maximum distinct words of a query.
const MAX_WORDS: usize = 512;
/// Maximum distinct word pairs of a query.
const MAX_PAIRS: usize = 64;

/// Handling of stop words in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StopWords {
    /// English stop words are dropped if there are English entries and other words remain.
    #[default]
    Dropped,
    /// Stop words are searched like other words.
    Kept,
}

/// An analysed query: words with the terms they may have in entries of several languages. There is no syntax.
#[derive(Debug, Clone, Default)]
pub struct TextQuery {
    pub(super) words: Vec<QueryWord>,
    pub(super) pairs: Vec<QueryPair>,
    is_cut: bool,
}

#[derive(Debug, Clone)]
pub(super) struct QueryWord {
    /// Normalised word.
    pub word: Box<str>,
    /// Alternatives: an entry's count is that of its most frequent one.
    pub terms: Vec<Box<str>>,
    /// Number of occurrences in the query.
    pub count: u16,
}

/// Two adjacent words.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryPair {
    pub first: usize,
    pub second: usize,
    pub count: u16,
}

impl TextQuery {
    /// Analyses a text for entries of `languages` (English if empty). Words after the first 512 distinct ones are
    /// dropped.
    #[must_use]
    pub fn new(text: &str, languages: Languages, stop_words: StopWords) -> Self {
        let languages = if languages.is_empty() { languages.with(Language::default()) } else { languages };
        let drops = stop_words == StopWords::Dropped && languages.contains(Language::English);
        let dropped = read(text, languages, |word| drops && is_stop_word(word));
        if dropped.words.is_empty() { read(text, languages, |_| false) } else { dropped }
    }

    /// Returns whether it has no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether words were dropped.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Iterates over the distinct normalised words.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.words.iter().map(|word| &*word.word)
    }

    /// All terms, with the index of their word.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&str, usize)> {
        let all = self.words.iter().enumerate();
        all.flat_map(|(number, word)| word.terms.iter().map(move |term| (&**term, number)))
    }
}

fn read(text: &str, languages: Languages, is_dropped: impl Fn(&str) -> bool) -> TextQuery {
    let mut query = TextQuery::default();
    let mut known: HashMap<Box<str>, usize> = HashMap::new();
    let mut positions = Vec::new();
    each_query_word(text, &mut |query_word| {
        if is_dropped(query_word.word) {
            return;
        }
        let number = match known.get(query_word.word) {
            Some(number) => *number,
            None if query.words.len() == MAX_WORDS => {
                query.is_cut = true;
                return;
            }
            None => {
                let terms = query_word.alternatives(languages);
                // Two spellings may have the same terms.
                let same = query.words.iter().position(|word| word.terms == terms);
                let number = same.unwrap_or(query.words.len());
                if same.is_none() {
                    query.words.push(QueryWord { word: query_word.word.into(), terms, count: 0 });
                }
                known.insert(query_word.word.into(), number);
                number
            }
        };
        if let Some(word) = query.words.get_mut(number) {
            word.count = word.count.saturating_add(1);
        }
        positions.push((query_word.position, number));
    });
    query.pairs = pairs(positions);
    query
}

/// Pairs of words at adjacent positions.
fn pairs(mut positions: Vec<(u32, usize)>) -> Vec<QueryPair> {
    positions.sort_unstable();
    let mut pairs: Vec<QueryPair> = Vec::new();
    for (position, first) in &positions {
        let next = position.saturating_add(1);
        let from = positions.partition_point(|(position, _)| *position < next);
        for (_, second) in positions.iter().skip(from).take_while(|(position, _)| *position == next) {
            let has_room = pairs.len() < MAX_PAIRS;
            match pairs.iter_mut().find(|pair| pair.first == *first && pair.second == *second) {
                Some(pair) => pair.count = pair.count.saturating_add(1),
                None if has_room => pairs.push(QueryPair { first: *first, second: *second, count: 1 }),
                None => {}
            }
        }
    }
    pairs
}
