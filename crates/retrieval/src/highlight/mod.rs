//! Selects the parts of a value that match a query.

mod marks;
mod snippets;

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::{Language, TextQuery};

/// Maximum characters of a snippet.
const MAX_LENGTH: usize = 200;
/// Maximum snippets per value.
const MAX_SNIPPETS: usize = 3;

/// A snippet with matching words. Ranges are bytes of the value, on character boundaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highlight {
    /// At most 200 characters, cut between words if possible.
    pub snippet: Range<usize>,
    /// The matching words in it, in order, without overlap.
    pub words: Vec<Range<usize>>,
}

/// Returns at most 3 snippets, in text order, that contain most of the query's words; none if no word occurs. The value
/// is analysed as the index does for its language. Time is linear in the value.
#[must_use]
pub fn highlights(value: &str, query: &TextQuery, language: Language) -> Vec<Highlight> {
    let marks = marks::marks(value, query, language);
    snippets::snippets(value, &marks, query.words().len())
}
