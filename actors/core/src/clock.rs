//! The only source of time: wall-clock time for records and limits, read through a value that tests control.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
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
    /// Formats the time as RFC 3339 in UTC with milliseconds and `Z`, the form used in every response.
    pub fn rfc3339(self) -> String {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
        i64::try_from(self.0)
            .ok()
            .and_then(|ms| Timestamp::from_millisecond(ms).ok())
            .map(|at| PRINTER.timestamp_to_string(&at))
            // Only reached for years past 9999.
            .unwrap_or_else(|| "9999-12-31T23:59:59.999Z".to_owned())
    }

    /// Parses an RFC 3339 time with any offset.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let at: Timestamp = text.parse().ok().filter(|_| has_rfc3339_shape(text))?;
        u64::try_from(at.as_millisecond()).ok().map(Self)
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
