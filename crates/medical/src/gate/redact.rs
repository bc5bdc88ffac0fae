//! Removes from a message what could name a person.

use super::plain::PLAIN;
use super::words::visible;
use crate::base::Base;
use crate::text::{read, sentences};

/// What stands in place of a removed word.
const REMOVED: &str = "[removed]";
/// Words behind which a name stands.
const BEFORE_NAMES: &[&str] = &[
    "mr",
    "mrs",
    "ms",
    "miss",
    "dr",
    "prof",
    "professor",
    "sir",
    "madam",
    "nurse",
    "sister",
    "brother",
    "aunt",
    "uncle",
    "name",
    "named",
    "called",
    "signed",
    "regards",
    "am",
    "im",
    "dear",
];
/// Longest number that is a measured value and no identifier.
const MAX_DIGITS: usize = 3;

/// Returns a message without addresses, long numbers, dates and words that may
/// be names: every word that is written with a capital letter, or that follows
/// a title, and that neither the lexicon nor the list of plain words has. What
/// is removed wrongly costs a model a word; the facts are complete without it.
#[must_use]
pub fn redact(base: &Base, message: &str) -> String {
    let message = visible(message);
    let mut out: Vec<String> = Vec::new();
    let mut before = String::new();
    for word in message.split_whitespace() {
        let plain: Vec<String> = sentences(word).into_iter().flat_map(|s| s.tokens).map(|token| token.word).collect();
        let first = plain.first().cloned().unwrap_or_default();
        let last = plain.last().cloned().unwrap_or_default();
        let known = |word: &String| {
            PLAIN.contains(&word.as_str())
                || matches!(word.as_str(), "no" | "not" | "im" | "ive" | "my" | "me")
                || !read(&base.lexicon, word, &["en"]).findings.is_empty()
        };
        let capital = word.chars().any(char::is_uppercase);
        let named = BEFORE_NAMES.contains(&before.as_str()) || capital;
        let hidden = is_address(word) || is_identifier(word) || (named && !plain.iter().all(known));
        if hidden {
            if out.last().is_none_or(|last| last != REMOVED) {
                out.push(REMOVED.to_owned());
            }
        } else {
            out.push(word.to_owned());
        }
        // "am", "is": a name may follow the second word too ("name is Ada").
        before = if first == "is" && BEFORE_NAMES.contains(&before.as_str()) { before } else { last };
    }
    out.join(" ")
}

fn is_address(word: &str) -> bool {
    let lower = word.to_lowercase();
    word.contains('@') || lower.contains("://") || lower.starts_with("www.") || lower.contains(".com")
}

/// A number of more than three digits, or one with more than one separator: a
/// telephone number, a date, a record number.
fn is_identifier(word: &str) -> bool {
    let digits = word.chars().filter(|c| c.is_numeric()).count();
    let separators = word.chars().filter(|c| matches!(c, '-' | '.' | ':' | '+')).count();
    // 120/80 is a blood pressure, 1/2/2020 a date.
    let slashes = word.matches('/').count();
    let pressure = slashes == 1 && digits <= 2 * MAX_DIGITS;
    (digits > MAX_DIGITS && !pressure) || (digits > 0 && (slashes > 1 || separators > 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(message: &str) -> String {
        redact(crate::shared().unwrap(), message)
    }

    #[test]
    fn names_addresses_and_numbers_are_removed() {
        let text = redacted(
            "My name is ada lovelace, I live in Uxbridge. Call me on +44 7700 900123 or ada@example.org. Born 10/12/1815, \
             NHS 9434765919. I have chest pain, BP 120/80 and 38.5 degrees.",
        );
        for part in ["ada", "Uxbridge", "7700", "900123", "example.org", "1815", "9434765919"] {
            assert!(!text.contains(part), "{part} is in {text}");
        }
        for part in ["chest pain", "120/80", "38.5"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_title_hides_the_word_behind_it_in_any_case() {
        let text = redacted("my doctor, dr hastings, saw me with fever");
        assert!(!text.contains("hastings") && text.contains("fever"), "{text}");
    }
}
