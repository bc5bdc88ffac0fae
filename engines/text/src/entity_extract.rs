//! q174: fact extraction.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use muster_kernel_words::facts::{Clock, Fact, KINDS, Value as Read, find};
use serde_json::json;

use muster_engine::prelude::*;

use crate::support::bounded;

/// Bytes of the longest text.
const MAX_BYTES: usize = 1_000_000;
/// Facts that are listed.
const MAX_FACTS: usize = 20_000;

#[derive(Input)]
pub struct Input {
    text: String,
    reference_time: Option<Timestamp>,
    timezone: String,
    kinds: Vec<String>,
}

#[derive(Output)]
pub struct Output {
    entities: Vec<Entity>,
    counts: BTreeMap<&'static str, usize>,
}

#[derive(Output)]
struct Entity {
    kind: &'static str,
    text: String,
    start: usize,
    end: usize,
    value: Value,
    unit: &'static str,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    bounded([input.text.as_str()], MAX_BYTES)?;
    for (at, kind) in input.kinds.iter().enumerate() {
        if !KINDS.contains(&kind.as_str()) {
            let kind: String = kind.chars().take(20).collect();
            let message = format!("is {kind:?}, which is no kind: {}", KINDS.join(", "));
            return Err(Failure::invalid(&["kinds", &at.to_string()], message));
        }
    }
    let zone = TimeZone::get(&input.timezone)
        .map_err(|_| Failure::invalid(&["timezone"], "is no zone of the IANA database, such as Europe/Oslo"))?;
    if input.reference_time.is_none() {
        context.assume("no reference_time: \"tomorrow\", \"on Friday\" and days without a year are not resolved");
    }
    // A bare number is no fact unless it is asked for.
    let wanted = |kind: &str| match input.kinds.is_empty() {
        true => kind != "number",
        false => input.kinds.iter().any(|wanted| wanted == kind),
    };
    let facts = find(&input.text, &Clock { now: input.reference_time, zone });
    let mut counts = BTreeMap::new();
    let mut entities = Vec::new();
    for fact in facts {
        let kind = fact.value.kind();
        if !wanted(kind) {
            continue;
        }
        *counts.entry(kind).or_default() += 1;
        if entities.len() < MAX_FACTS {
            entities.extend(entity(&input.text, fact, context));
        }
    }
    let all: usize = counts.values().sum();
    if all > MAX_FACTS {
        context.warn(format!("shortened: the first {MAX_FACTS} of {all} facts are listed"));
    }
    Ok(Output { entities, counts })
}

fn entity(text: &str, fact: Fact, context: &Context) -> Option<Entity> {
    let written = text.get(fact.start..fact.end)?;
    let kind = fact.value.kind();
    if fact.ambiguous {
        context.warn(format!("ambiguous: {written:?} at {} has another reading", fact.start));
    }
    let (value, unit) = match fact.value {
        Read::Number(value) => (json!(value), ""),
        Read::People(value) => (json!(value), "people"),
        Read::Quantity { value, unit } | Read::Duration { value, unit } => (json!(value), unit.id),
        Read::Money { value, currency } => (json!(value), currency),
        Read::Date(date) => (json!(date.to_string()), "date"),
        Read::Moment(moment) => (json!(moment.to_string()), "datetime"),
        Read::Clock { hour, minute } => (json!(format!("{hour:02}:{minute:02}")), "time"),
        Read::Place(place) => (json!({ "lat": place.lat, "lon": place.lon }), "deg"),
        Read::Phone(number) => (json!(number), "e164"),
        Read::Email(address) | Read::Url(address) => (json!(address), ""),
    };
    Some(Entity { kind, text: written.to_owned(), start: fact.start, end: fact.end, value, unit })
}
