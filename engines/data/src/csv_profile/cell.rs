//! Type of one CSV value.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

/// Values that pandas' `read_csv` treats as missing, after trimming.
const MISSING: [&str; 19] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// The types, in the order of the lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Bool,
    Int,
    Float,
    Date,
    Datetime,
    Text,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::Text => "string",
        }
    }

    pub const fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }

    /// The narrowest type that contains both: numbers, times, or else text.
    pub fn join(self, other: Self) -> Self {
        let related = |least: Self, most: Self| (least..=most).contains(&self) && (least..=most).contains(&other);
        if self == other || related(Self::Int, Self::Float) || related(Self::Date, Self::Datetime) {
            self.max(other)
        } else {
            Self::Text
        }
    }
}

pub fn is_missing(text: &str) -> bool {
    MISSING.contains(&text.trim())
}

/// Returns a value's type and its position on the number line: the number, or seconds since 1970; unused for text.
pub fn classify(text: &str) -> (Kind, f64) {
    let text = text.trim();
    let first = text.bytes().next().unwrap_or_default();
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return (Kind::Bool, f64::from(u8::from(text.len() == 4)));
    }
    if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.') {
        if let Some(number) = number(text) {
            return number;
        }
        if let Some(time) = time(text) {
            return time;
        }
    }
    (Kind::Text, 0.0)
}

fn number(text: &str) -> Option<(Kind, f64)> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    // Rust parses these as numbers, but people do not write them so: inf, nan, infinity.
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    let whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((if whole { Kind::Int } else { Kind::Float }, value))
}

/// ISO 8601 dates and times; a time without a zone counts as UTC.
fn time(text: &str) -> Option<(Kind, f64)> {
    let seconds = |at: DateTime| at.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|at| at.timestamp());
    match text.len() {
        10 => {
            let date: Date = text.parse().ok()?;
            Some((Kind::Date, seconds(date.to_datetime(jiff::civil::Time::midnight()))?.as_second() as f64))
        }
        16..=35 => {
            let at = text.parse::<Timestamp>().ok().or_else(|| seconds(text.parse::<DateTime>().ok()?))?;
            Some((Kind::Datetime, at.as_second() as f64 + f64::from(at.subsec_nanosecond()) / 1e9))
        }
        _ => None,
    }
}
