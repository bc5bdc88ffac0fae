//! Stop words of 28 languages.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The stop words of a language, in lower case.
pub type StopWords = HashSet<&'static str>;

static LISTS: LazyLock<HashMap<&'static str, StopWords>> = LazyLock::new(|| {
    let lines = include_str!("../data/stop_words.tsv").lines().skip(1).filter_map(|line| line.split_once('\t'));
    lines.map(|(language, words)| (language, words.split(' ').collect())).collect()
});

/// Returns the stop words of a language by its ISO 639-1 code, with or without a region; `None` if there is no list.
pub fn of(language: &str) -> Option<&'static StopWords> {
    let language = language.split(['-', '_']).next().unwrap_or_default();
    LISTS.get(if matches!(language, "no" | "nn") { "nb" } else { language })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert!(of("en").unwrap().contains("the") && !of("en").unwrap().contains("fire"));
        assert!(of("pt-BR").unwrap().contains("não"));
        assert!(of("no").is_some());
        assert!(of("xx").is_none());
        assert_eq!(LISTS.len(), 28);
    }
}
