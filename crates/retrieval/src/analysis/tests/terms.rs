use super::{names, terms};
use crate::analysis::{Languages, each_query_word};
use crate::{Language, analyze};

/// The example of UAX #29, table 2 (word boundaries).
#[test]
fn words_are_split_by_uax_29() {
    let text = "The quick (“brown”) fox can’t jump 32.3 feet, right?";
    assert_eq!(
        names(text, Language::Other),
        ["32.3", "brown", "can't", "feet", "fox", "jump", "quick", "right", "the"]
    );
}

#[test]
fn names_are_indexed_whole_and_by_their_words() {
    assert_eq!(names("snake_case", Language::Other), ["case", "snake", "snake_case"]);
    assert_eq!(names("HTTPServer", Language::Other), ["http", "httpserver", "server"]);
    assert_eq!(names("parseRequestLine", Language::Other), ["line", "parse", "parserequestline", "request"]);
    assert_eq!(names("src/main.rs", Language::Other), ["main", "main.rs", "rs", "src", "src/main.rs"]);
    let mail = ["doe", "example", "example.org", "john", "john.doe", "john.doe@example.org", "org"];
    assert_eq!(names("John.Doe@example.org", Language::Other), mail);
    assert_eq!(names("AB-12", Language::Other), ["12", "ab", "ab-12"]);
    assert_eq!(names("well-known", Language::Other), ["known", "well"]);
    assert_eq!(names("U.S.A.", Language::Other), ["u.s.a", "usa"]);
    assert_eq!(names("AT&T", Language::Other), ["at", "at&t", "t"]);
}

#[test]
fn numbers_are_indexed_without_thousands_separators() {
    assert_eq!(names("1,234,567", Language::English), ["1234567"]);
    assert_eq!(names("3.14", Language::English), ["3.14"]);
    assert_eq!(names("10:30", Language::English), ["10", "10:30", "30"]);
}

#[test]
fn scripts_without_spaces_are_indexed_by_bigrams() {
    // Lucene's CJKBigramFilter: 多くの学生 as 多く くの の学 学生; ideographs alone besides.
    let mut expected = ["多く", "くの", "の学", "学生", "多", "学", "生"];
    expected.sort_unstable();
    assert_eq!(names("多くの学生", Language::Other), expected);
    assert_eq!(names("ทะเล", Language::Other), ["ทะ", "ะเ", "เล"]);
    assert_eq!(names("한국어", Language::Other), ["국어", "한국"]);
    // Half width kana with its voicing mark is one character of full width.
    assert_eq!(names("ｶﾞｽ", Language::Other), names("ガス", Language::Other));
    assert_eq!(names("東京tower2", Language::Other), ["tower2", "京", "東", "東京"]);
}

#[test]
fn width_case_and_invisible_characters_are_ignored() {
    assert_eq!(names("ＦＬＯＯＤ", Language::Other), ["flood"]);
    assert_eq!(names("flo\u{ad}od", Language::Other), ["flood"]);
    assert_eq!(names("\u{202e}flood\u{202c}", Language::Other), ["flood"]);
    assert_eq!(names("ﬁre", Language::Other), ["fire"]);
    assert_eq!(names("İstanbul", Language::Turkish), names("istanbul", Language::Turkish));
}

#[test]
fn words_of_different_texts_of_an_entry_are_not_adjacent() {
    let analyzed = analyze(&["flood gate", "flood"], Language::Other);
    assert_eq!(analyzed.length(), 3);
    let all: Vec<(&str, Vec<u32>)> = analyzed.terms().map(|(term, at)| (term, at.collect())).collect();
    assert_eq!(all[0].0, "flood");
    assert_eq!(all[0].1[0], 0);
    assert!(all[0].1[1] > 2, "{all:?}");
    assert_eq!(all[1], ("gate", vec![1]));
    assert_eq!(terms("a b a", Language::Other), [("a".to_owned(), 2), ("b".to_owned(), 1)]);
}

#[test]
fn query_words_have_the_stems_of_every_requested_language() {
    let languages: Languages = [Language::English, Language::German, Language::Other].into_iter().collect();
    let mut all = Vec::new();
    each_query_word("aufeinanderfolgenden", &mut |word| all.extend(word.alternatives(languages)));
    assert_eq!(all.iter().map(|term| &**term).collect::<Vec<_>>(), ["aufeinanderfolgenden", "aufeinanderfolg"]);
}
