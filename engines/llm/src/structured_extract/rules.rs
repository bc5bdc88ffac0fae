//! Values of fields by rules.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::Date;
use muster_kernel_words::facts::{self, Clock, Fact, Value as Read};
use muster_kernel_words::tokens::{fold, words};
use muster_kernel_words::units::{self, Unit, convert};
use serde_json::{Value, json};

use super::fields::{Field, Kind};
use super::lines::{Line, labelled};

/// How sure a value is: from a line with the label, near a word of the label, the only one of its kind in the text.
const LABELLED: f64 = 0.95;
const NEAR: f64 = 0.7;
const ONLY: f64 = 0.5;
/// Words between a number and a word that names it.
const REACH: usize = 4;
/// Items of a list.
const MAX_ITEMS: usize = 100;

/// A value that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) value: Value,
    /// Bytes of the text that show it.
    pub(super) evidence: Range<usize>,
    pub(super) confidence: f64,
}

/// A text with what was read from it.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) lines: Vec<Line>,
    pub(super) facts: Vec<Fact>,
    /// Words folded, with their places.
    words: Vec<(String, Range<usize>)>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let words = words(text).map(|(at, word)| (fold(word), at..at + word.len())).collect();
        Self { text, lines: super::lines::lines(text), facts: facts::find(text, &Clock::default()), words }
    }

    /// The facts within a part of the text.
    fn within(&self, range: &Range<usize>) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(move |fact| fact.start >= range.start && fact.end <= range.end)
    }

    /// Number of the word at or after a byte.
    fn word(&self, byte: usize) -> usize {
        self.words.partition_point(|(_, range)| range.end <= byte)
    }
}

/// Finds the value of a field.
pub(super) fn find(source: &Source<'_>, field: &Field) -> Option<Found> {
    if let Some(line) = labelled(&source.lines, field)
        && let Some((value, evidence)) = read(source, &line.value, field, &field.kind)
    {
        return Some(Found { value, evidence, confidence: LABELLED });
    }
    match &field.kind {
        Kind::Integer | Kind::Number => number(source, field),
        Kind::Boolean => boolean(source, field),
        Kind::Words(allowed) => word(source, allowed),
        Kind::Many(item) => match item.as_ref() {
            Kind::Words(allowed) => several(source, allowed),
            Kind::Email | Kind::Phone | Kind::Url => list_of(source, item),
            _ => None,
        },
        Kind::Text if field.names.iter().flatten().any(|word| word == "address" || word == "adresse") => {
            address(source)
        }
        Kind::Text | Kind::Other => None,
        kind => only(source, field, kind),
    }
}

/// The only address of the text: a street with a number, and the town after it.
fn address(source: &Source<'_>) -> Option<Found> {
    static ADDRESS: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
        let german = r"\p{Lu}[\p{L}-]*(?:straße|strasse|str\.|weg|platz|allee|gasse|damm|ufer)\s+\d+(?:\s?[a-z])?";
        let number_first = r"\d+[A-Za-z]?,?\s+(?:\p{Lu}[\p{L}'’.-]*\s+){1,4}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Square|Court|Way|Boulevard|Blvd|Terrace)";
        let number_last = r"(?:\p{Lu}[\p{L}'’.-]*\s+){1,3}(?:Street|Road|Avenue|Lane|Drive|Square|Way)\s+\d+[A-Za-z]?";
        let romance = r"\d+,?\s+(?:rue|avenue|boulevard|place)\s+[\p{L}' ’-]{2,40}\p{L}|(?:Calle|Avenida|Via|Rua)\s+[\p{L} -]{2,40}?,?\s+\d+";
        let town = r"(?:(?:,\s*(?:\d{4,5}\s+)?|\s+in\s+|\s+\d{4,5}\s+)\p{Lu}[\p{L}-]+)?";
        regex::Regex::new(&format!(r"\b(?:{german}|{number_last}|{number_first}|{romance})\b{town}")).ok()
    });
    let mut hits = ADDRESS.iter().flat_map(|regex| regex.find_iter(source.text));
    let hit = hits.next().filter(|_| hits.next().is_none())?;
    Some(Found { value: json!(hit.as_str()), evidence: hit.range(), confidence: NEAR })
}

/// Reads the value of a line as the kind of a field.
fn read(source: &Source<'_>, range: &Range<usize>, field: &Field, kind: &Kind) -> Option<(Value, Range<usize>)> {
    let text = source.text.get(range.clone())?;
    let whole = |value: Value| Some((value, range.clone()));
    match kind {
        Kind::Text => whole(json!(text)),
        Kind::Integer | Kind::Number => {
            let unit = unit(field);
            source.within(range).find_map(|fact| Some((numeric(&fact.value, kind, unit)?, fact.start..fact.end)))
        }
        Kind::Boolean => yes_or_no(text).and_then(|yes| whole(json!(yes))),
        Kind::Words(allowed) => {
            let said = fold(text);
            if let Some(same) = allowed.iter().find(|word| same_word(word, &said)) {
                return whole(json!(same));
            }
            let mut found =
                occurrences(source, allowed).filter(|(_, at)| at.start >= range.start && at.end <= range.end);
            let (word, at) = found.next()?;
            found.all(|(other, _)| other == word).then(|| (json!(word), at))
        }
        Kind::Many(item) => items(source, range, field, item).map(|items| (items, range.clone())),
        Kind::Other => None,
        kind => source.within(range).find_map(|fact| Some((valued(&fact.value, kind)?, fact.start..fact.end))),
    }
}

/// The items of a line, divided by commas or by "and".
fn items(source: &Source<'_>, range: &Range<usize>, field: &Field, item: &Kind) -> Option<Value> {
    static JOINED: LazyLock<Option<regex::Regex>> =
        LazyLock::new(|| regex::Regex::new(r"\s*(?:[,;/•]|\s(?:and|und|et|y)\s)\s*").ok());
    let text = source.text.get(range.clone())?;
    let mut found = Vec::new();
    let mut at = 0;
    let ends = JOINED.iter().flat_map(|regex| regex.find_iter(text)).map(|hit| (hit.start(), hit.end()));
    for (end, next) in ends.chain([(text.len(), text.len())]) {
        let part = range.start + at..range.start + end;
        at = next;
        if !part.is_empty() && found.len() < MAX_ITEMS {
            found.extend(read(source, &part, field, item).map(|(value, _)| value));
        }
    }
    (!found.is_empty()).then_some(Value::Array(found))
}

/// A fact as the value of a field of a kind.
fn valued(fact: &Read, kind: &Kind) -> Option<Value> {
    match (fact, kind) {
        (Read::Date(date), Kind::Date) => Some(json!(date.to_string())),
        (Read::Moment(moment), Kind::Date) => {
            let date: Option<Date> = moment.to_string().get(..10).and_then(|date| date.parse().ok());
            date.map(|date| json!(date.to_string()))
        }
        (Read::Moment(moment), Kind::Moment) => Some(json!(moment.to_string())),
        (Read::Clock { hour, minute }, Kind::Clock) => Some(json!(format!("{hour:02}:{minute:02}:00Z"))),
        (Read::Email(address), Kind::Email) | (Read::Url(address), Kind::Url) => Some(json!(address)),
        (Read::Phone(number), Kind::Phone) => Some(json!(number)),
        (Read::Place(place), Kind::Place(lat, lon)) => Some(json!({ lat: place.lat, lon: place.lon })),
        _ => None,
    }
}

/// A fact as a number, converted into the unit that the field is in.
fn numeric(fact: &Read, kind: &Kind, unit: Option<&'static Unit>) -> Option<Value> {
    let value = match (fact, unit) {
        (Read::Quantity { value, unit } | Read::Duration { value, unit }, Some(wanted)) => {
            convert(*value, unit, wanted)?
        }
        // A sum of money or a number of people has a unit that is not the field's.
        (Read::Number(value), _)
        | (
            Read::People(value)
            | Read::Money { value, .. }
            | Read::Quantity { value, .. }
            | Read::Duration { value, .. },
            None,
        ) => *value,
        _ => return None,
    };
    match kind {
        Kind::Integer if value.fract() == 0.0 && value.abs() < 9e15 => Some(json!(value as i64)),
        Kind::Number if value.is_finite() => Some(json!(value)),
        _ => None,
    }
}

/// The unit that a description names after "in", such as "depth in metres", or that ends a name, as `depth_m` does.
fn unit(field: &Field) -> Option<&'static Unit> {
    let name = field
        .names
        .first()
        .and_then(|name| name.last())
        .filter(|_| field.names.first().is_some_and(|name| name.len() > 1));
    let after = field.described.windows(2).find(|pair| pair.first().is_some_and(|word| word == "in"));
    let after = after.and_then(|pair| pair.last());
    after.and_then(|word| units::find(word, word)).or_else(|| name.and_then(|word| units::find(word, word)))
}

/// The number that stands near a word of the field's names, or counts it; the only one there.
fn number(source: &Source<'_>, field: &Field) -> Option<Found> {
    let unit = unit(field);
    let names: Vec<&String> = field.names.iter().flatten().filter(|word| word.chars().count() > 2).collect();
    let people = field.described.iter().any(|word| matches!(word.as_str(), "people" | "persons" | "person"));
    let mut best: Option<(usize, Found)> = None;
    let mut tied = false;
    for fact in &source.facts {
        let Some(value) = numeric(&fact.value, &field.kind, unit) else { continue };
        let (first, after) = (source.word(fact.start), source.word(fact.end));
        // Words within the fact count as none between: "4 people" counts people.
        let distance = |(at, (word, _)): (usize, &(String, Range<usize>))| {
            let named = names.iter().any(|name| same_stem(name, word))
                || (people && matches!(fact.value, Read::People(_)) && at >= first && at < after);
            named.then(|| if at < first { first - at } else { (at + 1).saturating_sub(after) })
        };
        let near = source
            .words
            .iter()
            .enumerate()
            .skip(first.saturating_sub(REACH))
            .take(after - first.min(after) + 2 * REACH);
        let Some(distance) = near.filter_map(distance).min().filter(|distance| *distance <= REACH) else { continue };
        let found = Found { value, evidence: fact.start..fact.end, confidence: NEAR };
        match &best {
            Some((other, _)) if *other < distance => {}
            Some((other, known)) if *other == distance => tied |= known.value != found.value,
            _ => {
                tied = false;
                best = Some((distance, found));
            }
        }
    }
    best.filter(|_| !tied).map(|(_, found)| found)
}

/// The only fact of a kind; where there are several, the one after a word of the field's names.
fn only(source: &Source<'_>, field: &Field, kind: &Kind) -> Option<Found> {
    let all: Vec<(&Fact, Value)> =
        source.facts.iter().filter_map(|fact| Some((fact, valued(&fact.value, kind)?))).collect();
    let found = |(fact, value): &(&Fact, Value), confidence| {
        let confidence = if fact.ambiguous { confidence / 2.0 } else { confidence };
        Found { value: value.clone(), evidence: fact.start..fact.end, confidence }
    };
    if let [one] = all.as_slice() {
        return Some(found(one, ONLY));
    }
    let names: Vec<&String> = field.names.iter().flatten().filter(|word| word.chars().count() > 3).collect();
    let named = |(fact, _): &&(&Fact, Value)| {
        let at = source.word(fact.start);
        source
            .words
            .iter()
            .take(at)
            .skip(at.saturating_sub(REACH))
            .any(|(word, _)| names.iter().any(|name| same_stem(name, word)))
    };
    let mut near = all.iter().filter(named);
    match (near.next(), near.next()) {
        (Some(one), None) => Some(found(one, NEAR)),
        _ => None,
    }
}

/// All facts of a kind.
fn list_of(source: &Source<'_>, item: &Kind) -> Option<Found> {
    let all: Vec<(&Fact, Value)> =
        source.facts.iter().filter_map(|fact| Some((fact, valued(&fact.value, item)?))).take(MAX_ITEMS).collect();
    let (first, last) = (all.first()?.0, all.last()?.0);
    let evidence = first.start..if all.len() == 1 { last.end } else { first.end };
    Some(Found { value: all.into_iter().map(|(_, value)| value).collect(), evidence, confidence: ONLY })
}

/// Words of a list that occur in the text.
fn occurrences<'a>(source: &'a Source<'_>, allowed: &'a [String]) -> impl Iterator<Item = (&'a String, Range<usize>)> {
    allowed.iter().flat_map(|word| {
        let parts = super::fields::folded(&word.replace(['-', '_'], " "));
        let length = parts.len().max(1);
        source.words.windows(length).filter_map(move |window| {
            let same = !parts.is_empty() && window.iter().zip(&parts).all(|((written, _), part)| written == part);
            let (first, last) = (window.first()?, window.last()?);
            same.then_some((word, first.1.start..last.1.end))
        })
    })
}

/// The only word of a list that occurs.
fn word(source: &Source<'_>, allowed: &[String]) -> Option<Found> {
    let mut found = occurrences(source, allowed);
    let (word, evidence) = found.next()?;
    found.all(|(other, _)| other == word).then(|| Found { value: json!(word), evidence, confidence: ONLY })
}

/// All words of a list that occur.
fn several(source: &Source<'_>, allowed: &[String]) -> Option<Found> {
    let mut words: Vec<&String> = Vec::new();
    let mut evidence = None;
    for (word, at) in occurrences(source, allowed) {
        if !words.contains(&word) {
            words.push(word);
        }
        evidence.get_or_insert(at);
    }
    evidence.map(|evidence| Found { value: json!(words), evidence, confidence: ONLY })
}

/// Whether all words of a name of the field occur next to each other, and are not denied.
fn boolean(source: &Source<'_>, field: &Field) -> Option<Found> {
    const DENIED: [&str; 10] = ["no", "not", "without", "never", "kein", "keine", "nicht", "pas", "sin", "sans"];
    for name in &field.names {
        for (at, window) in source.words.windows(name.len()).enumerate() {
            if window.iter().zip(name).all(|((word, _), part)| same_stem(part, word)) {
                let before = source.words.iter().take(at).skip(at.saturating_sub(2));
                let denied = before.into_iter().any(|(word, _)| DENIED.contains(&word.as_str()));
                let (first, last) = (window.first()?, window.last()?);
                return Some(Found { value: json!(!denied), evidence: first.1.start..last.1.end, confidence: ONLY });
            }
        }
    }
    None
}

fn yes_or_no(text: &str) -> Option<bool> {
    match fold(text.trim_end_matches(['.', '!'])).as_str() {
        "yes" | "true" | "y" | "x" | "ja" | "oui" | "si" | "1" => Some(true),
        "no" | "false" | "n" | "nein" | "non" | "none" | "0" => Some(false),
        _ => None,
    }
}

/// Whether a word of a list is said, without regard to case, diacritics and signs between its parts.
fn same_word(word: &str, folded: &str) -> bool {
    let plain = |text: &str| text.replace(['-', '_'], " ");
    plain(&fold(word)) == plain(folded)
}

/// Whether two folded words are forms of one: equal, or with a plural's ending.
fn same_stem(a: &str, b: &str) -> bool {
    let stem = |word: &str| {
        let cut = word.strip_suffix("es").or_else(|| word.strip_suffix('s')).filter(|cut| cut.chars().count() > 2);
        cut.unwrap_or(word).to_owned()
    };
    a == b || stem(a) == stem(b)
}
