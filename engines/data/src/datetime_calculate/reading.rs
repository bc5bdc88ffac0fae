//! Parses times, durations and units.

use jiff::civil::{DateTime, ISOWeekDate};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Unit, Zoned};

use muster_engine::prelude::*;

/// Parses a time in any of the forms listed in the error message. A time with its own zone keeps it; others are
/// interpreted in `zone`.
pub(super) fn read(field: &str, text: &str, zone: &TimeZone, context: &Context) -> Result<Zoned, Failure> {
    let text = text.trim();
    if text.contains('[') {
        // A zone that contradicts the offset is an error (RFC 9557, section 3.4).
        return text.parse::<Zoned>().map_err(|error| Failure::invalid(&[field], error.to_string()));
    }
    let instant = text.parse::<Timestamp>().ok().or_else(|| epoch(text));
    if let Some(instant) = instant.or_else(|| jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp())) {
        return Ok(instant.to_zoned(zone.clone()));
    }
    let week = |text: &str| text.parse::<ISOWeekDate>().ok().map(|week| week.date().into());
    let Some(local) = text.parse::<DateTime>().ok().or_else(|| week(text)) else {
        let forms = "2026-11-21T03:00:00Z, 2026-11-21T04:00[Europe/Oslo], 2026-11-21, 2026-W47-6, \
                     Sat, 21 Nov 2026 03:00:00 +0000 or 1795230000";
        return Err(Failure::invalid(&[field], format!("is not a supported time: write it as {forms}")));
    };
    let ambiguous = zone.to_ambiguous_zoned(local);
    match ambiguous.offset() {
        jiff::tz::AmbiguousOffset::Unambiguous { .. } => {}
        jiff::tz::AmbiguousOffset::Gap { .. } => {
            context.warn(format!("{field}: the clock jumps over {local} in this zone: moved by what it jumps"));
        }
        jiff::tz::AmbiguousOffset::Fold { .. } => {
            context.warn(format!("{field}: the clock shows {local} twice in this zone: the first is taken"));
        }
    }
    ambiguous.compatible().map_err(|error| Failure::invalid(&[field], error.to_string()))
}

/// Seconds since 1970, or milliseconds if there are twelve digits or more; eight digits are a date.
fn epoch(text: &str) -> Option<Timestamp> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let number: i64 = Some(text).filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()?;
    match digits.len() {
        8 => None,
        0..=11 => Timestamp::from_second(number).ok(),
        _ => Timestamp::from_millisecond(number).ok(),
    }
}

/// Parses a duration in ISO 8601 or in words.
pub(super) fn span(text: &str) -> Result<Span, Failure> {
    text.trim().parse().map_err(|error| {
        let how = "is not a duration: write one such as P1M, -PT36H or 2 days 3 hours";
        Failure::invalid(&["amount"], format!("{how} ({error})"))
    })
}

pub(super) fn unit(text: &str) -> Result<Unit, Failure> {
    let name = text.trim().to_lowercase();
    match name.strip_suffix('s').unwrap_or(&name) {
        "year" => Ok(Unit::Year),
        "month" => Ok(Unit::Month),
        "week" => Ok(Unit::Week),
        "day" => Ok(Unit::Day),
        "hour" => Ok(Unit::Hour),
        "minute" => Ok(Unit::Minute),
        "second" => Ok(Unit::Second),
        _ => Err(Failure::invalid(
            &["amount"],
            "is the largest unit of a difference: years, months, weeks, days, hours, minutes or seconds",
        )),
    }
}
