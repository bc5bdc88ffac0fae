//! Phrases that say a value: "on oxygen", "denies chest pain", "ST depression", "AIS head 4".
//!
//! The catalogue lists them (`words = { oxygen = ["true=on oxygen"] }`). One is taken only where the sentence states it of
//! the case: not in a question, under a condition, or of a relative. A denied phrase gives a boolean the opposite value, and
//! any other parameter none.

use std::collections::BTreeMap;
use std::ops::Range;

use muster_engines::grammar::{Prim, Type};
use serde_json::{Map, Value};

use super::Search;
use super::labels::{occurrences, plain};
use super::rules::Prose;
use crate::agent::parameter::{Parameter, Phrase};

/// Words before a phrase that deny it.
const DENIALS: &[&str] = &[
    "no",
    "not",
    "non",
    "without",
    "denies",
    "denied",
    "deny",
    "never",
    "nil",
    "neither",
    "nor",
    "negative for",
    "absence of",
    "free of",
    "isn't",
    "wasn't",
    "doesn't",
    "hasn't",
];
/// Words after which a denial no longer holds.
const ENDS: &[&str] = &["but", "however", "although", "though", "except", "has", "had", "with", "is", "was", "then"];
/// Words with which another thing begins.
const DETERMINERS: &[&str] = &["a", "an", "the", "his", "her", "their", "this"];
/// Words with which a clause does not state anything of the case.
const UNCERTAIN: &[&str] = &[
    "if",
    "whether",
    "possible",
    "possibly",
    "query",
    "unless",
    "should",
    "suspected",
    "rule out",
    "at risk of",
    "father",
    "mother",
    "brother",
    "sister",
    "uncle",
    "aunt",
    "grandfather",
    "grandmother",
    "wife",
    "husband",
    "family",
    "unknown",
    "unclear",
    "not known",
    "not sure",
];
/// What denies a phrase after it.
const DENIED_AFTER: &[&str] = &[
    ": no",
    "= no",
    " no",
    ": none",
    ": false",
    " false",
    " absent",
    ": absent",
    " negative",
    ": negative",
    " ruled out",
    " excluded",
    " denied",
];
/// Most mentions of one phrase that are looked at.
const MAX_MENTIONS: usize = 32;

/// What a mention says.
#[derive(Debug, Clone, PartialEq)]
enum Mention {
    Stated,
    /// With the place of the phrase and of what denies it.
    Denied(Range<usize>),
    Unclear,
}

pub(super) fn fill(search: &mut Search<'_>, prose: &Prose) {
    let parameters = search.parameters;
    for parameter in parameters {
        if parameter.phrases.is_empty() || !search.open.contains(parameter.name.as_str()) {
            continue;
        }
        let found = match &parameter.kind {
            Type::Map(item) => map(parameter, item, prose),
            Type::Record(_) => map(parameter, &Type::Prim(Prim::Any), prose),
            kind => scalar(parameter, kind, prose),
        };
        if let Some((value, span)) = found {
            search.take(parameter, value, "rule", span);
        }
    }
}

/// The value that all mentions agree on.
fn scalar(parameter: &Parameter, kind: &Type, prose: &Prose) -> Option<(Value, Range<usize>)> {
    let is_boolean = *kind == Type::Prim(Prim::Boolean);
    let mut found: Option<(Value, Range<usize>)> = None;
    for (phrase, mut span) in mentions(&parameter.phrases, prose) {
        let value = match (mention(prose, &span), phrase.value.as_bool().filter(|_| is_boolean)) {
            (Mention::Stated, _) => phrase.value.clone(),
            (Mention::Denied(whole), Some(said)) => {
                span = whole;
                Value::Bool(!said)
            }
            (Mention::Denied(_), None) => continue,
            (Mention::Unclear, _) => return None,
        };
        match &found {
            Some((other, _)) if *other != value => return None,
            Some(_) => {}
            None => found = Some((value, span)),
        }
    }
    found
}

/// The keys of which the text gives a value: a number beside the phrase, else whether the phrase is stated.
fn map(parameter: &Parameter, item: &Type, prose: &Prose) -> Option<(Value, Range<usize>)> {
    let numbers = matches!(item, Type::Prim(Prim::Integer | Prim::Number | Prim::Any));
    let booleans = matches!(item, Type::Prim(Prim::Boolean | Prim::Any));
    let mut values: BTreeMap<&str, Option<Value>> = BTreeMap::new();
    let mut whole: Option<Range<usize>> = None;
    for (phrase, span) in mentions(&parameter.phrases, prose) {
        let Some(said) = phrase.value.as_str() else { continue };
        // "thirst:eager": the word of a key.
        let (key, word) = said.split_once(':').map_or((said, None), |(key, word)| (key, Some(word)));
        let counts = numbers && word.is_none() && (phrase.is_number || *item != Type::Prim(Prim::Any));
        let number = prose.number_beside(&span, key).filter(|_| counts);
        let value = match (number, mention(prose, &span)) {
            (Some((number, _)), _) if *item == Type::Prim(Prim::Integer) && number.as_i64().is_none() => continue,
            (Some((number, at)), _) => {
                let at = at.start.min(span.start)..at.end.max(span.end);
                whole = Some(whole.map_or(at.clone(), |whole| whole.start.min(at.start)..whole.end.max(at.end)));
                Some(number)
            }
            (None, _) if !booleans || phrase.is_number => continue,
            (None, Mention::Unclear) => None,
            (None, Mention::Denied(_)) if word.is_some() => continue,
            (None, said) => {
                whole = Some(whole.map_or(span.clone(), |whole| whole.start.min(span.start)..whole.end.max(span.end)));
                Some(word.map_or(Value::Bool(said == Mention::Stated), Value::from))
            }
        };
        // Two values of one key are none.
        let entry = values.entry(key).or_insert_with(|| value.clone());
        if *entry != value {
            *entry = None;
        }
    }
    let values: Map<String, Value> =
        values.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    whole.filter(|_| !values.is_empty()).map(|span| (Value::Object(values), span))
}

/// The places of all phrases, without those inside a longer one.
fn mentions<'p>(phrases: &'p [Phrase], prose: &Prose) -> Vec<(&'p Phrase, Range<usize>)> {
    let mut all: Vec<(&Phrase, Range<usize>)> = Vec::new();
    for phrase in phrases {
        all.extend(occurrences(&prose.plain, &phrase.text).take(MAX_MENTIONS).map(|span| (phrase, span)));
    }
    let spans: Vec<Range<usize>> = all.iter().map(|(_, span)| span.clone()).collect();
    let inside = |span: &Range<usize>| {
        spans.iter().any(|other| other.len() > span.len() && other.start <= span.start && span.end <= other.end)
    };
    all.retain(|(_, span)| !inside(span));
    all.sort_by_key(|(_, span)| span.start);
    all
}

/// Returns whether a text states the phrase at a place.
fn mention(prose: &Prose, span: &Range<usize>) -> Mention {
    let text = prose.plain.as_str();
    let clause = clause(text, span);
    let whole = text.get(clause.clone()).unwrap_or_default();
    let asked = text.get(clause.end..).is_some_and(|rest| rest.starts_with('?'));
    if asked || UNCERTAIN.iter().any(|word| occurrences(whole, word).next().is_some()) {
        return Mention::Unclear;
    }
    let before = text.get(clause.start..span.start).unwrap_or_default();
    let after = text.get(span.end..clause.end).unwrap_or_default();
    let is_word = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    if DENIED_AFTER.iter().any(|denial| after.strip_prefix(*denial).is_some_and(is_word)) {
        let end = after.find(|c: char| !c.is_alphanumeric() && !matches!(c, ' ' | ':' | '='));
        return Mention::Denied(span.start..end.map_or(clause.end, |at| span.end + at));
    }
    let last = |words: &[&str]| words.iter().flat_map(|word| occurrences(before, word)).map(|at| at.end).max();
    let Some(denial) = last(DENIALS) else { return Mention::Stated };
    let between = before.get(denial..).unwrap_or_default();
    // "no cancer, an 18 mm nodule": another statement begins.
    let rest = between.split_once(',').map_or("", |(_, rest)| rest);
    let begins = DETERMINERS.iter().any(|word| occurrences(rest, word).next().is_some())
        || rest.split_whitespace().any(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    if begins || ENDS.iter().any(|word| occurrences(between, word).next().is_some()) {
        return Mention::Stated;
    }
    // "no fever, diabetes" has two readings, "no fever, cough or diabetes" one.
    let listed = |text: &str| [" or ", " nor ", "/"].iter().any(|link| text.contains(link));
    if between.contains(',') && !listed(between) && !listed(after) {
        // "no diabetes, no heart failure, hypertensive": who denies each by itself states the others.
        let denials = DENIALS.iter().flat_map(|word| occurrences(before, word)).count();
        return if denials > 1 { Mention::Stated } else { Mention::Unclear };
    }
    let start = before.get(..denial).and_then(|text| text.rfind(char::is_whitespace)).map_or(0, |at| at + 1);
    Mention::Denied(clause.start + start..span.end)
}

/// The part of a sentence around a place.
fn clause(text: &str, span: &Range<usize>) -> Range<usize> {
    let ends = |at: usize, c: char| {
        let next = text.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
        matches!(c, ';' | '!' | '?' | '\n' | '|') || (c == '.' && next.is_none_or(char::is_whitespace))
    };
    let before = text.get(..span.start).unwrap_or_default();
    let start = before.char_indices().rev().find(|(at, c)| ends(*at, *c)).map_or(0, |(at, c)| at + c.len_utf8());
    let after = text.get(span.end..).unwrap_or_default();
    let end = after.char_indices().find(|(at, c)| ends(span.end + *at, *c)).map_or(text.len(), |(at, _)| span.end + at);
    start..end
}

impl Phrase {
    /// Reads `value=phrase` for a parameter of this type; `None` for a name.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the value.
    pub(in crate::agent) fn parse(kind: &Type, word: &str) -> Option<Result<Self, String>> {
        let (said, phrase) = word.split_once('=')?;
        let wrong = || format!("{word:?}: {said} is not a value of it");
        let value = match kind {
            Type::Map(_) | Type::Record(_) => Some(Value::from(said)),
            Type::Enum(words) => words.iter().find(|word| *word == said).map(|word| Value::from(word.as_str())),
            Type::Prim(Prim::String) => Some(Value::from(said)),
            Type::Prim(Prim::Boolean) => said.parse::<bool>().ok().map(Value::from),
            Type::Prim(Prim::Integer) => said.parse::<i64>().ok().map(Value::from),
            Type::Prim(Prim::Number) => said.parse::<f64>().ok().map(Value::from),
            _ => None,
        };
        // "diameter_mm=nodule#": a number stands beside it, it states nothing by itself.
        let (phrase, is_number) = phrase.strip_suffix('#').map_or((phrase, false), |phrase| (phrase, true));
        Some(value.map(|value| Self { text: plain(phrase), value, is_number }).ok_or_else(wrong))
    }
}
