use proptest::prelude::*;

use crate::analysis::MAX_WORD;
use crate::text::StopWords;
use crate::{Language, Languages, TextQuery, analyze, detect, highlights};

fn analyze_everywhere(text: &str) {
    let all: Languages = Language::ALL.into_iter().collect();
    let query = TextQuery::new(text, all, StopWords::Dropped);
    for language in [Language::English, Language::Other, Language::Arabic] {
        let analyzed = analyze(&[text, text], language);
        for (term, positions) in analyzed.terms() {
            assert!(!term.is_empty() && term.chars().count() <= 2 * MAX_WORD, "{term}");
            assert!(positions.is_sorted_by(|a, b| a < b));
        }
        for highlight in highlights(text, &query, language) {
            assert!(text.get(highlight.snippet.clone()).is_some_and(|snippet| snippet.chars().count() <= 200));
            assert!(highlight.words.iter().all(|word| text.get(word.clone()).is_some()));
        }
    }
    assert!(Language::ALL.contains(&detect(text, Language::English)));
}

/// 256 KiB of text that is costly if examined repeatedly.
#[test]
fn hostile_texts_are_analysed_in_linear_time() {
    let inputs = [
        "a",
        "\u{301}",
        "a\u{301}",
        "\u{200d}",
        "🇩🇪",
        "👩\u{200d}",
        "の",
        "ｶﾞ",
        "\u{fdfa}",
        "a.",
        "1,",
        "a_",
        "aB",
        "a@",
        "-a",
        "'",
        "\u{202e}",
        "\0",
        "\u{1}a ",
        "<a> ",
        "(((",
        "\\\\",
        "กิ",
        "각",
        "\u{1112}",
        "İ",
    ];
    for input in inputs {
        analyze_everywhere(&input.repeat(64 * 1024 / input.len()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_string_is_accepted_as_text(text in "\\PC{0,60}|[\\x00-\\x7f]{0,80}|[a-zA-Z'_.:@/0-9 -]{0,60}|\\p{any}{0,40}") {
        analyze_everywhere(&text);
    }

    /// Stemmers receive letters of any script.
    #[test]
    fn stemmers_accept_any_word(word in "[a-zà-ÿ'’]{1,12}|[а-яёїґ]{1,12}|[α-ώ]{1,12}|[ء-ي]{1,12}|[அ-ஹா-்]{1,12}|\\p{L}{1,8}|[a-zäöåõűőığşçñ]{1,16}") {
        for language in Language::ALL {
            prop_assert!(analyze(&[&word], language).length() <= 12);
        }
    }
}
