//! Parsers of `Retry-After` headers.

use std::time::{Duration, SystemTime};

use jiff::civil::{DateTime, date};
use jiff::fmt::strtime;

/// Upper bound of a wait; longer ones are cut, so that a wrong header cannot disable a provider indefinitely.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Parses `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP-date as IMF-fixdate or asctime. Fractions of a second
/// are accepted, as some providers send them. `now` is the current time.
pub fn parse_retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return duration(seconds);
    }
    let until = http_date(value)?.duration_since(date(1970, 1, 1).at(0, 0, 0, 0));
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Some(Duration::try_from(until).unwrap_or_default().saturating_sub(now).min(MAX_RETRY_AFTER))
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

/// Parses IMF-fixdate (`Sun, 06 Nov 1994 08:49:37 GMT`) and asctime (`Sun Nov  6 08:49:37 1994`), both in UTC. The form is
/// checked first, because the parser accepts more; that the day of the week is right is not checked.
fn http_date(value: &str) -> Option<DateTime> {
    let (form, format) = match value.len() {
        29 => ("Aaa, 00 Aaa 0000 00:00:00 GMT", "%d %b %Y %H:%M:%S GMT"),
        24 => ("Aaa Aaa ?0 00:00:00 0000", "%b %e %H:%M:%S %Y"),
        _ => return None,
    };
    let fits = value.bytes().zip(form.bytes()).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        b'?' => byte == b' ' || byte.is_ascii_digit(),
        b'A' => byte.is_ascii_uppercase(),
        b'a' => byte.is_ascii_lowercase(),
        other => byte == other,
    });
    let (weekday, rest) = value.split_at_checked(3)?;
    if !fits || value.contains(":60") || !["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&weekday) {
        return None;
    }
    strtime::parse(format, rest.trim_start_matches([',', ' ']))
        .and_then(|date| date.to_datetime())
        .ok()
        .filter(|date| date.year() >= 1900)
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
    fn dates_of_rfc_9110_are_parsed() {
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse_retry_after(date, at(EXAMPLE - 90)), Some(Duration::from_secs(90)), "{date}");
            assert_eq!(parse_retry_after(date, at(EXAMPLE + 5)), Some(Duration::ZERO));
        }
    }

    #[test]
    fn only_seconds_and_milliseconds_are_accepted() {
        let now = at(0);
        assert_eq!(parse_retry_after(" 120 ", now), Some(Duration::from_secs(120)));
        assert_eq!(parse_retry_after("1.5", now), Some(Duration::from_millis(1500)));
        assert_eq!(parse_retry_after("1e300", now), Some(MAX_RETRY_AFTER));
        assert_eq!(parse_retry_after_ms("250"), Some(Duration::from_millis(250)));
        let wrong_dates = [
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 EST",
            "Sun, 6 Nov 1994 08:49:37 GMTX",
            "Son, 06 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun Nov 6 08:49:37 1994 ",
            "Sun Nov  6 08:49:60 1994",
            "Mon, 06 Nov 1899 08:49:37 GMT",
        ];
        for bad in ["", "soon", "-1", "nan", "inf"].into_iter().chain(wrong_dates) {
            assert_eq!(parse_retry_after(bad, now), None, "{bad}");
            assert_eq!(parse_retry_after_ms(bad), None, "{bad}");
        }
    }
}
