//! CAP timestamps: `2002-05-24T16:49:00-07:00`, always with a numeric offset of hours and minutes.

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use serde::{Deserialize, Serialize};

/// A timestamp in its original spelling. The text is kept because references identify an alert by its exact `sent`
/// value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CapTime(String);

impl CapTime {
    /// Parses `YYYY-MM-DDThh:mm:ss±hh:mm`. The standard forbids `Z` (section 3.3.2): UTC is written `-00:00`.
    /// Fractional seconds are accepted, as XML Schema's `dateTime` allows them.
    pub fn parse(text: &str) -> Option<Self> {
        since_epoch(text).map(|_| Self(text.to_owned()))
    }

    /// Creates a UTC timestamp with a resolution of one second. `millis` counts from the Unix epoch; a time after the
    /// year 9999, which a timestamp of an offset can be, becomes the last second of it.
    pub fn utc(millis: u64) -> Self {
        let seconds = i64::try_from(millis / 1000).unwrap_or(i64::MAX);
        let at = EPOCH.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(LAST);
        Self(format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}-00:00",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        ))
    }

    /// Returns the timestamp as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns milliseconds since the Unix epoch, or 0 for times before it.
    pub fn millis(&self) -> u64 {
        since_epoch(&self.0).and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or(0)
    }
}

const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);
const LAST: DateTime = date(9999, 12, 31).at(23, 59, 59, 0);

/// Parses a timestamp; returns the time from the Unix epoch to it. Every part but the date and the time of day is read
/// here, because the parser accepts more than the standard: other separators, missing seconds, offsets of hours alone.
/// Dates are not limited to those of `jiff::Timestamp`, so that 9999-12-31 is valid with every offset.
fn since_epoch(text: &str) -> Option<SignedDuration> {
    let (local, offset) = text.split_at_checked(text.len().checked_sub("+00:00".len())?)?;
    let (seconds, fraction) = local.split_at_checked("0000-00-00T00:00:00".len())?;
    let is_fraction = fraction
        .strip_prefix('.')
        .map_or(fraction.is_empty(), |digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_fraction || !has_form(seconds, "0000-00-00T00:00:00") {
        return None;
    }
    // Digits beyond nanoseconds are dropped.
    let at: DateTime = local.get(..local.len().min("0000-00-00T00:00:00.123456789".len()))?.parse().ok()?;
    let since = at.duration_since(EPOCH).checked_sub(parse_offset(offset)?)?;
    if !seconds.ends_with(":60") {
        return Some(since);
    }
    // The parser reads a leap second as the second before it. In UTC they are the last second of a month.
    let utc = EPOCH.checked_add(since).ok()?;
    let is_last = (utc.hour(), utc.minute()) == (23, 59) && utc.date() == utc.date().last_of_month();
    is_last.then(|| SignedDuration::new(since.as_secs(), 999_999_999))
}

/// Parses `±hh:mm`.
fn parse_offset(text: &str) -> Option<SignedDuration> {
    let (sign, hours_minutes) = text.split_at_checked(1)?;
    let (hours, minutes) = hours_minutes.split_once(':').filter(|_| has_form(hours_minutes, "00:00"))?;
    let below = |text: &str, limit: i64| text.parse::<i64>().ok().filter(|number| *number < limit);
    let ahead = SignedDuration::from_secs(below(hours, 24)? * 3600 + below(minutes, 60)? * 60);
    match sign {
        "+" => Some(ahead),
        "-" => Some(-ahead),
        _ => None,
    }
}

/// Whether a text has a digit where the form has `0`, and the form's character everywhere else.
fn has_form(text: &str, form: &str) -> bool {
    let fits = |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

impl TryFrom<String> for CapTime {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("must be a CAP time, such as 2002-05-24T16:49:00-07:00")
    }
}

impl From<CapTime> for String {
    fn from(time: CapTime) -> Self {
        time.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_parsed() {
        // CAP 1.2, section 3.3.2: 24 May 2002 at 16:49 Pacific Daylight Time.
        let at = CapTime::parse("2002-05-24T16:49:00-07:00").unwrap();
        assert_eq!(at.millis(), 1_022_284_140_000);
        assert_eq!(CapTime::utc(at.millis()).as_str(), "2002-05-24T23:49:00-00:00");
        assert_eq!(CapTime::utc(at.millis()).millis(), at.millis());
    }

    #[test]
    fn fractions_leap_seconds_and_the_last_day_are_read() {
        let millis = |text: &str| CapTime::parse(text).unwrap().millis();
        assert_eq!(millis("2002-05-24T16:49:00.1256789012-07:00"), 1_022_284_140_125);
        // The leap second at the end of 2016, as two places write it (IERS Bulletin C 52).
        assert_eq!(millis("2016-12-31T23:59:60-00:00"), 1_483_228_799_999);
        assert_eq!(millis("2017-01-01T08:59:60+09:00"), 1_483_228_799_999);
        assert_eq!(millis("9999-12-31T23:59:59-14:00"), 253_402_351_199_000);
        assert_eq!(millis("0000-01-01T00:00:00-00:00"), 0, "before the epoch");
        assert_eq!(CapTime::utc(253_402_300_799_000).as_str(), "9999-12-31T23:59:59-00:00");
        assert_eq!(CapTime::utc(u64::MAX).as_str(), "9999-12-31T23:59:59-00:00");
    }

    #[test]
    fn letters_as_offset_and_incomplete_times_are_rejected() {
        for wrong in [
            "2002-05-24T16:49:00Z",
            "2002-05-24T16:49:00",
            "2002-05-24 16:49:00-07:00",
            "2002-13-24T16:49:00-07:00",
            "",
            "-07:00",
            "é00:00",
            // What the parser of dates would take beyond the standard's form.
            "2002-05-24t16:49:00-07:00",
            "2002-05-24T16:49-07:00",
            "2002-05-24T16:49:00,5-07:00",
            "2002-05-24T16:49:00.-07:00",
            "2002-05-24T16:49:00-24:00",
            "2002-05-24T16:49:00-07:60",
            "2002-05-24T24:00:00-07:00",
            "2002-05-24T16:49:60-07:00",
            "+002002-05-24T16:49:00-07:00",
        ] {
            assert_eq!(CapTime::parse(wrong), None, "{wrong}");
        }
    }
}
