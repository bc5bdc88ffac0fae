//! Detects sentences that give a field a value other than the actual one. Pure.
//!
//! Only plain statements are evaluated (`coverage is 80 %`, `7 failed`, `no cycles`, `the verdict is clear`), and only
//! about fields that the engine returned once: a name with several values cannot be contradicted.

use super::facts::{Fact, Source};
use super::figures::{self, Figure};

/// Words that connect a value to the preceding words.
const LINKS: &[&str] = &[
    "is", "are", "was", "were", "of", "at", "=", ":", "equals", "only", "just", "stands", "now", "a", "an", "the",
    "still",
];
const BEINGS: &[&str] = &["is", "are", "was", "were"];
const DENIALS: &[&str] = &["not", "never"];
/// Words that link a field and its value.
const MAX_LINKS: usize = 3;

pub(super) fn find(sources: &[&Source], text: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    for sentence in text.split_inclusive(['\n', ';']).flat_map(|line| line.split_inclusive(". ")) {
        let words: Vec<String> = sentence.split_whitespace().flat_map(words).filter(|word| !word.is_empty()).collect();
        for source in sources {
            for (name, facts) in &source.fields {
                if let [fact] = facts.as_slice() {
                    let choices = source.choices.get(name).map(Vec::as_slice).unwrap_or_default();
                    reasons.extend(contradicted(&words, name, fact, choices, &source.label));
                }
            }
        }
    }
    reasons.sort();
    reasons.dedup();
    reasons
}

/// Returns a token's word, and the colon after it as a link of its own.
fn words(token: &str) -> [String; 2] {
    let colon = if token.trim_end_matches(['*', '`', '"']).ends_with(':') { ":" } else { "" };
    [word(token), colon.to_owned()]
}

/// Returns a word without surrounding punctuation.
fn word(token: &str) -> String {
    let around =
        |c: char| matches!(c, '(' | ')' | '[' | ']' | '*' | '_' | '`' | '"' | '“' | '”' | ',' | ';' | '!' | '?');
    token.trim_matches(around).trim_end_matches(['.', ':']).trim_end_matches(around).to_lowercase()
}

fn contradicted(words: &[String], name: &str, fact: &Fact, choices: &[String], label: &str) -> Option<String> {
    let name_words: Vec<&str> = name.split(' ').collect();
    let places = words
        .windows(name_words.len())
        .enumerate()
        .filter(|(_, window)| window.iter().zip(&name_words).all(|(word, name)| word == name));
    for (at, _) in places {
        let (before, after) = (words.get(..at)?, words.get(at + name_words.len()..)?);
        let stated = match fact {
            Fact::Number(number) => denied(before, *number)
                .or_else(|| tied(after, *number))
                .or_else(|| counted(before).filter(|(figure, _)| !figure.states(*number)).map(|(_, word)| word)),
            // A smaller number may refer to some of them.
            Fact::Count(number) => denied(before, *number)
                .or_else(|| tied(after, *number))
                .or_else(|| counted(before).filter(|(figure, _)| figure.value > *number).map(|(_, word)| word)),
            Fact::Truth(truth) => other_truth(before, *truth),
            Fact::Word(word) => other_word(after, word, choices),
        };
        if let Some(stated) = stated {
            let is = match fact {
                Fact::Number(number) | Fact::Count(number) => number.to_string(),
                Fact::Truth(truth) => truth.to_string(),
                Fact::Word(word) => word.clone(),
            };
            return Some(format!("`{stated}` contradicts {label}, whose {name} is {is}"));
        }
    }
    None
}

fn linked(after: &[String]) -> &[String] {
    let links = after.iter().take(MAX_LINKS).take_while(|word| LINKS.contains(&word.as_str())).count();
    after.get(links..).unwrap_or_default()
}

fn read(words: &[String]) -> Option<Figure> {
    let first = words.first()?;
    let figure = figures::figure(first).or_else(|| figures::word(first))?;
    let next = words.get(1).map(String::as_str).unwrap_or_default();
    let figure = figures::factor(next).map_or(figure, |factor| figure.times(factor));
    Some(Figure { percent: figure.percent || next.starts_with('%') || next == "percent", ..figure })
}

/// Recognizes `no cycles` where there are some.
fn denied(before: &[String], number: f64) -> Option<String> {
    let last = before.last()?;
    (matches!(last.as_str(), "no" | "without" | "zero") && number != 0.0).then(|| last.clone())
}

/// Recognizes `coverage is 80`. Without a link it is not a statement about the field: `line 12` is not a number of
/// lines.
fn tied(after: &[String], number: f64) -> Option<String> {
    let tied = linked(after);
    let figure = if tied.len() < after.len() { read(tied) } else { None }?;
    if figure.states(number) { None } else { tied.first().cloned() }
}

/// Recognizes `7 failed`.
fn counted(before: &[String]) -> Option<(Figure, String)> {
    let last = before.last()?;
    let figure = figures::figure(last).or_else(|| figures::word(last))?;
    Some((figure, last.clone()))
}

fn other_truth(before: &[String], truth: bool) -> Option<String> {
    let (last, earlier) = before.split_last()?;
    let (denied, being) = if DENIALS.contains(&last.as_str()) { (true, earlier.last()?) } else { (false, last) };
    (BEINGS.contains(&being.as_str()) && denied == truth)
        .then(|| if denied { format!("{being} not") } else { being.clone() })
}

fn other_word(after: &[String], word: &str, choices: &[String]) -> Option<String> {
    let tied = linked(after);
    let stated = tied.first().filter(|_| tied.len() < after.len())?;
    let is_choice = choices.iter().any(|choice| choice.eq_ignore_ascii_case(stated));
    (is_choice && stated != word).then(|| stated.clone())
}
