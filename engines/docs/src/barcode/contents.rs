//! What the texts of codes mean: GS1 element strings and keys of one-time codes.

use std::sync::LazyLock;

use muster_engine::prelude::*;
use serde_json::json;

/// Most elements of a text.
const MAX_ELEMENTS: usize = 100;
/// Ends the data of variable length: FNC1, as scanners report it.
const SEPARATOR: char = '\u{1d}';

/// An application identifier.
struct Identifier {
    code: &'static str,
    title: &'static str,
    least: usize,
    most: usize,
    digits: bool,
    separator: bool,
}

static IDENTIFIERS: LazyLock<Vec<Identifier>> = LazyLock::new(|| {
    let lines = include_str!("../../data/gs1_ai.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    lines
        .filter_map(|line| {
            let mut parts = line.split(',');
            Some(Identifier {
                code: parts.next()?,
                title: parts.next()?,
                least: parts.next()?.parse().ok()?,
                most: parts.next()?.parse().ok()?,
                digits: parts.next()? == "1",
                separator: parts.next()? == "1",
            })
        })
        .collect()
});

/// Returns what a text means; `None` for any other text.
pub(super) fn parse(text: &str) -> Option<Value> {
    one_time(text).or_else(|| gs1(text))
}

/// `otpauth://totp/label?secret=…&issuer=…`.
fn one_time(text: &str) -> Option<Value> {
    let rest = text.strip_prefix("otpauth://")?;
    let (kind, rest) = rest.split_once('/')?;
    if !matches!(kind, "totp" | "hotp") {
        return None;
    }
    let (label, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut parameters = Map::new();
    for (name, value) in query.split('&').filter_map(|part| part.split_once('=')).take(20) {
        parameters.insert(decoded(name), json!(decoded(value)));
    }
    let label = decoded(label);
    let (issuer, account) = match label.split_once(':') {
        Some((issuer, account)) => (Some(issuer.to_owned()), account.trim().to_owned()),
        None => (None, label.clone()),
    };
    let issuer = parameters.get("issuer").and_then(Value::as_str).map(str::to_owned).or(issuer);
    Some(json!({ "kind": "otpauth", "type": kind, "account": account, "issuer": issuer, "parameters": parameters }))
}

/// Per-cent encoding; what is no UTF-8 is replaced.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Element strings, as scanned (`]Q3` or not, separators) or as printed (identifiers in brackets). A text is one only if
/// all of it is.
fn gs1(text: &str) -> Option<Value> {
    let scanned = text.strip_prefix("]Q3").unwrap_or(text);
    let elements = if scanned.starts_with('(') { printed(scanned) } else { raw(scanned) }?;
    Some(json!({ "kind": "gs1", "elements": elements }))
}

fn printed(text: &str) -> Option<Vec<Value>> {
    let mut elements = Vec::new();
    let mut rest = text;
    while let Some(after) = rest.strip_prefix('(') {
        let (code, after) = after.split_once(')')?;
        let identifier = IDENTIFIERS.iter().find(|identifier| identifier.code == code)?;
        // Data may have brackets of its own: the next element begins where a bracket encloses digits.
        let end = after.match_indices('(').find(|(at, _)| {
            let inside = after.get(at + 1..).and_then(|inside| inside.split_once(')')).map(|(inside, _)| inside);
            inside.is_some_and(|inside| (2..=4).contains(&inside.len()) && inside.bytes().all(|b| b.is_ascii_digit()))
        });
        let (data, next) = after.split_at_checked(end.map_or(after.len(), |(at, _)| at))?;
        elements.push(element(identifier, data)?);
        rest = next;
        if elements.len() > MAX_ELEMENTS {
            return None;
        }
    }
    (rest.is_empty() && !elements.is_empty()).then_some(elements)
}

fn raw(text: &str) -> Option<Vec<Value>> {
    let mut rest = text.trim_start_matches(SEPARATOR);
    let mut elements = Vec::new();
    let mut certain = text.len() != rest.len();
    while !rest.is_empty() {
        let identifier = IDENTIFIERS.iter().find(|identifier| rest.starts_with(identifier.code))?;
        let after = rest.get(identifier.code.len()..)?;
        let end = if identifier.separator { after.find(SEPARATOR).unwrap_or(after.len()) } else { identifier.most };
        let (data, next) = after.split_at_checked(end)?;
        let value = element(identifier, data)?;
        // Digits alone may mean anything; a right check digit makes it likely.
        certain |= value.get("check_digit_ok") == Some(&json!(true)) || text.starts_with("]Q3");
        elements.push(value);
        rest = next.trim_start_matches(SEPARATOR);
        if elements.len() > MAX_ELEMENTS {
            return None;
        }
    }
    (certain && !elements.is_empty()).then_some(elements)
}

fn element(identifier: &Identifier, data: &str) -> Option<Value> {
    let length = data.chars().count();
    let fits = (identifier.least..=identifier.most).contains(&length)
        && data.chars().all(|c| if identifier.digits { c.is_ascii_digit() } else { c.is_ascii_graphic() });
    if !fits {
        return None;
    }
    let mut value = Map::new();
    for (name, text) in [("ai", identifier.code), ("title", identifier.title), ("value", data)] {
        value.insert(name.to_owned(), json!(text));
    }
    // SSCC, GTIN, and locations end in a check digit.
    if matches!(
        identifier.code,
        "00" | "01" | "02" | "03" | "410" | "411" | "412" | "413" | "414" | "415" | "416" | "417"
    ) {
        value.insert("check_digit_ok".to_owned(), json!(has_check_digit(data)));
    }
    // The last digit of these is the number of decimals.
    let decimals = identifier
        .code
        .strip_prefix('3')
        .filter(|rest| rest.len() == 3 && matches!(rest.as_bytes(), [b'1'..=b'6', ..]));
    if let Some(places) = decimals.and_then(|rest| rest.get(2..)?.parse::<i32>().ok()) {
        value.insert("number".to_owned(), json!(data.parse::<f64>().unwrap_or(0.0) / 10_f64.powi(places)));
    }
    Some(Value::Object(value))
}

/// Weights 3 and 1 from the right, modulo 10 (GS1 General Specifications, section 7.9).
fn has_check_digit(data: &str) -> bool {
    let digits = data.bytes().rev().map(|byte| u32::from(byte.saturating_sub(b'0')));
    let sum: u32 = digits.enumerate().map(|(at, digit)| if at % 2 == 0 { digit } else { 3 * digit }).sum();
    sum.is_multiple_of(10)
}
