//! Days and moments in a text.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

/// A day that stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// First byte.
    pub start: usize,
    /// End.
    pub end: usize,
    /// The day.
    pub date: Date,
}

/// A moment that stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// First byte.
    pub start: usize,
    /// End.
    pub end: usize,
    /// The moment.
    pub at: Timestamp,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Longest text that is searched, in bytes.
const MAX_TEXT: usize = 4 * 1024 * 1024;

struct Word<'a> {
    start: usize,
    end: usize,
    text: &'a str,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = c.is_alphanumeric() || matches!(c, '-' | ':' | '.' | '+' | '/');
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(first)) => {
                let whole = text.get(first..at).unwrap_or_default();
                let kept = whole.trim_end_matches(['.', ':', '-']);
                if !kept.is_empty() {
                    found.push(Word { start: first, end: first + kept.len(), text: kept });
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Returns the days of a text, in order: "2026-11-21", "21 November 2026", "November 21, 2026", and with `today` also
/// "today", "tomorrow", "yesterday". Forms whose order differs between countries, such as 11/12/2026, are none, nor is
/// the day of a moment.
pub fn days(text: &str, today: Option<Date>) -> Vec<Day> {
    if text.len() > MAX_TEXT {
        return Vec::new();
    }
    let words = words(text);
    let moments = moments(text);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = |ahead: usize| words.get(at + ahead);
        let day = iso(word.text)
            .map(|date| (date, word.end))
            .or_else(|| {
                let (second, third) = (next(1)?, next(2)?);
                let (day, month) = (day_of(word.text).zip(month_of(second.text)))
                    .or_else(|| day_of(second.text).zip(month_of(word.text)))?;
                Some((Date::new(year_of(third.text)?, month, day).ok()?, third.end))
            })
            .or_else(|| {
                let days = match word.text.to_lowercase().as_str() {
                    "today" => 0,
                    "tomorrow" => 1,
                    "yesterday" => -1,
                    _ => return None,
                };
                Some((today?.checked_add(days.days()).ok()?, word.end))
            });
        if let Some((date, end)) = day {
            let start = word.start;
            let before = moments.partition_point(|moment| moment.start <= start);
            if before.checked_sub(1).and_then(|at| moments.get(at)).is_none_or(|moment| end > moment.end) {
                found.push(Day { start, end, date });
            }
        }
    }
    found
}

/// Returns the moments of a text, in order: "2026-11-21T03:00:00Z", "2026-11-21 03:00 UTC", "21 November 2026, 03:00
/// UTC". Each names its zone: a time without one is no moment.
pub fn moments(text: &str) -> Vec<Moment> {
    if text.len() > MAX_TEXT {
        return Vec::new();
    }
    let words = words(text);
    let mut found: Vec<Moment> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = |ahead: usize| words.get(at + ahead);
        let zone = |word: Option<&Word<'_>>| word.is_some_and(|word| matches!(word.text, "UTC" | "GMT" | "Z"));
        let one = || {
            let (date, time) = word.text.split_once('T')?;
            let date = iso(date)?;
            if let Some(time) = time.strip_suffix('Z') {
                return Some((stamp(date, time)?, word.end));
            }
            if let Ok(at) = word.text.parse::<Timestamp>() {
                return Some((at, word.end));
            }
            zone(next(1)).then(|| Some((stamp(date, time)?, next(1)?.end)))?
        };
        let two = || {
            let (date, second) = (iso(word.text)?, next(1)?);
            if let Some(time) = second.text.strip_suffix('Z') {
                return Some((stamp(date, time)?, second.end));
            }
            zone(next(2)).then(|| Some((stamp(date, second.text)?, next(2)?.end)))?
        };
        let long = || {
            let (second, third, time) = (next(1)?, next(2)?, next(3)?);
            let (day, month) = (day_of(word.text).zip(month_of(second.text)))
                .or_else(|| day_of(second.text).zip(month_of(word.text)))?;
            let date = Date::new(year_of(third.text)?, month, day).ok()?;
            // "at 03:00 UTC"
            let (time, zone_at) = if time.text == "at" { (next(4)?, 5) } else { (time, 4) };
            if let Some(clock) = time.text.strip_suffix('Z') {
                return Some((stamp(date, clock)?, time.end));
            }
            zone(next(zone_at)).then(|| Some((stamp(date, time.text)?, next(zone_at)?.end)))?
        };
        if let Some((at, end)) = one().or_else(two).or_else(long) {
            found.push(Moment { start: word.start, end, at });
        }
    }
    found
}

fn iso(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    let shape = bytes.len() == 10 && bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    if shape { text.parse().ok() } else { None }
}

fn stamp(date: Date, time: &str) -> Option<Timestamp> {
    let mut parts = time.split(':');
    let (hour, minute) = (two(parts.next()?)?, two(parts.next()?)?);
    let second = match parts.next() {
        None => 0,
        Some(second) => two(second.split('.').next()?)?,
    };
    if parts.next().is_some() {
        return None;
    }
    let time = jiff::civil::Time::new(hour, minute, second, 0).ok()?;
    date.to_datetime(time).to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

fn two(text: &str) -> Option<i8> {
    (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn day_of(text: &str) -> Option<i8> {
    let digits = text.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h']);
    let suffix = text.get(digits.len()..)?;
    let plain = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    (plain && matches!(suffix, "" | "st" | "nd" | "rd" | "th")).then(|| digits.parse().ok())?
}

fn month_of(text: &str) -> Option<i8> {
    if !text.starts_with(char::is_uppercase) || text.len() < 3 {
        return None;
    }
    let lower = text.trim_end_matches('.').to_lowercase();
    let at = MONTHS.iter().position(|month| {
        *month == lower || (lower.len() == 3 && month.starts_with(&lower)) || (lower == "sept" && *month == "september")
    })?;
    i8::try_from(at + 1).ok()
}

fn year_of(text: &str) -> Option<i16> {
    (text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        days(text, Some(date(2026, 11, 26))).iter().map(|day| day.date.to_string()).collect()
    }

    #[test]
    fn days_are_read_in_the_usual_forms() {
        for (text, wanted) in [
            ("on 2026-11-21.", "2026-11-21"),
            ("on 21 November 2026", "2026-11-21"),
            ("Nov 21, 2026", "2026-11-21"),
            ("3rd May 2026", "2026-05-03"),
            ("Start tomorrow.", "2026-11-27"),
            ("yesterday", "2026-11-25"),
        ] {
            assert_eq!(found(text), [wanted], "{text}");
        }
        assert_eq!(days("today", None), []);
    }

    #[test]
    fn ambiguous_and_impossible_days_are_none() {
        for text in [
            "11/12/2026",
            "2026-02-30",
            "31 February 2026",
            "May 2026",
            "may 3 times 2026",
            "2026",
            "2026-11-21T03:00:00Z",
            "3 may 2026",
        ] {
            assert_eq!(found(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn moments_name_their_zone() {
        for text in [
            "seen 2026-11-21T03:00:00Z,",
            "2026-11-21T03:00Z",
            "2026-11-21 03:00 UTC",
            "2026-11-21 03:00Z",
            "2026-11-21T04:00:00+01:00",
            "21 November 2026, 03:00 UTC",
            "21 November 2026 at 03:00 UTC",
        ] {
            let moments = moments(text);
            assert_eq!(moments.len(), 1, "{text}");
            assert_eq!(moments[0].at.to_string(), "2026-11-21T03:00:00Z", "{text}");
        }
        for text in ["2026-11-21 03:00", "03:00 UTC", "2026-11-21T03:00:00", "2026-11-21 25:00 UTC"] {
            assert_eq!(moments(text), [], "{text}");
        }
    }

    #[test]
    fn hostile_texts_end_soon() {
        for text in ["1 May 2026 ".repeat(5_000), "-:".repeat(200_000), "May ".repeat(50_000), "É1-".repeat(50_000)] {
            let _ = (days(&text, Some(date(2026, 1, 1))), moments(&text));
        }
    }
}
