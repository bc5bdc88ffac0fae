//! Days and months in UTC. Pure: the time is an argument.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize, Serializer};

use muster_core::Millis;

const DAY_MS: u64 = 86_400_000;

/// A day, counted from 1970-01-01. Displayed as `2026-01-31`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct Day(pub u32);

/// A calendar month, counted from January of year 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Month(pub(super) u32);

impl Day {
    /// Returns the day of a time, in UTC.
    pub fn of(at: Millis) -> Self {
        Self(u32::try_from(at.0 / DAY_MS).unwrap_or(u32::MAX))
    }

    /// Parses `YYYY-MM-DD`, from 1970 on.
    pub fn parse(text: &str) -> Option<Self> {
        Millis::parse_rfc3339(&format!("{text}T00:00:00Z")).map(Self::of).filter(|day| day.to_string() == text)
    }

    /// Returns the day this number of days earlier.
    #[must_use]
    pub fn minus(self, days: u32) -> Self {
        Self(self.0.saturating_sub(days))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Millis(u64::from(self.0).saturating_mul(DAY_MS)).rfc3339();
        f.write_str(text.get(..10).unwrap_or(&text))
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.collect_str(self) } else { to.serialize_u32(self.0) }
    }
}

impl Month {
    pub(super) fn of(at: Millis) -> Self {
        let seconds = i64::try_from(at.seconds()).unwrap_or(i64::MAX);
        // Only years after 9999 have no date.
        let date = Timestamp::from_second(seconds).map_or(Date::MAX, |at| TimeZone::UTC.to_datetime(at).date());
        let year = u32::try_from(date.year()).unwrap_or(0);
        Self(year * 12 + u32::try_from(date.month()).unwrap_or(1) - 1)
    }

    /// Returns the start of the next month.
    pub(super) fn end(self) -> Millis {
        let (next, month) = ((self.0 + 1) / 12, i8::try_from((self.0 + 1) % 12 + 1).unwrap_or(1));
        let date = i16::try_from(next).ok().and_then(|year| Date::new(year, month, 1).ok());
        let at = TimeZone::UTC.to_timestamp(date.unwrap_or(Date::MAX).at(0, 0, 0, 0)).unwrap_or(Timestamp::MAX);
        Millis(u64::try_from(at.as_second()).unwrap_or(0).saturating_mul(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        Millis::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_day_begins_at_midnight_utc() {
        assert_eq!(Day::of(at("1970-01-01T23:59:59.999Z")), Day(0));
        assert_eq!(Day::of(at("1970-01-02T00:00:00Z")), Day(1));
        assert_eq!(Day::of(at("2024-03-01T00:00:00+01:00")).to_string(), "2024-02-29");
        assert_eq!(Day::parse("2024-02-29"), Some(Day::of(at("2024-02-29T12:00:00Z"))));
        for bad in ["2023-02-29", "2024-2-9", "", "2024-02-29T", "1969-12-31"] {
            assert_eq!(Day::parse(bad), None, "{bad}");
        }
        assert_eq!(serde_json::to_string(&Day(0)).unwrap(), "\"1970-01-01\"");
    }

    #[test]
    fn a_month_ends_when_the_next_begins() {
        for (within, next) in [
            ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
            ("2024-02-29T23:59:59.999Z", "2024-03-01T00:00:00Z"),
            ("2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00Z"),
        ] {
            assert_eq!(Month::of(at(within)).end(), at(next));
            assert_ne!(Month::of(at(within)), Month::of(at(next)));
        }
    }
}
