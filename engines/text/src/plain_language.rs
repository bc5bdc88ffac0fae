//! q178: plain-language check of English texts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use muster_kernel_words::tokens::{lower, sentences, words};

use muster_engine::prelude::*;

use crate::support::bounded;

/// Bytes of the longest text, and terms of the largest glossary.
const MAX_BYTES: usize = 500_000;
const MAX_TERMS: usize = 2_000;
/// Issues that are listed.
const MAX_ISSUES: usize = 5_000;
/// Words of the longest phrase.
const MAX_WORDS: usize = 6;
/// Words before which an issue counts fully: a short text is not lost by its first issue.
const LEAST_WORDS: usize = 50;

const BE: [&str; 8] = ["am", "are", "be", "been", "being", "is", "was", "were"];
/// Participles without "-ed".
const PARTICIPLES: [&str; 74] = [
    "beaten",
    "begun",
    "bent",
    "bitten",
    "blown",
    "bound",
    "bought",
    "broken",
    "brought",
    "built",
    "burnt",
    "caught",
    "chosen",
    "cut",
    "dealt",
    "done",
    "drawn",
    "driven",
    "eaten",
    "fed",
    "felt",
    "forbidden",
    "forgotten",
    "fought",
    "found",
    "frozen",
    "given",
    "ground",
    "grown",
    "held",
    "hidden",
    "hit",
    "hung",
    "hurt",
    "kept",
    "known",
    "laid",
    "led",
    "left",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "overtaken",
    "paid",
    "proven",
    "put",
    "read",
    "run",
    "said",
    "seen",
    "sent",
    "set",
    "shaken",
    "shot",
    "shown",
    "shut",
    "sold",
    "spent",
    "spoken",
    "spread",
    "stolen",
    "struck",
    "sunk",
    "sworn",
    "taken",
    "taught",
    "thrown",
    "told",
    "torn",
    "understood",
    "withdrawn",
    "written",
];
/// Adjectives that end as participles do.
const NO_PARTICIPLES: [&str; 12] = [
    "bed",
    "concerned",
    "hundred",
    "indeed",
    "interested",
    "naked",
    "need",
    "red",
    "sacred",
    "scared",
    "tired",
    "worried",
];
const NEGATIONS: [&str; 11] =
    ["cannot", "hardly", "neither", "never", "no", "nobody", "none", "nor", "not", "nothing", "without"];
const CLAUSES: [&str; 16] = [
    "although", "because", "if", "since", "that", "though", "unless", "until", "when", "whenever", "where", "whereas",
    "which", "while", "who", "whose",
];
const FILLERS: [&str; 16] = [
    "absolutely",
    "actually",
    "basically",
    "certainly",
    "clearly",
    "completely",
    "definitely",
    "essentially",
    "generally",
    "obviously",
    "quite",
    "rather",
    "really",
    "simply",
    "totally",
    "very",
];
/// Short forms that need no definition.
const KNOWN: [&str; 15] =
    ["AM", "EU", "FM", "GPS", "ID", "OK", "PDF", "PM", "SMS", "TV", "UK", "UN", "US", "USA", "UTC"];

#[derive(Input)]
pub struct Input {
    text: String,
    glossary: BTreeMap<String, String>,
    max_sentence_words: usize,
}

#[derive(Output)]
pub struct Output {
    score: u32,
    issues: Vec<Issue>,
    acronyms: Vec<Acronym>,
    rewritten: String,
}

#[derive(Output)]
struct Issue {
    rule: &'static str,
    start: usize,
    end: usize,
    text: String,
    suggestion: String,
}

#[derive(Output)]
struct Acronym {
    acronym: String,
    defined: bool,
}

/// Replacements of each phrase, in lower case.
static SIMPLE: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    include_str!("../data/simple_words.tsv").lines().skip(1).filter_map(|line| line.split_once('\t')).collect()
});

struct Word<'a> {
    start: usize,
    end: usize,
    text: &'a str,
    lower: String,
}

struct Check<'a> {
    text: &'a str,
    issues: Vec<Issue>,
    /// Places and replacements that are safe to make.
    edits: Vec<(usize, usize, String)>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    bounded([input.text.as_str()], MAX_BYTES)?;
    if input.glossary.len() > MAX_TERMS {
        return Err(Failure::too_large(format!("glossary has more than {MAX_TERMS} terms: send those of the text")));
    }
    let glossary: HashMap<String, &String> =
        input.glossary.iter().map(|(term, plain)| (phrase(words(term).map(|(_, word)| lower(word))), plain)).collect();
    let mut check = Check { text: &input.text, issues: Vec::new(), edits: Vec::new() };
    let mut all = 0;
    for range in sentences(&input.text) {
        let Some(sentence) = input.text.get(range.clone()) else { continue };
        let words: Vec<Word<'_>> = words(sentence)
            .map(|(at, word)| Word {
                start: range.start + at,
                end: range.start + at + word.len(),
                text: word,
                lower: lower(word),
            })
            .collect();
        all += words.len();
        check.phrases(&words, &glossary);
        check.passive(&words);
        check.negatives(&words);
        check.length(&words, sentence, range.start, input.max_sentence_words);
    }
    let acronyms = check.acronyms(&input.glossary);
    check.issues.sort_by_key(|issue| (issue.start, issue.end, issue.rule));
    let count = check.issues.len();
    if count > MAX_ISSUES {
        context.warn(format!("shortened: the first {MAX_ISSUES} of {count} issues are listed"));
        check.issues.truncate(MAX_ISSUES);
    }
    let lost = 1_000 * count / all.max(LEAST_WORDS);
    Ok(Output {
        score: 100 - u32::try_from(lost.min(100)).unwrap_or(100),
        rewritten: check.rewritten(),
        issues: check.issues,
        acronyms,
    })
}

fn phrase(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

impl Check<'_> {
    fn add(&mut self, rule: &'static str, start: usize, end: usize, suggestion: impl Into<String>) {
        let text = self.text.get(start..end).unwrap_or_default().to_owned();
        self.issues.push(Issue { rule, start, end, text, suggestion: suggestion.into() });
    }

    /// Phrases of the glossary and of the list of simple words, the longest first; fillers.
    fn phrases(&mut self, words: &[Word<'_>], glossary: &HashMap<String, &String>) {
        let mut at = 0;
        while at < words.len() {
            let found = (1..=MAX_WORDS.min(words.len() - at)).rev().find_map(|count| {
                let part = words.get(at..at + count)?;
                let key = phrase(part.iter().map(|word| word.lower.clone()));
                if let Some(plain) = glossary.get(&key) {
                    return Some(("jargon", count, (*plain).clone()));
                }
                SIMPLE.get(key.as_str()).map(|plain| ("wordy", count, (*plain).to_owned()))
            });
            let (Some(first), Some((rule, count, plain))) = (words.get(at), found) else {
                if let Some(word) = words.get(at).filter(|word| FILLERS.contains(&word.lower.as_str())) {
                    self.add("filler", word.start, word.end, "leave it out");
                }
                at += 1;
                continue;
            };
            let end = words.get(at + count - 1).map_or(first.end, |last| last.end);
            let best = plain.split(", ").next().unwrap_or_default();
            if rule == "jargon" || !best.starts_with('(') {
                self.edits.push((
                    first.start,
                    end,
                    as_written(first.text, if rule == "jargon" { &plain } else { best }),
                ));
            }
            self.add(rule, first.start, end, plain.replace("(omit)", "leave it out"));
            at += count;
        }
    }

    /// A form of "be", at most two adverbs or negations, and a participle.
    fn passive(&mut self, words: &[Word<'_>]) {
        for (at, be) in words.iter().enumerate().filter(|(_, word)| BE.contains(&word.lower.as_str())) {
            let between = |word: &&Word<'_>| {
                word.lower.ends_with("ly") || matches!(word.lower.as_str(), "not" | "also" | "been" | "being")
            };
            let skip = words.iter().skip(at + 1).take(2).take_while(between).count();
            let Some(verb) = words.get(at + 1 + skip).filter(|word| participle(&word.lower)) else { continue };
            let agent = words.get(at + 2 + skip).is_some_and(|word| word.lower == "by");
            let how = if agent { "name the actor first: who does it" } else { "say who does it" };
            self.add("passive-voice", be.start, verb.end, how);
        }
    }

    fn negatives(&mut self, words: &[Word<'_>]) {
        let negates = |word: &Word<'_>| {
            NEGATIONS.contains(&word.lower.as_str()) || word.lower.ends_with("n't") || word.lower.ends_with("n’t")
        };
        let mut last: Option<(usize, usize)> = None;
        for (at, word) in words.iter().enumerate() {
            let un = [
                "unnecessary",
                "unlikely",
                "uncommon",
                "unusual",
                "impossible",
                "unsafe",
                "unable",
                "unless",
                "except",
            ];
            let second = negates(word) || un.contains(&word.lower.as_str());
            // "neither … nor" is one negation.
            if let Some((before, start)) = last.filter(|(before, _)| second && at - before <= 4)
                && !(word.lower == "nor" && words.get(before).is_some_and(|first| first.lower == "neither"))
            {
                self.add("double-negative", start, word.end, "say what is so, not what is not");
                last = None;
            } else if negates(word) {
                last = Some((at, word.start));
            }
        }
    }

    fn length(&mut self, words: &[Word<'_>], sentence: &str, start: usize, most: usize) {
        let end = start + sentence.len();
        if words.len() > most {
            let how = format!("{} words: split it into sentences of at most {most}", words.len());
            self.add("long-sentence", start, end, how);
        }
        let clauses = words.iter().skip(1).filter(|word| CLAUSES.contains(&word.lower.as_str())).count();
        let inserted = sentence.matches([';', '(', '–', '—']).count();
        if clauses + inserted >= 3 {
            self.add("nested-sentence", start, end, "one thought a sentence: take the clauses apart");
        }
    }

    /// Words of two to six capitals. One is defined by the glossary, or where it stands in brackets after words, or
    /// before brackets with words.
    fn acronyms(&mut self, glossary: &BTreeMap<String, String>) -> Vec<Acronym> {
        let text = self.text;
        let mut defined: BTreeSet<&str> = KNOWN.into_iter().chain(glossary.keys().map(String::as_str)).collect();
        let mut found: Vec<(usize, &str)> = Vec::new();
        for (at, word) in words(text) {
            let capitals = word.len() >= 2 && word.len() <= 6 && word.bytes().all(|byte| byte.is_ascii_uppercase());
            if !capitals {
                continue;
            }
            found.push((at, word));
            let before = text.get(..at).unwrap_or_default();
            let after = text.get(at + word.len()..).unwrap_or_default();
            let spelled = |rest: &str| rest.chars().take(12).any(char::is_lowercase);
            if (before.ends_with('(') && after.starts_with(')')) || after.strip_prefix(" (").is_some_and(spelled) {
                defined.insert(word);
            }
        }
        // A text in capitals has no acronyms.
        let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
        let capitals = text.chars().filter(|letter| letter.is_uppercase()).count();
        if 2 * capitals > letters {
            return Vec::new();
        }
        let mut listed: BTreeMap<&str, bool> = BTreeMap::new();
        for (at, word) in found {
            let known = defined.contains(word);
            if !known && !listed.contains_key(word) {
                self.add("undefined-acronym", at, at + word.len(), "write it out where it is used first");
            }
            listed.insert(word, known);
        }
        listed.into_iter().map(|(acronym, defined)| Acronym { acronym: acronym.to_owned(), defined }).collect()
    }

    /// The text with the replacements of phrases.
    fn rewritten(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for (start, end, plain) in &self.edits {
            out.push_str(self.text.get(at..*start).unwrap_or_default());
            out.push_str(plain);
            at = *end;
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        out
    }
}

fn participle(word: &str) -> bool {
    (word.len() > 4 && word.ends_with("ed") && !NO_PARTICIPLES.contains(&word)) || PARTICIPLES.contains(&word)
}

/// The replacement with a capital where the phrase had one.
fn as_written(phrase: &str, plain: &str) -> String {
    let mut letters = plain.chars();
    match (phrase.starts_with(char::is_uppercase), letters.next()) {
        (true, Some(first)) => first.to_uppercase().chain(letters).collect(),
        _ => plain.to_owned(),
    }
}
