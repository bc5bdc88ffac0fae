//! CAP timestamps: `2002-05-24T16:49:00-07:00`, always with a numeric offset of hours and minutes.

use ::time::OffsetDateTime;
use ::time::format_description::well_known::Rfc3339;
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
        let offset = text.get(text.len().checked_sub(6)?..)?.as_bytes();
        let digits = |at: &[u8]| at.iter().all(u8::is_ascii_digit);
        let fit = match offset {
            [b'+' | b'-', h1, h2, b':', m1, m2] => digits(&[*h1, *h2, *m1, *m2]),
            _ => false,
        };
        let capital = text.as_bytes().get(10) == Some(&b'T');
        (fit && capital && OffsetDateTime::parse(text, &Rfc3339).is_ok()).then(|| Self(text.to_owned()))
    }

    /// Creates a UTC timestamp with a resolution of one second. `millis` counts from the Unix epoch.
    pub fn utc(millis: u64) -> Self {
        let seconds = i64::try_from(millis / 1000).unwrap_or(i64::MAX);
        let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        Self(format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}-00:00",
            at.year(),
            u8::from(at.month()),
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
        let at = OffsetDateTime::parse(&self.0, &Rfc3339).map_or(0, |at| at.unix_timestamp_nanos() / 1_000_000);
        u64::try_from(at).unwrap_or(0)
    }
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
    fn letters_as_offset_and_incomplete_times_are_rejected() {
        for wrong in [
            "2002-05-24T16:49:00Z",
            "2002-05-24T16:49:00",
            "2002-05-24 16:49:00-07:00",
            "2002-13-24T16:49:00-07:00",
            "",
            "-07:00",
            "é00:00",
        ] {
            assert_eq!(CapTime::parse(wrong), None, "{wrong}");
        }
    }
}
