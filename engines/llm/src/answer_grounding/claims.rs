//! Sentences of an answer against sentences of sources.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use muster_kernel_words::facts::{self, Clock, Value};
use muster_kernel_words::stop;
use muster_kernel_words::tokens::{fold, sentences, words};
use muster_kernel_words::units::convert;
use muster_retrieval::{Language, analyze, detect};

use muster_engine::prelude::{Failure, Words};

use crate::hashing::{DIMENSIONS, cosine, vector};

/// Sentences of the answer and of the sources; each is compared with each.
const MAX_CLAIMS: usize = 300;
const MAX_SENTENCES: usize = 5_000;
/// Score from which a claim is supported, and share of its words in a source from which a difference contradicts it.
const SUPPORTED: f64 = 0.5;
const SAME_TOPIC: f64 = 0.6;
/// Share of the content words of a claim that a passage has if it supports the claim: another verb or adjective is
/// another statement.
const SAME_WORDS: f64 = 0.75;
/// Share of its words in a source from which a word of opposite meaning contradicts a claim.
const OPPOSITE_TOPIC: f64 = 0.45;
/// Words of opposite meaning.
const OPPOSITES: [(&[&str], &[&str]); 9] = [
    (&["broken", "broke", "burst", "breached", "collapsed", "failed"], &["intact", "holds", "holding", "undamaged"]),
    (&["open", "opened", "passable", "reopened"], &["closed", "shut", "impassable", "blocked"]),
    (&["safe", "drinkable", "clean", "potable"], &["unsafe", "contaminated", "undrinkable", "polluted", "dangerous"]),
    (&["rising", "rises", "increasing", "growing"], &["falling", "falls", "dropping", "decreasing", "receding"]),
    (&["dead", "died", "killed"], &["alive", "unharmed", "survived", "unhurt"]),
    (&["cancelled", "canceled", "lifted", "ended"], &["extended", "continues", "remains", "ongoing"]),
    (&["confirmed", "true"], &["denied", "false", "hoax", "untrue"]),
    (&["allowed", "permitted"], &["forbidden", "banned", "prohibited"]),
    (&["available"], &["unavailable", "exhausted"]),
];
/// Parts of the score: words of the claim in the source, and likeness.
const CONTAINED: f64 = 0.75;
const LIKE: f64 = 0.25;
/// Weight of stop words.
const STOP: f64 = 0.2;

const NEGATIONS: [&str; 16] = [
    "cannot", "denied", "denies", "deny", "failed", "kein", "keine", "neither", "never", "nicht", "no", "none", "nor",
    "not", "pas", "without",
];

/// A source.
pub(crate) struct Text<'a> {
    pub(crate) id: &'a str,
    pub(crate) text: &'a str,
}

/// Whether sources support a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(crate) enum Status {
    Supported,
    Unsupported,
    Contradicted,
}

/// A sentence of the answer, checked.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) text: String,
    pub(crate) status: Status,
    /// Id of the source that is nearest; empty if no word is common.
    pub(crate) source: String,
    /// The first sentence of the passage that is nearest, as bytes of its source.
    pub(crate) nearest: Option<(usize, Range<usize>)>,
    pub(crate) score: f64,
    /// Numbers that no source has.
    pub(crate) missing: Vec<String>,
}

/// A sentence, or two that follow each other, of a source.
struct Passage {
    source: usize,
    /// Its first sentence.
    first: Range<usize>,
    terms: BTreeSet<String>,
    text: String,
}

/// Checks each sentence of an answer.
pub(crate) fn check(answer: &str, sources: &[Text<'_>]) -> Result<Vec<Checked>, Failure> {
    let claims: Vec<&str> = sentences(answer)
        .into_iter()
        .filter_map(|range| answer.get(range))
        .filter(|text| words(text).any(|(_, word)| word.chars().any(char::is_alphabetic)))
        .collect();
    let passages = passages(sources);
    if claims.len() > MAX_CLAIMS || passages.len() > 2 * MAX_SENTENCES {
        return Err(Failure::too_large(format!(
            "{} sentences of the answer, about {} of sources; allowed are {MAX_CLAIMS} and {MAX_SENTENCES}",
            claims.len(),
            passages.len() / 2
        )));
    }
    let mut frequency: HashMap<&str, f64> = HashMap::new();
    for term in passages.iter().flat_map(|passage| &passage.terms) {
        *frequency.entry(term).or_default() += 1.0;
    }
    let all = passages.len() as f64;
    let stop = stop::of("en");
    // Stop words are in any source and say little of a claim.
    let idf = |term: &str| {
        let with = frequency.get(term).copied().unwrap_or_default();
        let common = stop.is_some_and(|stop| stop.contains(term));
        (1.0 + all / (with + 1.0)).ln() * if common { STOP } else { 1.0 }
    };
    let numbers: Vec<Value> = sources.iter().flat_map(|source| numbers(source.text)).map(|(_, value)| value).collect();
    Ok(claims.into_iter().map(|claim| checked(claim, sources, &passages, &idf, &numbers)).collect())
}

/// Share of the claims that are supported; 0 without claims.
pub(crate) fn support(checked: &[Checked]) -> f64 {
    let supported = checked.iter().filter(|claim| claim.status == Status::Supported).count();
    if checked.is_empty() { 0.0 } else { supported as f64 / checked.len() as f64 }
}

/// The numbers that no source has.
pub(crate) fn missing(checked: &[Checked]) -> Vec<String> {
    checked.iter().flat_map(|claim| claim.missing.clone()).collect()
}

/// Whether an answer is grounded: it has claims, none is contradicted, no number is missing, and enough are supported.
pub(crate) fn accepted(checked: &[Checked], minimum_support: f64) -> bool {
    !checked.is_empty()
        && checked.iter().all(|claim| claim.status != Status::Contradicted && claim.missing.is_empty())
        && support(checked) >= minimum_support
}

fn passages(sources: &[Text<'_>]) -> Vec<Passage> {
    let mut found = Vec::new();
    for (source, text) in sources.iter().enumerate() {
        let language = detect(text.text, Language::English);
        let ranges = sentences(text.text);
        let one = |first: &Range<usize>, text: &str| Passage {
            source,
            first: first.clone(),
            terms: terms(text, language),
            text: text.to_owned(),
        };
        for (at, range) in ranges.iter().enumerate() {
            found.extend(text.text.get(range.clone()).map(|text| one(range, text)));
            // A claim may join what the source says in two sentences.
            if let Some(next) = ranges.get(at + 1) {
                found.extend(text.text.get(range.start..next.end).map(|text| one(range, text)));
            }
        }
    }
    found
}

/// Stems and words.
fn terms(text: &str, language: Language) -> BTreeSet<String> {
    analyze(&[text], language).terms().map(|(term, _)| term.to_owned()).collect()
}

fn checked(
    claim: &str,
    sources: &[Text<'_>],
    passages: &[Passage],
    idf: &impl Fn(&str) -> f64,
    known: &[Value],
) -> Checked {
    let language = detect(claim, Language::English);
    // Numbers and their units are compared by value below.
    let wanted = terms(&without_numbers(claim), language);
    let weight: f64 = wanted.iter().map(|term| idf(term)).sum();
    let contained = |passage: &Passage| {
        let common: f64 = wanted.intersection(&passage.terms).map(|term| idf(term)).sum();
        if weight > 0.0 { common / weight } else { 0.0 }
    };
    let mut best: Option<(f64, &Passage)> = None;
    for passage in passages {
        let share = contained(passage);
        // Of equal ones the shorter, so that a single sentence comes before two.
        let better =
            best.is_none_or(|(other, of)| share > other || (share == other && passage.text.len() < of.text.len()));
        if share > 0.0 && better {
            best = Some((share, passage));
        }
    }
    let missing: Vec<String> = numbers(claim)
        .into_iter()
        .filter(|(_, value)| !known.iter().any(|other| same(value, other)))
        .map(|(text, _)| text)
        .collect();
    let Some((share, passage)) = best else {
        return Checked {
            text: claim.to_owned(),
            status: Status::Unsupported,
            source: String::new(),
            nearest: None,
            score: 0.0,
            missing,
        };
    };
    let like = cosine(&vector(claim, DIMENSIONS), &vector(&passage.text, DIMENSIONS)).max(0.0);
    let score = (CONTAINED * share + LIKE * like).clamp(0.0, 1.0);
    let denied = negated(claim) != negated(&passage.text);
    let other_number = !missing.is_empty() && !numbers(&passage.text).is_empty();
    let stop = stop::of("en");
    let is_content = |term: &&String| !stop.is_some_and(|stop| stop.contains(term.as_str()));
    let content = wanted.iter().filter(is_content).count();
    let common = wanted.intersection(&passage.terms).filter(is_content).count();
    let same_words = common as f64 >= SAME_WORDS * content as f64;
    let status = match () {
        () if share >= SAME_TOPIC && (denied || other_number) => Status::Contradicted,
        () if share >= OPPOSITE_TOPIC && !denied && opposite(claim, &passage.text) => Status::Contradicted,
        () if score >= SUPPORTED && same_words && missing.is_empty() && !denied => Status::Supported,
        () => Status::Unsupported,
    };
    let source = sources.get(passage.source).map(|source| source.id.to_owned()).unwrap_or_default();
    let nearest = Some((passage.source, passage.first.clone()));
    Checked { text: claim.to_owned(), status, source, nearest, score, missing }
}

/// Whether one sentence has a word, and the other one of opposite meaning and not the word itself.
fn opposite(claim: &str, passage: &str) -> bool {
    let of = |text: &str| words(text).map(|(_, word)| fold(word)).collect::<BTreeSet<String>>();
    let (claim, passage) = (of(claim), of(passage));
    let has = |text: &BTreeSet<String>, words: &[&str]| words.iter().any(|word| text.contains(*word));
    OPPOSITES.iter().any(|(one, other)| {
        (has(&claim, one) && has(&passage, other) && !has(&passage, one) && !has(&claim, other))
            || (has(&claim, other) && has(&passage, one) && !has(&passage, other) && !has(&claim, one))
    })
}

/// Whether a sentence has an odd number of negations.
fn negated(text: &str) -> bool {
    let negates = |(_, word): &(usize, &str)| {
        let word = fold(word);
        NEGATIONS.contains(&word.as_str()) || word.ends_with("n't") || word.ends_with("n’t")
    };
    words(text).filter(negates).count() % 2 == 1
}

/// The text without what [`numbers`] finds.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    for fact in facts::find(text, &Clock::default()) {
        out.push_str(text.get(at..fact.start).unwrap_or_default());
        out.push(' ');
        at = fact.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Numbers, quantities, dates and times of a text as they are written. A mark such as [2] is a citation.
fn numbers(text: &str) -> Vec<(String, Value)> {
    let cited = |start: usize, end: usize| {
        let before = text.get(..start).is_some_and(|before| before.ends_with('['));
        before && text.get(end..).is_some_and(|after| after.starts_with(']'))
    };
    facts::find(text, &Clock::default())
        .into_iter()
        .filter(|fact| !cited(fact.start, fact.end))
        .filter(|fact| !matches!(fact.value, Value::Email(_) | Value::Url(_) | Value::Place(_)))
        .filter_map(|fact| Some((text.get(fact.start..fact.end)?.to_owned(), fact.value)))
        .collect()
}

/// Whether two numbers say the same: a bare number and one of people, or quantities of one dimension with equal values.
fn same(a: &Value, b: &Value) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    match (a, b) {
        (
            Value::Quantity { value, unit } | Value::Duration { value, unit },
            Value::Quantity { value: other, unit: theirs } | Value::Duration { value: other, unit: theirs },
        ) => convert(*value, unit, theirs).is_some_and(|value| near(value, *other)),
        (Value::Money { value, currency }, Value::Money { value: other, currency: theirs }) => {
            currency == theirs && near(*value, *other)
        }
        (Value::Number(value) | Value::People(value), Value::Number(other) | Value::People(other)) => {
            near(*value, *other)
        }
        (a, b) => a == b,
    }
}
