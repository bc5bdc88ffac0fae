//! Similarity of two values of a field, 0 to 1.

use muster_engine::prelude::*;
use serde_json::Value;

use super::{Field, Record};

/// Longer texts are truncated, as the comparison takes the product of the lengths.
const MAX_CHARS: usize = 200;
/// Number of trailing digits of a phone number that identify the subscriber.
const PHONE_DIGITS: usize = 9;

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "lower")]
pub(super) enum Kind {
    Exact,
    Name,
    Text,
    Date,
    Number,
    Phone,
}

/// A value prepared for comparison.
pub(super) enum Prepared {
    Text(String),
    /// As written, and with its words sorted.
    Name(String, String),
    Date([u16; 3]),
    Number(f64),
}

/// Lower case, with one space for anything but letters and digits; `None` for an empty value.
pub(super) fn plain(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let plain: String =
        text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).flat_map(char::to_lowercase).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let joined: String = words.join(" ").chars().take(MAX_CHARS).collect();
    Some(joined).filter(|joined| !joined.is_empty())
}

pub(super) fn prepare(records: &[&Record], fields: &[Field]) -> Vec<Vec<Option<Prepared>>> {
    let one = |record: &&Record| fields.iter().map(|field| prepared(record.get(&field.name), field.kind)).collect();
    records.iter().map(one).collect()
}

fn prepared(value: Option<&Value>, kind: Kind) -> Option<Prepared> {
    let text = plain(value)?;
    let number = || value.and_then(|value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()));
    Some(match kind {
        Kind::Exact | Kind::Text => Prepared::Text(text),
        Kind::Name => {
            let mut words: Vec<&str> = text.split(' ').collect();
            words.sort_unstable();
            let sorted = words.join(" ");
            Prepared::Name(text, sorted)
        }
        Kind::Date => date(&text).map_or(Prepared::Text(text), Prepared::Date),
        Kind::Number => number().filter(|number| number.is_finite()).map_or(Prepared::Text(text), Prepared::Number),
        Kind::Phone => {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            let own = digits.len().saturating_sub(PHONE_DIGITS);
            Prepared::Text(digits.get(own..).filter(|own| !own.is_empty())?.to_owned())
        }
    })
}

/// Year, month, day of `1980-01-31`, a time on that day, or `19800131`.
fn date(plain: &str) -> Option<[u16; 3]> {
    let digits = plain.get(..8).filter(|digits| plain.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let parts: Vec<&str> = match digits {
        Some(digits) => vec![digits.get(..4)?, digits.get(4..6)?, digits.get(6..)?],
        None => plain.split(|c: char| !c.is_ascii_digit()).take(3).collect(),
    };
    match parts.as_slice() {
        [year, month, day] if year.len() == 4 => Some([year.parse().ok()?, month.parse().ok()?, day.parse().ok()?]),
        _ => None,
    }
}

/// Similarity per field; `None` if either record lacks it.
pub(super) fn alike(
    one: Option<&Vec<Option<Prepared>>>,
    two: Option<&Vec<Option<Prepared>>>,
    fields: &[Field],
) -> Vec<Option<f64>> {
    let (Some(one), Some(two)) = (one, two) else { return Vec::new() };
    let both = fields.iter().zip(one.iter().zip(two));
    both.map(|(field, (one, two))| Some(similarity(one.as_ref()?, two.as_ref()?, field.kind))).collect()
}

fn similarity(one: &Prepared, two: &Prepared, kind: Kind) -> f64 {
    match (one, two) {
        (Prepared::Text(one), Prepared::Text(two)) if kind == Kind::Exact => f64::from(u8::from(one == two)),
        (Prepared::Name(one, sorted), Prepared::Name(two, also_sorted)) => {
            strsim::jaro_winkler(one, two).max(strsim::jaro_winkler(sorted, also_sorted))
        }
        (Prepared::Date(one), Prepared::Date(two)) => dates(*one, *two),
        (Prepared::Number(one), Prepared::Number(two)) => numbers(*one, *two),
        (Prepared::Text(one), Prepared::Text(two)) => strsim::normalized_levenshtein(one, two),
        // Only one of them could be parsed.
        _ => 0.0,
    }
}

/// Equal, else day and month swapped or one digit wrong, else by the parts that agree.
fn dates(one: [u16; 3], two: [u16; 3]) -> f64 {
    let written = |[year, month, day]: [u16; 3]| format!("{year:04}{month:02}{day:02}");
    let ([year, month, day], [other, its_month, its_day]) = (one, two);
    let wrong = strsim::hamming(&written(one), &written(two)).unwrap_or(usize::MAX);
    if wrong == 0 {
        return 1.0;
    }
    if wrong == 1 || (year == other && month == its_day && day == its_month) {
        return 0.9;
    }
    let agree = one.iter().zip(two).filter(|(one, two)| **one == *two).count();
    agree as f64 * 0.4
}

/// One minus the relative difference.
fn numbers(one: f64, two: f64) -> f64 {
    let largest = one.abs().max(two.abs());
    if one == two { 1.0 } else { (1.0 - ((one / largest) - (two / largest)).abs()).clamp(0.0, 1.0) }
}
