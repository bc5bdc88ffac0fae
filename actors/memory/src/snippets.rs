//! Selects the parts of found values that match the query.

use muster_retrieval::{Language, Languages, StopWords, TextQuery, highlights};

use super::port::Highlight;

/// Maximum bytes examined per value.
const MAX_PER_VALUE: usize = 64 << 10;
/// Maximum bytes examined per page of results.
const MAX_PER_PAGE: usize = 2 << 20;

/// Highlights the entries of a page for one query.
pub(super) struct Marker<'a> {
    query: &'a str,
    /// The query analysed per language: most pages have one.
    known: Vec<(Language, TextQuery)>,
    left: usize,
}

impl<'a> Marker<'a> {
    pub(super) fn new(query: &'a str) -> Self {
        Self { query, known: Vec::new(), left: MAX_PER_PAGE }
    }

    /// Returns at most three snippets of a value; empty if no query word occurs in the examined part. The language is
    /// the index's: detecting it again costs more than the search.
    pub(super) fn mark(&mut self, value: &str, language: Language) -> Vec<Highlight> {
        let most = MAX_PER_VALUE.min(self.left);
        let value = value.get(..value.floor_char_boundary(most)).unwrap_or_default();
        self.left -= value.len();
        let found = highlights(value, self.query_in(language), language);
        found.into_iter().filter_map(|found| highlight(value, &found)).collect()
    }

    fn query_in(&mut self, language: Language) -> &TextQuery {
        let at = self.known.iter().position(|(known, _)| *known == language).unwrap_or_else(|| {
            let query = TextQuery::new(self.query, Languages::default().with(language), StopWords::Dropped);
            self.known.push((language, query));
            self.known.len() - 1
        });
        // Found or pushed above.
        #[allow(clippy::indexing_slicing)]
        &self.known[at].1
    }
}

fn highlight(value: &str, found: &muster_retrieval::Highlight) -> Option<Highlight> {
    let (start, end) = (found.snippet.start, found.snippet.end);
    let within = |at: usize| at.saturating_sub(start);
    let matches = found.words.iter().map(|word| (within(word.start), within(word.end))).collect();
    Some(Highlight { start, end, snippet: value.get(start..end)?.to_owned(), matches })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_byte_ranges_of_the_snippet_and_by_stem() {
        let found = Marker::new("ferries").mark("Übers Meer: the ferry leaves, the ferry comes.", Language::English);
        assert_eq!(found.len(), 1);
        let words: Vec<&str> = found[0].matches.iter().map(|(start, end)| &found[0].snippet[*start..*end]).collect();
        assert_eq!(words, ["ferry", "ferry"]);
        assert_eq!(Marker::new("häuser").mark("Das Haus am See", Language::German).len(), 1);
        assert!(Marker::new("train").mark("the ferry leaves", Language::English).is_empty());
    }

    #[test]
    fn the_examined_part_is_bounded_at_a_character() {
        let long = format!("ferry {}", "é".repeat(MAX_PER_VALUE));
        let mut marker = Marker::new("ferry");
        let marked = (0..100).filter(|_| !marker.mark(&long, Language::English).is_empty()).count();
        assert_eq!((marked, marker.left), (MAX_PER_PAGE / MAX_PER_VALUE, 0), "a page of long values ends, too");
    }
}
