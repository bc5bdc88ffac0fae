//! Fields with their modifiers: `contains startswith endswith all cased re i m s cidr base64 base64offset wide utf16
//! utf16le utf16be windash lt lte gt gte exists fieldref neq`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_engine::prelude::*;
use regex::{Regex, RegexBuilder};

use crate::address::Block;

/// Size of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// A field and what it must hold.
pub(super) struct Field {
    path: String,
    /// Tests by value: where a modifier makes variants of a value, one of them must hold.
    tests: Vec<Vec<Test>>,
    /// Whether all values must match, or one.
    all: bool,
    negated: bool,
}

enum Test {
    Text(Text),
    Pattern(Regex),
    Network(Block),
    Number(Order, f64),
    Exists(bool),
    Null,
    Bool(bool),
    OtherField(String),
}

#[derive(Clone, Copy)]
enum Order {
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A text with wildcards.
pub(super) struct Text {
    parts: Vec<Part>,
    cased: bool,
}

#[derive(Clone, PartialEq)]
enum Part {
    Letter(char),
    One,
    Many,
}

impl Text {
    /// A text that stands anywhere in a value.
    pub(super) fn keyword(text: &str) -> Self {
        let mut keyword = Self::read(text, false);
        keyword.surround(true, true);
        keyword
    }

    fn read(text: &str, cased: bool) -> Self {
        let mut parts = Vec::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let part = match letter {
                '\\' => match letters.peek() {
                    // A backslash takes its meaning from wildcards and backslashes only.
                    Some(next @ ('*' | '?' | '\\')) => {
                        let next = *next;
                        letters.next();
                        Part::Letter(next)
                    }
                    _ => Part::Letter('\\'),
                },
                '*' => Part::Many,
                '?' => Part::One,
                other => Part::Letter(other),
            };
            parts.push(part);
        }
        let mut text = Self { parts, cased };
        text.fold();
        text
    }

    fn literal(text: &str, cased: bool) -> Self {
        let mut text = Self { parts: text.chars().map(Part::Letter).collect(), cased };
        text.fold();
        text
    }

    fn fold(&mut self) {
        if !self.cased {
            let lower = |part: Part| match part {
                Part::Letter(letter) => letter.to_lowercase().map(Part::Letter).collect(),
                other => vec![other],
            };
            self.parts = std::mem::take(&mut self.parts).into_iter().flat_map(lower).collect();
        }
        self.parts.dedup_by(|next, before| *next == Part::Many && *before == Part::Many);
    }

    fn surround(&mut self, start: bool, end: bool) {
        if start && self.parts.first() != Some(&Part::Many) {
            self.parts.insert(0, Part::Many);
        }
        if end && self.parts.last() != Some(&Part::Many) {
            self.parts.push(Part::Many);
        }
    }

    /// Matches the whole text: on a mismatch the last `*` takes one letter more. At most letters times parts steps.
    pub(super) fn matches(&self, text: &str) -> bool {
        let folded: String;
        let text = if self.cased {
            text
        } else {
            folded = text.to_lowercase();
            &folded
        };
        let letters: Vec<char> = text.chars().collect();
        let (mut at, mut part, mut star) = (0, 0, None::<(usize, usize)>);
        while at < letters.len() {
            match self.parts.get(part) {
                Some(Part::Many) => {
                    star = Some((part, at));
                    part += 1;
                }
                Some(Part::One) => (at, part) = (at + 1, part + 1),
                Some(Part::Letter(letter)) if letters.get(at) == Some(letter) => (at, part) = (at + 1, part + 1),
                _ => match star {
                    Some((many, from)) => {
                        star = Some((many, from + 1));
                        (at, part) = (from + 1, many + 1);
                    }
                    None => return false,
                },
            }
        }
        self.parts.get(part..).unwrap_or_default().iter().all(|part| *part == Part::Many)
    }
}

impl Field {
    pub(super) fn read(
        name: &str,
        value: &Value,
        field_map: &BTreeMap<String, String>,
        count: &mut usize,
    ) -> Result<Self, String> {
        let mut parts = name.split('|');
        let field = parts.next().unwrap_or_default();
        let modifiers: Vec<&str> = parts.collect();
        const KNOWN: [&str; 25] = [
            "contains",
            "startswith",
            "endswith",
            "all",
            "cased",
            "re",
            "i",
            "m",
            "s",
            "cidr",
            "base64",
            "base64offset",
            "wide",
            "utf16",
            "utf16le",
            "utf16be",
            "windash",
            "lt",
            "lte",
            "gt",
            "gte",
            "exists",
            "fieldref",
            "neq",
            "any",
        ];
        if let Some(unknown) = modifiers.iter().find(|modifier| !KNOWN.contains(modifier)) {
            return Err(format!("{field}: the modifier `{unknown}` is not supported"));
        }
        let values: Vec<&Value> = match value {
            Value::Array(items) => items.iter().collect(),
            one => vec![one],
        };
        *count += values.len();
        let mut tests = Vec::new();
        let all = modifiers.contains(&"all");
        for value in values {
            tests.push(tests_of(value, &modifiers).map_err(|why| format!("{field}: {why}"))?);
        }
        let path = field_map.get(field).cloned().unwrap_or_else(|| field.to_owned());
        Ok(Self { path, tests, all, negated: modifiers.contains(&"neq") })
    }

    pub(super) fn matches(&self, event: &Value) -> bool {
        let found = if self.path.is_empty() { None } else { lookup(event, &self.path) };
        let holds = |variants: &Vec<Test>| variants.iter().any(|test| test.holds(found, event));
        let matched = if self.all { self.tests.iter().all(holds) } else { self.tests.iter().any(holds) };
        matched != self.negated
    }
}

/// Tests of one value; several where a modifier makes variants, of which one must hold.
fn tests_of(value: &Value, modifiers: &[&str]) -> Result<Vec<Test>, String> {
    let has = |name: &str| modifiers.contains(&name);
    if has("exists") {
        let wanted = value.as_bool().or_else(|| value.as_str()?.parse().ok()).ok_or("exists must be true or false")?;
        return Ok(vec![Test::Exists(wanted)]);
    }
    let order = [("lt", Order::Less), ("lte", Order::AtMost), ("gt", Order::Greater), ("gte", Order::AtLeast)];
    if let Some((_, order)) = order.into_iter().find(|(name, _)| has(name)) {
        let number =
            value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).ok_or("must be a number to compare")?;
        return Ok(vec![Test::Number(order, number)]);
    }
    let text = match value {
        Value::Null => return Ok(vec![Test::Null]),
        Value::Bool(flag) => return Ok(vec![Test::Bool(*flag)]),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err("a value must be a text, a number, true, false or null".to_owned()),
    };
    if has("fieldref") {
        return Ok(vec![Test::OtherField(text)]);
    }
    if has("cidr") {
        return Ok(vec![Test::Network(Block::read(&text).map_err(|why| format!("cidr: {why}"))?.0)]);
    }
    if has("re") {
        let pattern = RegexBuilder::new(&text)
            .size_limit(MAX_PATTERN)
            .case_insensitive(has("i"))
            .multi_line(has("m"))
            .dot_matches_new_line(has("s"))
            .build();
        return Ok(vec![Test::Pattern(
            pattern
                .map_err(|_| "re: is no pattern without look-around and back-references, or too large".to_owned())?,
        )]);
    }
    Ok(variants(&text, modifiers).into_iter().map(Test::Text).collect())
}

/// Texts after the modifiers that change values.
fn variants(text: &str, modifiers: &[&str]) -> Vec<Text> {
    let has = |name: &str| modifiers.contains(&name);
    let mut texts = vec![text.to_owned()];
    if has("windash") {
        let dashes = ['-', '/', '\u{2013}', '\u{2014}', '\u{2015}'];
        let at: Vec<usize> = text
            .char_indices()
            .filter(|(at, letter)| {
                *letter == '-' && text.get(..*at).is_none_or(|before| before.is_empty() || before.ends_with(' '))
            })
            .map(|(at, _)| at)
            .collect();
        if !at.is_empty() {
            let with = |dash: char| {
                text.char_indices().map(|(place, letter)| if at.contains(&place) { dash } else { letter }).collect()
            };
            texts = dashes.into_iter().map(with).collect();
        }
    }
    let encoded = has("base64") || has("base64offset");
    let bytes = |text: &String| -> Vec<u8> {
        if has("wide") || has("utf16le") || has("utf16") {
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        } else if has("utf16be") {
            text.encode_utf16().flat_map(u16::to_be_bytes).collect()
        } else {
            text.clone().into_bytes()
        }
    };
    let mut made: Vec<Text> = Vec::new();
    for text in &texts {
        if has("base64offset") {
            made.extend((0..3).map(|offset| Text::literal(&offset_base64(&bytes(text), offset), true)));
        } else if encoded {
            made.push(Text::literal(&STANDARD.encode(bytes(text)), true));
        } else {
            made.push(Text::read(text, has("cased")));
        }
    }
    for text in &mut made {
        text.surround(
            has("contains") || has("endswith") || has("base64offset"),
            has("contains") || has("startswith") || has("base64offset"),
        );
    }
    made
}

/// The part of the Base64 of a text at an offset of 0 to 2 bytes that does not depend on what stands around it.
fn offset_base64(bytes: &[u8], offset: usize) -> String {
    let mut padded = vec![b' '; offset];
    padded.extend_from_slice(bytes);
    let encoded = STANDARD.encode(&padded);
    let start = [0, 2, 3].get(offset).copied().unwrap_or(0);
    let end = [encoded.len(), encoded.len().saturating_sub(3), encoded.len().saturating_sub(2)]
        .get(padded.len() % 3)
        .copied()
        .unwrap_or(encoded.len());
    encoded.get(start..end.max(start)).unwrap_or_default().to_owned()
}

/// A member by its name, or by a path with dots.
fn lookup<'a>(event: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(value) = event.get(path) {
        return Some(value);
    }
    path.split('.').try_fold(event, |value, name| value.get(name))
}

impl Test {
    fn holds(&self, found: Option<&Value>, event: &Value) -> bool {
        match (self, found) {
            (Self::Exists(wanted), found) => found.is_some() == *wanted,
            (Self::Null, found) => found.is_none_or(Value::is_null),
            (_, Some(Value::Array(items))) => items.iter().any(|item| self.holds_one(item, event)),
            (_, Some(value)) => self.holds_one(value, event),
            (_, None) => false,
        }
    }

    fn holds_one(&self, value: &Value, event: &Value) -> bool {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return false,
        };
        match self {
            Self::Text(pattern) => pattern.matches(&text),
            Self::Pattern(pattern) => pattern.is_match(&text),
            Self::Network(block) => Block::read(&text).is_ok_and(|(address, _)| block.contains(address)),
            Self::Number(order, bound) => {
                let number = value.as_f64().or_else(|| text.trim().parse().ok());
                number.is_some_and(|number| match order {
                    Order::Less => number < *bound,
                    Order::AtMost => number <= *bound,
                    Order::Greater => number > *bound,
                    Order::AtLeast => number >= *bound,
                })
            }
            Self::Bool(flag) => text.eq_ignore_ascii_case(if *flag { "true" } else { "false" }),
            Self::OtherField(path) => {
                let other = lookup(event, path);
                other.is_some_and(|other| {
                    other == value || other.as_str().is_some_and(|other| other.eq_ignore_ascii_case(&text))
                })
            }
            Self::Exists(_) | Self::Null => false,
        }
    }
}
