//! Facts in a text: dates and times, quantities with units, money, people, coordinates, contacts.
//!
//! [`find`] gives each with its place in the text: `text[start..end]` is what was read, in bytes.
//! Readings that depend on the day ("tomorrow", "on Friday", "2 May") need the
//! time in [`Clock`]; without it they are not found. Composed and decomposed forms of a text give the same facts. Time is
//! linear in any text.

mod dates;
mod lexer;
mod numbers;
mod patterns;
mod quantities;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use muster_kernel_earth::LatLon;

use crate::units::Unit;

/// What relative times refer to.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The time of writing.
    pub now: Option<Timestamp>,
    /// Zone of times without one.
    pub zone: TimeZone,
}

impl Default for Clock {
    fn default() -> Self {
        Self { now: None, zone: TimeZone::UTC }
    }
}

/// A fact and its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Byte at which it begins.
    pub start: usize,
    /// Byte after its end.
    pub end: usize,
    /// What it is.
    pub value: Value,
    /// Whether another reading fits as well, such as 05/06/2026.
    pub ambiguous: bool,
}

/// What a fact is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number without a unit.
    Number(f64),
    /// A number with a unit.
    Quantity {
        /// The number.
        value: f64,
        /// The unit.
        unit: &'static Unit,
    },
    /// A length of time: a quantity in a unit of time.
    Duration {
        /// The number.
        value: f64,
        /// The unit.
        unit: &'static Unit,
    },
    /// An amount of money.
    Money {
        /// The amount.
        value: f64,
        /// ISO 4217.
        currency: &'static str,
    },
    /// A number of people.
    People(f64),
    /// A day.
    Date(Date),
    /// A moment.
    Moment(Timestamp),
    /// A time of day without a date, as hours and minutes.
    Clock {
        /// 0 to 23.
        hour: i8,
        /// 0 to 59.
        minute: i8,
    },
    /// A position.
    Place(LatLon),
    /// A telephone number: `+` and digits where it is international, else digits.
    Phone(String),
    /// An e-mail address.
    Email(String),
    /// An address of the web.
    Url(String),
}

impl Value {
    /// Returns the name of the kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "number",
            Self::Quantity { .. } => "quantity",
            Self::Duration { .. } => "duration",
            Self::Money { .. } => "money",
            Self::People(_) => "people",
            Self::Date(_) | Self::Moment(_) => "date",
            Self::Clock { .. } => "time",
            Self::Place(_) => "coordinates",
            Self::Phone(_) => "phone",
            Self::Email(_) => "email",
            Self::Url(_) => "url",
        }
    }
}

/// Kinds of facts, by the names of [`Value::kind`].
pub const KINDS: [&str; 11] =
    ["coordinates", "date", "duration", "email", "money", "number", "people", "phone", "quantity", "time", "url"];

/// Returns the facts of a text in order, none within another. Of two that overlap the one that begins first is taken, and
/// of two with one begin the longer.
pub fn find(text: &str, clock: &Clock) -> Vec<Fact> {
    let mut found = patterns::find(text);
    let taken: Vec<(usize, usize)> = found.iter().map(|fact| (fact.start, fact.end)).collect();
    let tokens = lexer::tokens(text, &taken);
    let mut at = 0;
    while at < tokens.len() {
        let rest = tokens.get(at..).unwrap_or_default();
        let next = dates::read(rest, clock).or_else(|| quantities::read(rest));
        match next {
            Some((fact, used)) => {
                found.push(fact);
                at += used.max(1);
            }
            None => at += 1,
        }
    }
    found.sort_by_key(|fact| (fact.start, fact.end));
    found
}
