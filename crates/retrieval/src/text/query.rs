use std::collections::HashMap;

use crate::analysis::{Language, Languages, each_asked, is_stop_word};

/// Distinct words of a query that are looked for.
const MAX_WORDS: usize = 512;
/// Distinct pairs of words that are looked for.
const MAX_PAIRS: usize = 64;

/// Whether words that tell nothing are left out of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StopWords {
    /// English ones, where entries are in English and other words are left.
    #[default]
    Dropped,
    Kept,
}

/// What is looked for: words, each with the terms that entries of several languages may know it by. There is no syntax.
#[derive(Debug, Clone, Default)]
pub struct TextQuery {
    pub(super) words: Vec<QueryWord>,
    pub(super) pairs: Vec<QueryPair>,
    is_cut: bool,
}

#[derive(Debug, Clone)]
pub(super) struct QueryWord {
    /// As it was written, normalised.
    pub word: Box<str>,
    /// Alternatives: an entry's count is that of the one it has most often.
    pub terms: Vec<Box<str>>,
    /// How often it stands in the query.
    pub count: u16,
}

/// Two words that stand one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryPair {
    pub first: usize,
    pub second: usize,
    pub count: u16,
}

impl TextQuery {
    /// The words of `text`, as entries of `languages` (English where there is none) may know them. Those after the first
    /// 512 distinct ones are left out.
    #[must_use]
    pub fn new(text: &str, languages: Languages, stop_words: StopWords) -> Self {
        let languages = if languages.is_empty() { languages.with(Language::default()) } else { languages };
        let drops = stop_words == StopWords::Dropped && languages.contains(Language::English);
        let dropped = read(text, languages, |word| drops && is_stop_word(word));
        if dropped.words.is_empty() { read(text, languages, |_| false) } else { dropped }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether it had more words than are looked for.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Its words as they were written, normalised, each once.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.words.iter().map(|word| &*word.word)
    }

    /// Every term that it looks for with the number of its word.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&str, usize)> {
        let all = self.words.iter().enumerate();
        all.flat_map(|(number, word)| word.terms.iter().map(move |term| (&**term, number)))
    }
}

fn read(text: &str, languages: Languages, is_dropped: impl Fn(&str) -> bool) -> TextQuery {
    let mut query = TextQuery::default();
    let mut known: HashMap<Box<str>, usize> = HashMap::new();
    let mut standing = Vec::new();
    each_asked(text, &mut |asked| {
        if is_dropped(asked.word) {
            return;
        }
        let number = match known.get(asked.word) {
            Some(number) => *number,
            None if query.words.len() == MAX_WORDS => {
                query.is_cut = true;
                return;
            }
            None => {
                let terms = asked.alternatives(languages);
                // Two spellings may be one term.
                let same = query.words.iter().position(|word| word.terms == terms);
                let number = same.unwrap_or(query.words.len());
                if same.is_none() {
                    query.words.push(QueryWord { word: asked.word.into(), terms, count: 0 });
                }
                known.insert(asked.word.into(), number);
                number
            }
        };
        if let Some(word) = query.words.get_mut(number) {
            word.count = word.count.saturating_add(1);
        }
        standing.push((asked.position, number));
    });
    query.pairs = pairs(standing);
    query
}

/// Which words stand one position apart.
fn pairs(mut standing: Vec<(u32, usize)>) -> Vec<QueryPair> {
    standing.sort_unstable();
    let mut pairs: Vec<QueryPair> = Vec::new();
    for (position, first) in &standing {
        let next = position.saturating_add(1);
        let from = standing.partition_point(|(position, _)| *position < next);
        for (_, second) in standing.iter().skip(from).take_while(|(position, _)| *position == next) {
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
