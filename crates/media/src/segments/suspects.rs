//! Translated segments that should be looked at.

use super::{LanguageOf, digits};

/// Characters from which the language of a segment can be detected.
const TELLING: usize = 30;
/// How often a word or a run of words may follow upon itself.
const MAX_REPEATS: usize = 3;

/// A segment that should be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    /// Number of the segment, from 0.
    pub index: usize,
    /// Why; at least one.
    pub reasons: Vec<SuspectReason>,
}

/// Why a segment should be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SuspectReason {
    /// Much longer or shorter than its source.
    Length,
    /// Words follow upon themselves.
    Repeats,
    /// It is in another language than the one translated to.
    Language,
    /// Its numbers are others.
    Numbers,
    /// Nothing usable came back; it stands in the language of the source.
    Untranslated,
}

impl SuspectReason {
    /// The code of an answer.
    pub fn code(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Repeats => "repeats",
            Self::Language => "language",
            Self::Numbers => "numbers",
            Self::Untranslated => "untranslated",
        }
    }
}

/// Reasons to look at a translation. Marks stand in both texts alike.
pub(super) fn reasons(source: &str, output: &str, to: &str, language_of: Option<LanguageOf<'_>>) -> Vec<SuspectReason> {
    let mut reasons = Vec::new();
    let (before, after) = (weight(source), weight(output));
    if after > 3 * before + 30 || before > 3 * after + 30 {
        reasons.push(SuspectReason::Length);
    }
    if repeats(output) > MAX_REPEATS.max(repeats(source)) {
        reasons.push(SuspectReason::Repeats);
    }
    let telling = output.chars().filter(|it| it.is_alphabetic()).count() >= TELLING;
    let language = language_of.filter(|_| telling).and_then(|language_of| language_of(output));
    if language.is_some_and(|language| language != to) {
        reasons.push(SuspectReason::Language);
    }
    if !digits::same(source, output) {
        reasons.push(SuspectReason::Numbers);
    }
    reasons
}

/// Length in Latin letters: a character of Han or Kana stands for some three of them, one of Hangul for two.
fn weight(text: &str) -> usize {
    let of = |character: char| match character {
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => 3,
        '\u{ac00}'..='\u{d7a3}' => 2,
        _ => 1,
    };
    text.chars().map(of).sum()
}

/// How often a run of one to four words stands in a row.
fn repeats(text: &str) -> usize {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|it: char| !it.is_alphanumeric()).to_lowercase())
        .collect();
    let mut most = usize::from(!words.is_empty());
    for length in 1..=4 {
        let mut same = 0;
        for (word, next) in words.iter().zip(words.iter().skip(length)) {
            same = if word == next && !word.is_empty() { same + 1 } else { 0 };
            most = most.max(same / length + 1);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str, output: &str) -> Vec<SuspectReason> {
        reasons(source, output, "pt", Some(&|text| text.contains("english").then(|| "en".to_owned())))
    }

    #[test]
    fn a_usual_translation_is_no_suspect() {
        assert_eq!(of("Hello, how are you today?", "Olá, como você está hoje?"), []);
        assert_eq!(of("very very long", "muito muito longo"), []);
    }

    #[test]
    fn each_reason_is_found() {
        assert_eq!(of("Hello", &"palavra diferente outra coisa ".repeat(2)), [SuspectReason::Length]);
        assert_eq!(of("ha no more of it", "não não não não mais"), [SuspectReason::Repeats]);
        assert_eq!(of("one two", "é o é o é o é o"), [SuspectReason::Repeats]);
        assert_eq!(
            of("a text that is long enough", "this one is still in english and long"),
            [SuspectReason::Language]
        );
        assert_eq!(of("take 5 mg", "tome 50 mg"), [SuspectReason::Numbers]);
    }
}
