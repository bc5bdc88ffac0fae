//! Which parts of a value answer a query.

mod marks;
mod snippets;

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::{Language, TextQuery};

/// Characters of a snippet at most.
const MAX_LENGTH: usize = 200;
/// Snippets of a value at most.
const MAX_SNIPPETS: usize = 3;

/// A stretch of a value in which words of a query stand. All are bytes of the value, on boundaries of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highlight {
    /// At most 200 characters, cut between words where it can be.
    pub snippet: Range<usize>,
    /// The words of it that match, in order, apart from each other.
    pub words: Vec<Range<usize>>,
}

/// The stretches (at most 3, in the order of the value) that hold most of the query's words; none where no word of it
/// occurs. The value's words are known as an index knows those of an entry of its language. Time is linear in the value.
#[must_use]
pub fn highlights(value: &str, query: &TextQuery, language: Language) -> Vec<Highlight> {
    let marks = marks::marks(value, query, language);
    snippets::snippets(value, &marks, query.words().len())
}
