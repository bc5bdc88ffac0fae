//! The only source of time: wall-clock time for records and limits, read through a value that tests control.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::civil::{DateTime, date};
use jiff::fmt::temporal::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the Unix epoch, UTC. Serialized as RFC 3339 in human-readable formats and as a number in compact
/// ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.serialize_str(&self.rfc3339()) } else { to.serialize_u64(self.0) }
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            let text = String::deserialize(from)?;
            Self::parse_rfc3339(&text).ok_or_else(|| D::Error::custom("must be an RFC 3339 time"))
        } else {
            u64::deserialize(from).map(Self)
        }
    }
}

impl Millis {
    /// The last millisecond of the year 9999, the last time that RFC 3339 can express.
    const LAST: Self = Self(253_402_300_799_999);

    /// Formats the time as RFC 3339 in UTC with milliseconds and `Z`, the form used in every response. Times after the
    /// year 9999 are formatted as its last millisecond.
    pub fn rfc3339(self) -> String {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
        let millis = i64::try_from(self.min(Self::LAST).0).unwrap_or_default();
        match Timestamp::from_millisecond(millis) {
            Ok(at) => PRINTER.timestamp_to_string(&at),
            // The last 26 hours of the year 9999, which `Timestamp` excludes.
            Err(_) => {
                let at = EPOCH.checked_add(SignedDuration::from_millis(millis)).unwrap_or(DateTime::MAX);
                PRINTER.datetime_to_string(&at) + "Z"
            }
        }
    }

    /// Parses an RFC 3339 time with any offset. `None` for other texts, and for times that in UTC are before 1970 or
    /// after the year 9999.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        if !has_rfc3339_shape(text) {
            return None;
        }
        let millis = match text.parse::<Timestamp>() {
            Ok(at) => i128::from(at.as_millisecond()),
            Err(_) => parse_beyond_timestamps(text)?.as_millis(),
        };
        u64::try_from(millis).ok().map(Self).filter(|at| *at <= Self::LAST)
    }

    /// Returns whole seconds since the Unix epoch.
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Adds a duration, saturating at the maximum.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Returns the duration since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// Parses a text of the form of RFC 3339; returns the time since the Unix epoch. `Timestamp` ends 26 hours before the
/// year 9999 does, so that each of its values has a local time with every offset.
fn parse_beyond_timestamps(text: &str) -> Option<SignedDuration> {
    let (local, ahead) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local, SignedDuration::ZERO),
        None => {
            let (local, offset) = text.split_at_checked(text.len().checked_sub("+00:00".len())?)?;
            let (hours, minutes) = offset.get(1..)?.split_once(':')?;
            let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let ahead = SignedDuration::from_mins(60 * hours + minutes);
            (local, if offset.starts_with('-') { -ahead } else { ahead })
        }
    };
    let local: DateTime = local.parse().ok()?;
    local.duration_since(EPOCH).checked_sub(ahead)
}

/// Returns whether a text has the form that RFC 3339 (section 5.6) requires. The parser also accepts ISO 8601 forms
/// beyond it, such as times without seconds and time zones in brackets.
fn has_rfc3339_shape(text: &str) -> bool {
    let Some((head, rest)) = text.as_bytes().split_at_checked("1985-04-12T23:20:50".len()) else { return false };
    let head = head.iter().zip(b"0000-00-00T00:00:00").all(|(&is, &form)| match form {
        b'0' => is.is_ascii_digit(),
        other => is.eq_ignore_ascii_case(&other),
    });
    let offset = match rest.split_first() {
        Some((b'.', fraction)) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            fraction.get(digits..).unwrap_or_default()
        }
        _ => rest,
    };
    head && match offset {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}

/// A source of time. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Clock(Source);

#[derive(Debug, Clone, Default)]
enum Source {
    #[default]
    System,
    Manual(Arc<AtomicU64>),
    /// Follows tokio's (pausable) time from a fixed start.
    Tokio(tokio::time::Instant, u64),
}

impl Clock {
    /// Creates a clock that reads the system's wall-clock time.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// Creates a clock that stays at `start` until `advance` is called.
    pub fn manual(start: Millis) -> Self {
        Self(Source::Manual(Arc::new(AtomicU64::new(start.0))))
    }

    /// Creates a clock that starts at `start` and follows tokio's time, including pauses.
    pub fn tokio(start: Millis) -> Self {
        Self(Source::Tokio(tokio::time::Instant::now(), start.0))
    }

    /// Returns the current time.
    pub fn now(&self) -> Millis {
        match &self.0 {
            Source::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
            }
            Source::Manual(at) => Millis(at.load(Ordering::Acquire)),
            Source::Tokio(origin, start) => Millis(*start).plus(origin.elapsed()),
        }
    }

    /// Advances a manual clock. Has no effect on other clocks.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(at) = &self.0 {
            at.fetch_add(u64::try_from(by.as_millis()).unwrap_or(0), Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc3339_with_milliseconds() {
        // RFC 3339 section 5.8, first example.
        let at = Millis::parse_rfc3339("1985-04-12T23:20:50.52Z").unwrap();
        assert_eq!(at, Millis(482_196_050_520));
        assert_eq!(at.rfc3339(), "1985-04-12T23:20:50.520Z");
        // Its second example: the same instant in another offset.
        assert_eq!(Millis::parse_rfc3339("1996-12-19T16:39:57-08:00"), Millis::parse_rfc3339("1996-12-20T00:39:57Z"));
    }

    #[test]
    fn the_last_day_of_the_year_9999_is_parsed_and_formatted() {
        // 253402300799 is 9999-12-31T23:59:59Z (`date -u -d 9999-12-31T23:59:59Z +%s`).
        for (text, millis, formatted) in [
            ("9999-12-31T23:59:59Z", 253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
            ("9999-12-31T23:59:59.999999z", 253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            ("9999-12-31T23:59:59+12:00", 253_402_257_599_000, "9999-12-31T11:59:59.000Z"),
            ("9999-12-31T11:59:59-12:00", 253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
            ("9999-12-30T22:00:00Z", 253_402_207_200_000, "9999-12-30T22:00:00.000Z"),
            ("9999-12-30T22:00:01Z", 253_402_207_201_000, "9999-12-30T22:00:01.000Z"),
        ] {
            let at = Millis::parse_rfc3339(text);
            assert_eq!(at, Some(Millis(millis)), "{text}");
            assert_eq!(at.unwrap().rfc3339(), formatted, "{text}");
        }
        assert_eq!(Millis(u64::MAX).rfc3339(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn times_after_the_year_9999_in_utc_and_invalid_offsets_are_rejected() {
        for text in [
            "9999-12-31T23:59:59-12:00",
            "9999-12-31T23:59:59-00:01",
            "9999-12-31T23:59:59+24:00",
            "9999-12-31T23:59:59+00:60",
            "9999-12-32T00:00:00Z",
            "9999-12-31T24:00:00Z",
            "1969-12-31T23:59:59Z",
            "0000-01-01T00:00:00+23:59",
        ] {
            assert_eq!(Millis::parse_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn iso_8601_forms_beyond_rfc_3339_are_rejected() {
        for text in [
            "1985-04-12T23:20Z",
            "1985-04-12T23:20:50",
            "1985-04-12 23:20:50Z",
            "1985-04-12T23:20:50.Z",
            "1985-04-12T23:20:50+0100",
            "1985-04-12T23:20:50Z[UTC]",
            "1985-04-12T23:20:50,5Z",
            "19850412T232050Z",
            "1985-13-12T23:20:50Z",
            "",
        ] {
            assert_eq!(Millis::parse_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_rfc_3339_in_json_and_numbers_in_postcard() {
        let at = Millis(482_196_050_520);
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"1985-04-12T23:20:50.520Z\"");
        assert_eq!(serde_json::from_str::<Millis>("\"1985-04-12T23:20:50.520Z\"").unwrap(), at);
        let bytes = postcard::to_allocvec(&at).unwrap();
        assert_eq!(postcard::from_bytes::<Millis>(&bytes).unwrap(), at);
    }

    #[test]
    fn a_manual_clock_moves_only_by_advance() {
        let clock = Clock::manual(Millis(5));
        let twin = clock.clone();
        clock.advance(Duration::from_secs(1));
        assert_eq!(twin.now(), Millis(1005));
    }
}
