//! Tokens: numbers, words, signs.

use unicode_normalization::char::is_combining_mark;

use crate::tokens::fold;

use super::numbers;

/// Bytes of the longest word that may mean something here.
const MAX_WORD: usize = 60;

/// A token of a text.
#[derive(Debug, Clone)]
pub(super) struct Token<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    /// As written.
    pub(super) text: &'a str,
    /// In lower case without diacritics; empty for signs and long words.
    pub(super) folded: String,
    /// The value of a number written in digits.
    pub(super) number: Option<f64>,
    /// Whether a space or nothing stands before it.
    pub(super) spaced: bool,
    /// Whether a line or a fact of another kind ends before it.
    pub(super) apart: bool,
}

impl Token<'_> {
    /// Whether it is this sign.
    pub(super) fn is(&self, sign: &str) -> bool {
        self.text == sign
    }

    /// The value of a number of digits only, and how many there are.
    pub(super) fn digits(&self) -> Option<(u32, usize)> {
        let count = self.text.chars().count();
        let plain = self.number.is_some() && count <= 4 && self.text.chars().all(char::is_numeric);
        let value = self.number.filter(|_| plain)?;
        Some((value as u32, count))
    }
}

/// Returns the tokens outside of `taken`, which is sorted.
pub(super) fn tokens<'a>(text: &'a str, taken: &[(usize, usize)]) -> Vec<Token<'a>> {
    let mut found: Vec<Token<'a>> = Vec::new();
    let mut taken = taken.iter().copied().peekable();
    let (mut at, mut spaced, mut apart) = (0, true, true);
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if let Some((_, end)) = taken.next_if(|(start, _)| *start <= at) {
            at = at.max(end);
            (spaced, apart) = (true, true);
            continue;
        }
        let limit = taken.peek().map_or(text.len(), |(start, _)| *start);
        let rest = text.get(at..limit).unwrap_or_default();
        if letter.is_whitespace() {
            apart |= letter == '\n';
            spaced = true;
            at += letter.len_utf8();
            continue;
        }
        let (length, number) = if numbers::digit(letter).is_some() {
            let (length, value) = numbers::read(rest);
            (length, Some(value))
        } else if letter.is_alphabetic() {
            (word(rest), None)
        } else {
            (letter.len_utf8(), None)
        };
        let length = length.max(letter.len_utf8());
        let token = rest.get(..length).unwrap_or_default();
        let folded = if letter.is_alphabetic() && length <= MAX_WORD { fold(token) } else { String::new() };
        found.push(Token { start: at, end: at + length, text: token, folded, number, spaced, apart });
        (spaced, apart) = (false, false);
        at += length;
    }
    found
}

/// Bytes of a word: letters, marks, digits after letters, superscripts; an apostrophe or hyphen between letters ends it.
fn word(text: &str) -> usize {
    let inside = |letter: char| letter.is_alphanumeric() || is_combining_mark(letter) || matches!(letter, '²' | '³');
    text.find(|letter: char| !inside(letter)).unwrap_or(text.len())
}
