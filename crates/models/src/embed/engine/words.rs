//! Splits text into words as BERT's uncased models do: cleaned, lower-cased, without accents, with punctuation and CJK
//! ideographs as separate words.
//!
//! Source: `BasicTokenizer` of google-research/bert tokenization.py. Where they differ, this follows Hugging Face's
//! `BertNormalizer` and `BertPreTokenizer`, with which the model was trained: unassigned characters stay.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Maximum characters of a word that is looked up.
pub(super) const MAX_WORD: usize = 100;

/// One word.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    Text(String),
    /// More than [`MAX_WORD`] characters; no vocabulary contains such a word.
    TooLong,
}

/// Iterates over the words of a text lazily.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    let cleaned = text.chars().filter_map(clean).flat_map(space_ideographs);
    let plain = cleaned.nfd().filter(|c| c.general_category() != GeneralCategory::NonspacingMark);
    Words { characters: plain.flat_map(char::to_lowercase).peekable() }
}

struct Words<I: Iterator<Item = char>> {
    characters: std::iter::Peekable<I>,
}

impl<I: Iterator<Item = char>> Iterator for Words<I> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        while self.characters.next_if(|c| c.is_whitespace()).is_some() {}
        let first = self.characters.next()?;
        let mut word = String::from(first);
        if is_punctuation(first) {
            return Some(Word::Text(word));
        }
        let mut length = 1_usize;
        while let Some(c) = self.characters.next_if(|c| !c.is_whitespace() && !is_punctuation(*c)) {
            length += 1;
            if length <= MAX_WORD {
                word.push(c);
            }
        }
        Some(if length > MAX_WORD { Word::TooLong } else { Word::Text(word) })
    }
}

/// Drops control characters, and maps any white space to a space.
fn clean(c: char) -> Option<char> {
    if matches!(c, '\t' | '\n' | '\r') {
        return Some(' ');
    }
    let category = c.general_category();
    let control = matches!(category, GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse);
    if control || c == '\u{fffd}' {
        return None;
    }
    Some(if c.is_whitespace() { ' ' } else { c })
}

/// Makes an ideograph a word of its own.
fn space_ideographs(c: char) -> impl Iterator<Item = char> {
    let around = is_ideograph(c).then_some(' ');
    around.into_iter().chain([c]).chain(around)
}

/// The blocks of `_is_chinese_char`: not Hiragana, Katakana or Hangul, which are written with spaces or like letters.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B820..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

/// Every ASCII character that is not a letter, digit or space counts, for example `$`, which Unicode classifies as a
/// symbol.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.general_category_group() == GeneralCategoryGroup::Punctuation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let plain = |word| match word {
            Word::Text(text) => text,
            Word::TooLong => "TOO LONG".to_owned(),
        };
        words(text).map(plain).collect()
    }

    /// The examples of google-research/bert tokenization_test.py.
    #[test]
    fn words_match_the_tests_of_bert() {
        assert_eq!(split("ah\u{535A}\u{63A8}zz"), ["ah", "\u{535A}", "\u{63A8}", "zz"]);
        assert_eq!(split(" \tHeLLo!how  \n Are yoU?  "), ["hello", "!", "how", "are", "you", "?"]);
        assert_eq!(split("H\u{E9}llo"), ["hello"]);
        for space in [' ', '\t', '\r', '\n', '\u{A0}'] {
            assert_eq!(clean(space), Some(' '));
        }
        assert_eq!((clean('A'), clean('-'), clean('\u{5}'), clean('\u{ad}')), (Some('A'), Some('-'), None, None));
        assert!("-$`.".chars().all(is_punctuation) && !is_punctuation('A') && !is_punctuation(' '));
    }

    #[test]
    fn words_are_read_up_to_their_bound_and_text_only_as_far_as_needed() {
        assert_eq!(split(&"a".repeat(MAX_WORD)), ["a".repeat(MAX_WORD)]);
        assert_eq!(split(&format!("{} b", "a".repeat(MAX_WORD + 1))), ["TOO LONG", "b"]);
        assert_eq!(words(&"a ".repeat(10_000_000)).take(2).count(), 2);
    }
}
