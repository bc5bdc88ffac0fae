//! Which parts of the values that were found answer the query.

use muster_retrieval::{Language, Languages, StopWords, TextQuery, detect, highlights};

use super::port::Highlight;
use super::record::EntryRecord;

/// Bytes of a value that are looked at.
const OF_VALUE: usize = 64 << 10;
/// Bytes of all values of a page that are looked at.
const OF_PAGE: usize = 2 << 20;

/// One query, as the entries of a page are marked by it.
pub(super) struct Marker<'a> {
    query: &'a str,
    /// As entries of a language may know it: most pages have one.
    known: Vec<(Language, TextQuery)>,
    left: usize,
}

impl<'a> Marker<'a> {
    pub(super) fn new(query: &'a str) -> Self {
        Self { query, known: Vec::new(), left: OF_PAGE }
    }

    /// Stretches of an entry's value, at most three; none where no word of the query occurs in what is looked at.
    pub(super) fn mark(&mut self, entry: &EntryRecord) -> Vec<Highlight> {
        let most = OF_VALUE.min(self.left);
        let end = (0..=most.min(entry.value.len())).rev().find(|end| entry.value.is_char_boundary(*end));
        let value = entry.value.get(..end.unwrap_or(0)).unwrap_or_default();
        self.left -= value.len();
        let said = entry.language.as_deref().and_then(Language::from_tag);
        let language = said.unwrap_or_else(|| detect(value, Language::default()));
        let found = highlights(value, self.query_in(language), language);
        found.into_iter().filter_map(|found| shown(value, &found)).collect()
    }

    fn query_in(&mut self, language: Language) -> &TextQuery {
        let at = self.known.iter().position(|(known, _)| *known == language).unwrap_or_else(|| {
            let query = TextQuery::new(self.query, Languages::default().with(language), StopWords::Dropped);
            self.known.push((language, query));
            self.known.len() - 1
        });
        // It was found or pushed just now.
        #[allow(clippy::indexing_slicing)]
        &self.known[at].1
    }
}

fn shown(value: &str, found: &muster_retrieval::Highlight) -> Option<Highlight> {
    let (start, end) = (found.snippet.start, found.snippet.end);
    let within = |at: usize| at.saturating_sub(start);
    let matches = found.words.iter().map(|word| (within(word.start), within(word.end))).collect();
    Some(Highlight { start, end, snippet: value.get(start..end)?.to_owned(), matches })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Millis;
    use crate::memory::record::{EntryId, Owner, Place, Space};

    fn entry(value: &str, language: Option<&str>) -> EntryRecord {
        EntryRecord {
            id: EntryId(1),
            place: Place::new(Space::new(Owner::new("key_1"), "default"), "k"),
            value: Arc::from(value),
            tags: vec![],
            thread: None,
            importance: None,
            language: language.map(str::to_owned),
            created_at: Millis(0),
            stored_at: Millis(0),
            expires_at: None,
            version: 1,
            text_version: 1,
            seq: 1,
            kept: vec![],
        }
    }

    #[test]
    fn matches_are_bytes_of_the_snippet_and_words_are_known_by_their_stems() {
        let found = Marker::new("ferries").mark(&entry("Übers Meer: the ferry leaves, the ferry comes.", Some("en")));
        assert_eq!(found.len(), 1);
        let words: Vec<&str> = found[0].matches.iter().map(|(start, end)| &found[0].snippet[*start..*end]).collect();
        assert_eq!(words, ["ferry", "ferry"]);
        assert_eq!(Marker::new("häuser").mark(&entry("Das Haus am See", Some("de"))).len(), 1);
        assert!(Marker::new("train").mark(&entry("the ferry leaves", None)).is_empty());
    }

    #[test]
    fn what_is_looked_at_is_bounded_on_a_letter() {
        let long = entry(&format!("ferry {}", "é".repeat(OF_VALUE)), Some("en"));
        let mut marker = Marker::new("ferry");
        let marked = (0..100).filter(|_| !marker.mark(&long).is_empty()).count();
        assert_eq!((marked, marker.left), (OF_PAGE / OF_VALUE, 0), "a page of long values ends, too");
    }
}
