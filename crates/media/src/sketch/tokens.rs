//! Tokens of a text: words, single characters where words are written without spaces, emoji.

use unicode_segmentation::UnicodeSegmentation;

use super::fold::{Folder, is_continuous, is_invisible};
use super::kinds::Kinds;

/// Tokens of a text that are read; 1,000 characters have no more.
pub(super) const MAX_TOKENS: usize = 1_000;

/// A word, a character or an emoji of a text.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) raw: String,
    /// Number of the clause, counted by punctuation.
    pub(super) clause: usize,
    /// One character of a script that is written without spaces.
    pub(super) continuous: bool,
    /// The picture of an emoji.
    pub(super) picture: Option<u16>,
}

/// Splits a text into tokens. Marks beyond four on a letter are dropped with the letter's other bounds.
pub(super) fn tokenize(text: &str) -> Vec<Token> {
    let mut tokens = Tokens { found: Vec::new(), word: String::new(), clause: 0 };
    for cluster in text.graphemes(true) {
        tokens.take(cluster);
        if tokens.found.len() >= MAX_TOKENS {
            break;
        }
    }
    tokens.end_word();
    tokens.found.truncate(MAX_TOKENS);
    tokens.found
}

struct Tokens {
    found: Vec<Token>,
    word: String,
    clause: usize,
}

impl Tokens {
    fn take(&mut self, cluster: &str) {
        if let Some(picture) = Kinds::get().find(cluster) {
            self.end_word();
            self.push(cluster.to_owned(), false, Some(picture));
            return;
        }
        let Some(first) = cluster.chars().find(|c| !is_invisible(*c)) else {
            self.end_word();
            return;
        };
        if is_continuous(first) {
            self.end_word();
            self.push(cluster.chars().take(5).collect(), true, None);
        } else if first.is_alphanumeric() {
            self.word.extend(cluster.chars().filter(|c| !is_invisible(*c)).take(5));
        } else {
            self.end_word();
            if matches!(
                first,
                '.' | ',' | ';' | ':' | '!' | '?' | '、' | '。' | '，' | '；' | '،' | '।' | '(' | ')' | '\u{2014}'
            ) {
                self.clause += 1;
            } else if !first.is_whitespace() && !first.is_ascii() && first as u32 > 0x2190 {
                // A symbol or an emoji without a picture: listed as unmatched.
                self.push(cluster.chars().take(8).collect(), false, None);
            }
        }
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            let word = std::mem::take(&mut self.word);
            self.push(word, false, None);
        }
    }

    fn push(&mut self, raw: String, continuous: bool, picture: Option<u16>) {
        self.found.push(Token { raw, clause: self.clause, continuous, picture });
    }
}

/// Folded words of a name, joined as [`join`] joins them.
pub(super) fn key(text: &str, folder: &Folder) -> (String, Option<String>) {
    let words: Vec<(String, bool)> =
        tokenize(text).into_iter().map(|token| (folder.fold(&token.raw), token.continuous)).collect();
    let parts: Vec<(&str, bool)> = words.iter().map(|(word, continuous)| (word.as_str(), *continuous)).collect();
    let stems: Option<Vec<(String, bool)>> =
        words.iter().map(|(word, continuous)| Some((folder.stem(word)?, *continuous))).collect();
    let stem = stems.map(|stems| join(stems.iter().map(|(stem, continuous)| (stem.as_str(), *continuous))));
    (join(parts.into_iter()), stem)
}

/// Joins words with spaces, characters of scripts without spaces directly.
pub(super) fn join<'a>(words: impl Iterator<Item = (&'a str, bool)>) -> String {
    let mut joined = String::new();
    let mut before = true;
    for (word, continuous) in words {
        let adjoins = before && continuous;
        if !joined.is_empty() && !adjoins {
            joined.push(' ');
        }
        joined.push_str(word);
        before = continuous;
    }
    joined
}
