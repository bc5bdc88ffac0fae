use crate::{Highlight, Language, Languages, StopWords, TextQuery, highlights};

fn marked(value: &str, query: &str, language: Language) -> Vec<Highlight> {
    let languages = Languages::default().with(language).with(Language::English);
    highlights(value, &TextQuery::new(query, languages, StopWords::Dropped), language)
}

fn words<'a>(value: &'a str, highlight: &Highlight) -> Vec<&'a str> {
    highlight.words.iter().map(|word| &value[word.clone()]).collect()
}

#[test]
fn matching_words_are_marked_by_stem_as_written() {
    let value = "The Pumps flooded; a pump's flood.";
    let found = marked(value, "flooding pump", Language::English);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].snippet, 0..value.len());
    assert_eq!(words(value, &found[0]), ["Pumps", "flooded", "pump's", "flood"]);
    assert_eq!(marked(value, "storm", Language::English), []);
    assert_eq!(marked("", "storm", Language::English), []);
    assert_eq!(marked(value, "", Language::English), []);
}

#[test]
fn the_part_with_most_query_words_is_selected() {
    let filler = "nothing here to see ".repeat(40);
    let value = format!("flood {filler}flood at the gate of the river {filler}gate");
    let found = marked(&value, "river gate flood", Language::English);
    assert_eq!(found.len(), 1, "{found:?}");
    let snippet = &value[found[0].snippet.clone()];
    assert!(snippet.contains("flood at the gate of the river"), "{snippet}");
    assert!(snippet.chars().count() <= 200);
    assert!(!snippet.starts_with(char::is_whitespace) && snippet.ends_with(|c: char| c.is_alphabetic()), "{snippet:?}");
    assert!(snippet.split(' ').all(|word| value.split(' ').any(|whole| whole == word)), "{snippet:?} cuts a word");
}

#[test]
fn distant_words_have_separate_snippets_at_most_three() {
    let filler = "nothing here to see ".repeat(40);
    let value = format!("one {filler}two {filler}three {filler}four");
    let found = marked(&value, "four three two one", Language::Other);
    assert_eq!(found.len(), 3);
    assert!(found.windows(2).all(|pair| pair[0].snippet.end <= pair[1].snippet.start));
    assert!(found.iter().all(|highlight| highlight.words.len() == 1));
}

#[test]
fn adjacent_bigrams_are_marked_as_one_range() {
    let value = "大雨で東京都が浸水した";
    let found = marked(value, "東京都", Language::Other);
    assert_eq!(words(value, &found[0]), ["東京都"]);
}

#[test]
fn words_longer_than_a_snippet_are_cut() {
    let value = "é".repeat(500);
    let found = marked(&value, &value, Language::Other);
    assert_eq!(value[found[0].snippet.clone()].chars().count(), 200);
}

#[test]
fn names_are_marked_by_their_words() {
    let value = "see parseRequestLine in src/http/parse.rs";
    let found = marked(value, "request", Language::English);
    assert_eq!(words(value, &found[0]), ["parseRequestLine"]);
    let found = marked(value, "src/http/parse.rs", Language::English);
    assert_eq!(words(value, &found[0]), ["parseRequestLine", "src/http/parse.rs"]);
}
