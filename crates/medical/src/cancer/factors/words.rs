//! Words of one entry, and the small questions that reading asks of them.

use crate::text::{Token, sentences};

/// The normalised words of an entry, without regard to sentences.
#[derive(Debug)]
pub struct Words(Vec<Token>);

/// Words read of an entry at most.
const MOST_WORDS: usize = 120;

impl Words {
    pub fn of(entry: &str) -> Self {
        Self(sentences(entry).into_iter().flat_map(|s| s.tokens).take(MOST_WORDS).collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn at(&self, i: usize) -> &str {
        self.0.get(i).map_or("", |t| t.word.as_str())
    }

    /// A slash stands before the word.
    pub fn after_slash(&self, i: usize) -> bool {
        self.0.get(i).is_some_and(|t| t.slash)
    }

    pub fn has(&self, words: &[&str]) -> bool {
        self.find(words).is_some()
    }

    /// The first place of any of these words.
    pub fn find(&self, words: &[&str]) -> Option<usize> {
        (0..self.len()).find(|&i| words.contains(&self.at(i)))
    }

    /// The place of a row of words.
    pub fn row(&self, row: &[&str]) -> Option<usize> {
        (0..self.len()).find(|&i| row.iter().enumerate().all(|(k, w)| self.at(i + k) == *w))
    }

    /// Whether "no", "never" or the like stands up to five words before.
    pub fn denied(&self, at: usize) -> bool {
        (at.saturating_sub(5)..at)
            .any(|i| matches!(self.at(i), "no" | "not" | "never" | "without" | "denies" | "nor" | "negative" | "none"))
    }

    /// A number in digits or as a word up to twenty; a unit may be glued to it.
    pub fn number(&self, at: usize) -> Option<f64> {
        let word = self.at(at);
        if let Some(n) = NUMBERS.iter().position(|w| *w == word) {
            return u8::try_from(n).ok().map(f64::from);
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse().ok().filter(|n: &f64| n.is_finite() && *n < 1e6)
    }

    /// The letters glued to a number: "15mm".
    pub fn unit(&self, at: usize) -> &str {
        let word = self.at(at);
        word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
    }

    /// The first number within `reach` words after a place, inside bounds.
    pub fn number_after(&self, at: usize, reach: usize, least: f64, most: f64) -> Option<f64> {
        (at + 1..=at + reach).find_map(|i| self.number(i)).filter(|n| (least..=most).contains(n))
    }

    /// The number one or two words before a place, inside bounds.
    pub fn number_before(&self, at: usize, least: f64, most: f64) -> Option<f64> {
        let near = [at.checked_sub(1), at.checked_sub(2)];
        near.into_iter().flatten().find_map(|i| self.number(i)).filter(|n| (least..=most).contains(n))
    }
}

const NUMBERS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
