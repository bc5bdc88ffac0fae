//! Days of the month as times, by a reference date.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A day of the month with a time. Hour 24 is midnight at the end of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayTime {
    day: i8,
    hour: i8,
    minute: i8,
}

/// The date near which a report was sent.
#[derive(Debug, Clone, Copy)]
pub struct Calendar(Date);

impl Calendar {
    pub fn new(reference: Option<Date>) -> Option<Self> {
        reference.map(Self)
    }

    /// Returns the time with this day of the month that is nearest to the reference date.
    pub fn resolve(self, at: DayTime) -> Option<Timestamp> {
        let near = (-1..=1).filter_map(|months: i64| {
            let month = self.0.first_of_month().checked_add(months.months()).ok()?;
            let date = Date::new(month.year(), month.month(), at.day).ok()?;
            Some((date.since(self.0).ok()?.get_days().abs(), date))
        });
        let (_, date) = near.min_by_key(|(distance, _)| *distance)?;
        let (date, hour) = if at.hour == 24 { (date.tomorrow().ok()?, 0) } else { (date, at.hour) };
        let time = DateTime::new(date.year(), date.month(), date.day(), hour, at.minute, 0, 0).ok()?;
        time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    }
}

/// Reads a group such as `041651Z`.
pub fn day_and_time(group: &str) -> Option<DayTime> {
    let digits = group.strip_suffix('Z').filter(|digits| digits.len() == 6)?;
    six(digits)
}

/// Reads a group such as `FM050200`.
pub fn from_group(group: &str) -> Option<DayTime> {
    group.strip_prefix("FM").filter(|digits| digits.len() == 6).and_then(six)
}

/// Reads a group such as `0418/0524`.
pub fn period(group: &str) -> Option<(DayTime, DayTime)> {
    let (from, to) = group.split_once('/')?;
    let four = |digits: &str| (digits.len() == 4).then(|| six(&format!("{digits}00")))?;
    Some((four(from)?, four(to)?))
}

fn six(digits: &str) -> Option<DayTime> {
    let part = |from: usize| {
        digits.get(from..from + 2).filter(|two| two.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    };
    let at = DayTime { day: part(0)?, hour: part(2)?, minute: part(4)? };
    let within = (1..=31).contains(&at.day) && at.minute < 60 && (at.hour < 24 || (at.hour == 24 && at.minute == 0));
    within.then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_month_is_taken() {
        let resolve = |reference: &str, group: &str| {
            let calendar = Calendar::new(Some(reference.parse().unwrap())).unwrap();
            calendar.resolve(day_and_time(group).unwrap()).unwrap().to_string()
        };
        assert_eq!(resolve("2026-12-01", "302350Z"), "2026-11-30T23:50:00Z");
        assert_eq!(resolve("2026-12-31", "010005Z"), "2027-01-01T00:05:00Z");
        assert_eq!(resolve("2026-02-28", "311200Z"), "2026-01-31T12:00:00Z");
        assert_eq!(resolve("2026-11-04", "042400Z"), "2026-11-05T00:00:00Z");
    }
}
