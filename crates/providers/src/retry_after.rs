//! Parsers of `Retry-After` headers.

use std::time::{Duration, SystemTime};

use time::format_description::well_known::Rfc2822;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

/// Upper bound of a wait; longer ones are cut, so that a wrong header cannot disable a provider indefinitely.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Parses `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP-date as IMF-fixdate or asctime. Fractions of a second
/// are accepted, as some providers send them. `now` is the current time.
pub fn parse_retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return duration(seconds);
    }
    let until = http_date(value)?;
    let wait = until - OffsetDateTime::from(now);
    Some(Duration::try_from(wait).unwrap_or_default().min(MAX_RETRY_AFTER))
}

/// Parses `Retry-After-Ms`, which OpenAI and Azure send beside the standard header: milliseconds.
pub fn parse_retry_after_ms(value: &str) -> Option<Duration> {
    duration(value.trim().parse::<f64>().ok()? / 1000.0)
}

fn duration(seconds: f64) -> Option<Duration> {
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(seconds).map_or(MAX_RETRY_AFTER, |d| d.min(MAX_RETRY_AFTER)))
}

fn http_date(value: &str) -> Option<OffsetDateTime> {
    let asctime = format_description!(
        "[weekday repr:short] [month repr:short] [day padding:space] [hour]:[minute]:[second] [year]"
    );
    OffsetDateTime::parse(value, &Rfc2822)
        .ok()
        .or_else(|| PrimitiveDateTime::parse(value, &asctime).ok().map(PrimitiveDateTime::assume_utc))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9110, 5.6.7: 1994-11-06 08:49:37 UTC in each form; 784111777 in Unix seconds.
    const EXAMPLE: u64 = 784_111_777;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn the_dates_of_rfc_9110() {
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse_retry_after(date, at(EXAMPLE - 90)), Some(Duration::from_secs(90)), "{date}");
            assert_eq!(parse_retry_after(date, at(EXAMPLE + 5)), Some(Duration::ZERO));
        }
    }

    #[test]
    fn seconds_and_milliseconds() {
        let now = at(0);
        assert_eq!(parse_retry_after(" 120 ", now), Some(Duration::from_secs(120)));
        assert_eq!(parse_retry_after("1.5", now), Some(Duration::from_millis(1500)));
        assert_eq!(parse_retry_after("1e300", now), Some(MAX_RETRY_AFTER));
        assert_eq!(parse_retry_after_ms("250"), Some(Duration::from_millis(250)));
        for bad in ["", "soon", "-1", "nan", "inf"] {
            assert_eq!(parse_retry_after(bad, now), None, "{bad}");
            assert_eq!(parse_retry_after_ms(bad), None, "{bad}");
        }
    }
}
