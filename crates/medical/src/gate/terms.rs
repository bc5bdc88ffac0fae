//! Words of a sentence that must be facts: numbers, doses, drugs, conditions;
//! and those that must not be there: reassurance, talk of instructions.

use super::lists::{DOSE_UNITS, NUMBER_WORDS, is_drug_like};
use super::plain::PLAIN;
use super::words::numbers;
use super::{Check, FactSheet};
use crate::base::Base;
use crate::text::{Sentence, Status, read, sentences};
use std::collections::BTreeSet;

/// Beginnings of sentences that repeat what the message said.
const REPEATS: &[&str] = &[
    "you said",
    "you mentioned",
    "you described",
    "you reported",
    "you wrote",
    "you have described",
    "you have mentioned",
    "you have reported",
    "the message mentions",
    "the message says",
    "the message describes",
    "what was understood",
];

/// Words that turn a statement round. They are accepted only as the facts have
/// them.
const DENIALS: &[&str] = &[
    "no",
    "not",
    "never",
    "nothing",
    "none",
    "nobody",
    "without",
    "neither",
    "nor",
    "cannot",
    "cant",
    "dont",
    "doesnt",
    "isnt",
    "arent",
    "wont",
    "neednt",
    "shouldnt",
    "unlikely",
    "unnecessary",
    "needless",
    "instead",
    "rather",
    "skip",
    "hardly",
    "barely",
    "avoid",
    "against",
];

/// Words and rows of words that play something down.
const REASSURING: &[&str] = &[
    "worry",
    "worried",
    "worries",
    "worrying",
    "reassure",
    "reassured",
    "reassuring",
    "rest assured",
    "harmless",
    "benign",
    "minor",
    "trivial",
    "fine",
    "okay",
    "ok",
    "safe",
    "safely",
    "healthy",
    "normal",
    "usual",
    "mild",
    "mildly",
    "relax",
    "calm",
    "low risk",
    "no risk",
    "can wait",
    "wait and see",
    "watch and wait",
    "will pass",
    "goes away",
    "go away",
    "on its own",
    "by itself",
    "just a",
    "only a",
    "just",
    "simply",
    "merely",
    "probably",
    "most likely",
    "nothing serious",
    "good news",
    "all clear",
    "exaggerated",
    "overreacting",
    "ignore",
    "disregard",
    "forget",
];

/// Words with which a text speaks of its instructions or of itself.
const INSTRUCTIONS: &[&str] = &[
    "instruction",
    "instructions",
    "instructed",
    "prompt",
    "system",
    "jailbreak",
    "override",
    "developer",
    "pretend",
    "pretending",
    "as requested",
    "as you asked",
    "as you wished",
    "you asked me",
    "as an ai",
    "language model",
    "my rules",
    "your rules",
    "the rules",
    "rules",
    "assistant",
    "chatbot",
    "sure",
    "certainly",
    "of course",
    "ignoring",
    "self_care",
    "triage",
];

/// Whether a sentence says anything clinical. Only what repeats recognised
/// facts of the message does not; anything else that has three words might.
pub(super) fn is_clinical(base: &Base, facts: &FactSheet, text: &str) -> bool {
    let all = sentences(text);
    let words: Vec<&str> = all.iter().flat_map(|s| &s.tokens).map(|token| token.word.as_str()).collect();
    let row = words.join(" ");
    let repeats = REPEATS.iter().any(|begin| row == *begin || row.starts_with(&format!("{begin} ")));
    if repeats {
        let findings = read(&base.lexicon, text, &["en"]).findings;
        return findings.iter().any(|finding| !facts.known.concepts.contains(&finding.concept));
    }
    words.len() >= 3 || !read(&base.lexicon, text, &["en"]).findings.is_empty()
}

/// The checks that a sentence fails by its words.
pub(super) fn fails(base: &Base, facts: &FactSheet, text: &str) -> BTreeSet<Check> {
    let mut failed = BTreeSet::new();
    for sentence in sentences(text) {
        amounts(facts, &sentence, &mut failed);
        rows(facts, &sentence, &mut failed);
        terms(facts, &sentence, &mut failed);
    }
    for finding in read(&base.lexicon, text, &["en"]).findings {
        if !facts.known.concepts.contains(&finding.concept) {
            failed.insert(Check::Condition);
        }
        if finding.status == Status::Absent && !facts.known.denied.contains(&finding.concept) {
            failed.insert(Check::Reassurance);
        }
    }
    failed
}

/// Numbers and doses.
fn amounts(facts: &FactSheet, sentence: &Sentence, failed: &mut BTreeSet<Check>) {
    for (at, token) in sentence.tokens.iter().enumerate() {
        let word = token.word.as_str();
        let digits: Vec<String> = numbers(word).collect();
        let written = NUMBER_WORDS.iter().find(|(name, _)| *name == word);
        if digits.is_empty() && written.is_none() && !word.chars().any(|c| c.is_numeric() && !c.is_ascii()) {
            continue;
        }
        let known = match written {
            Some((name, digit)) => facts.known.has_row(name) || facts.known.has_number(digit),
            None => !digits.is_empty() && digits.iter().all(|number| facts.known.has_number(number)),
        };
        if !known {
            failed.insert(Check::Number);
        }
        // "500 mg" or "500mg".
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let next = sentence.word(at + 1);
        let of = |unit: &str| DOSE_UNITS.contains(&unit);
        let row = if of(next) { format!("{word} {next}") } else { word.to_owned() };
        if (of(next) || (!digits.is_empty() && of(unit))) && (facts.is_public() || !facts.known.has_row(&row)) {
            failed.insert(Check::Dose);
        }
    }
}

/// Denials, reassurance and talk of instructions.
fn rows(facts: &FactSheet, sentence: &Sentence, failed: &mut BTreeSet<Check>) {
    let words: Vec<&str> = sentence.tokens.iter().map(|token| token.word.as_str()).collect();
    for (at, word) in words.iter().enumerate() {
        // A denial with what follows it, as in the facts: "do not drive".
        if DENIALS.contains(word) {
            let row = words.get(at..(at + 3).min(words.len())).unwrap_or_default().join(" ");
            let rest = words.get(at..).unwrap_or_default().join(" ");
            if !facts.known.has_row(&row) && !facts.known.denies(&rest) {
                failed.insert(Check::Reassurance);
            }
        }
    }
    let row = format!(" {} ", words.join(" "));
    let has = |phrase: &&str| row.contains(&format!(" {phrase} ")) && !facts.known.has_row(phrase);
    if REASSURING.iter().any(&has) {
        failed.insert(Check::Reassurance);
    }
    if INSTRUCTIONS.iter().any(has) {
        failed.insert(Check::Instructions);
    }
}

/// Words that are neither in the facts nor plain.
fn terms(facts: &FactSheet, sentence: &Sentence, failed: &mut BTreeSet<Check>) {
    for token in &sentence.tokens {
        let word = token.word.as_str();
        let known = PLAIN.contains(&word) || facts.known.has_word(word);
        if known || numbers(word).next().is_some() || NUMBER_WORDS.iter().any(|(name, _)| *name == word) {
            continue;
        }
        let listed = |list: &[&str]| list.contains(&word);
        if listed(DENIALS) || listed(REASSURING) || listed(INSTRUCTIONS) || listed(DOSE_UNITS) {
            continue;
        }
        failed.insert(if is_drug_like(word) { Check::Drug } else { Check::Condition });
    }
}
