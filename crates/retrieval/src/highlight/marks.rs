use std::collections::HashMap;

use crate::analysis::{Reading, each_word};
use crate::{Language, TextQuery};

/// A query word in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub start: usize,
    pub end: usize,
    /// Index of the query word.
    pub word: usize,
}

/// All query words in a value, by position. One range may match several.
pub(super) fn marks(value: &str, query: &TextQuery, language: Language) -> Vec<Mark> {
    let mut by_term: HashMap<&str, Vec<usize>> = HashMap::new();
    for (term, word) in query.terms() {
        by_term.entry(term).or_default().push(word);
    }
    let mut marks = Vec::new();
    let mut reading = Reading::default();
    each_word(value, &mut |word| {
        reading.each_term(&word, language, &mut |term, place| {
            for word in by_term.get(term).into_iter().flatten() {
                marks.push(Mark { start: place.start, end: place.end, word: *word });
            }
        });
    });
    marks.sort_unstable_by_key(|mark| (mark.start, mark.end, mark.word));
    marks.dedup();
    marks
}
