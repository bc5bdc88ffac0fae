//! Recurrence rules (RFC 5545, section 3.3.10) as text.

use jiff::civil::{Date, DateTime, Time, Weekday};

/// Longest rule in bytes, and most values of one part.
const MAX_RULE: usize = 4_000;
const MAX_VALUES: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Freq {
    Secondly,
    Minutely,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// Last time of a rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Until {
    /// In UTC.
    Utc(DateTime),
    /// In the zone of the event; a date means its end.
    Local(DateTime),
}

/// A rule whose parts are within their ranges.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    pub(super) freq: Freq,
    pub(super) interval: i64,
    pub(super) count: Option<u64>,
    pub(super) until: Option<Until>,
    pub(super) week_start: Weekday,
    pub(super) months: Vec<i64>,
    pub(super) week_numbers: Vec<i64>,
    pub(super) year_days: Vec<i64>,
    pub(super) month_days: Vec<i64>,
    /// Ordinal, 0 for every, and day.
    pub(super) days: Vec<(i64, Weekday)>,
    pub(super) hours: Vec<i64>,
    pub(super) minutes: Vec<i64>,
    pub(super) seconds: Vec<i64>,
    pub(super) positions: Vec<i64>,
}

impl Rule {
    /// Reads a rule such as `FREQ=WEEKLY;COUNT=3;BYDAY=TU,TH`, with or without `RRULE:` before it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_RULE {
            return Err(format!("is longer than {MAX_RULE} bytes"));
        }
        let text = text.trim();
        let text = text.strip_prefix("RRULE:").unwrap_or(text);
        let mut rule = Self {
            freq: Freq::Daily,
            interval: 1,
            count: None,
            until: None,
            week_start: Weekday::Monday,
            months: Vec::new(),
            week_numbers: Vec::new(),
            year_days: Vec::new(),
            month_days: Vec::new(),
            days: Vec::new(),
            hours: Vec::new(),
            minutes: Vec::new(),
            seconds: Vec::new(),
            positions: Vec::new(),
        };
        let mut seen: Vec<String> = Vec::new();
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("has no value in `{}`", brief(part)))?;
            let (name, value) = (name.trim().to_ascii_uppercase(), value.trim().to_ascii_uppercase());
            if seen.contains(&name) {
                return Err(format!("has {name} twice"));
            }
            rule.read(&name, &value).map_err(|why| format!("has {name}={}, and {why}", brief(&value)))?;
            seen.push(name);
        }
        if !seen.iter().any(|name| name == "FREQ") {
            return Err("has no FREQ".to_owned());
        }
        rule.check()?;
        Ok(rule)
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "FREQ" => {
                self.freq = match value {
                    "SECONDLY" => Freq::Secondly,
                    "MINUTELY" => Freq::Minutely,
                    "HOURLY" => Freq::Hourly,
                    "DAILY" => Freq::Daily,
                    "WEEKLY" => Freq::Weekly,
                    "MONTHLY" => Freq::Monthly,
                    "YEARLY" => Freq::Yearly,
                    _ => return Err("must be SECONDLY to YEARLY".to_owned()),
                }
            }
            "INTERVAL" => self.interval = one(value, 1, 1_000_000)?,
            "COUNT" => self.count = Some(one(value, 1, 1_000_000)?.unsigned_abs()),
            "UNTIL" => self.until = Some(until(value).ok_or("must be a date or a time such as 19971224T000000Z")?),
            "WKST" => self.week_start = weekday(value).ok_or("must be MO to SU")?,
            "BYMONTH" => self.months = many(value, 1, 12, false)?,
            "BYWEEKNO" => self.week_numbers = many(value, 1, 53, true)?,
            "BYYEARDAY" => self.year_days = many(value, 1, 366, true)?,
            "BYMONTHDAY" => self.month_days = many(value, 1, 31, true)?,
            "BYDAY" => {
                let days: Option<Vec<_>> = value.split(',').take(MAX_VALUES + 1).map(day).collect();
                self.days = days.filter(|days| days.len() <= MAX_VALUES).ok_or("must be days such as MO or -1FR")?;
            }
            "BYHOUR" => self.hours = many(value, 0, 23, false)?,
            "BYMINUTE" => self.minutes = many(value, 0, 59, false)?,
            // A leap second is the second before it.
            "BYSECOND" => self.seconds = many(value, 0, 60, false)?.into_iter().map(|second| second.min(59)).collect(),
            "BYSETPOS" => self.positions = many(value, 1, 366, true)?,
            _ => return Err("is no part of a rule".to_owned()),
        }
        Ok(())
    }

    /// What RFC 5545 forbids for a frequency.
    fn check(&mut self) -> Result<(), String> {
        if self.count.is_some() && self.until.is_some() {
            return Err("has COUNT and UNTIL: one of them is permitted".to_owned());
        }
        if !self.week_numbers.is_empty() && self.freq != Freq::Yearly {
            return Err("has BYWEEKNO, which is for FREQ=YEARLY".to_owned());
        }
        if !self.year_days.is_empty() && matches!(self.freq, Freq::Daily | Freq::Weekly | Freq::Monthly) {
            return Err("has BYYEARDAY, which is not for FREQ=DAILY, WEEKLY or MONTHLY".to_owned());
        }
        if !self.month_days.is_empty() && self.freq == Freq::Weekly {
            return Err("has BYMONTHDAY, which is not for FREQ=WEEKLY".to_owned());
        }
        let ordinals = self.days.iter().any(|(ordinal, _)| *ordinal != 0);
        if ordinals && (self.freq < Freq::Monthly || !self.week_numbers.is_empty()) {
            return Err("has BYDAY with numbers, which are for FREQ=MONTHLY and YEARLY without BYWEEKNO".to_owned());
        }
        let by = [
            self.months.is_empty(),
            self.week_numbers.is_empty(),
            self.year_days.is_empty(),
            self.month_days.is_empty(),
            self.days.is_empty(),
            self.hours.is_empty(),
            self.minutes.is_empty(),
            self.seconds.is_empty(),
        ];
        if !self.positions.is_empty() && by.iter().all(|empty| *empty) {
            return Err("has BYSETPOS without another BY part".to_owned());
        }
        for list in [&mut self.hours, &mut self.minutes, &mut self.seconds] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(())
    }
}

fn brief(text: &str) -> String {
    text.chars().take(40).collect()
}

fn one(text: &str, least: i64, most: i64) -> Result<i64, String> {
    let value = text.parse().ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| format!("must be {least} to {most}"))
}

fn many(text: &str, least: i64, most: i64, from_end: bool) -> Result<Vec<i64>, String> {
    let within = |value: &i64| (least..=most).contains(value) || (from_end && (-most..=-least).contains(value));
    let values: Option<Vec<i64>> =
        text.split(',').take(MAX_VALUES + 1).map(|value| value.trim().parse().ok().filter(within)).collect();
    values.filter(|values| values.len() <= MAX_VALUES).ok_or_else(|| {
        let end = if from_end { ", or the same below zero from the end" } else { "" };
        format!("must be numbers of {least} to {most}{end}")
    })
}

fn weekday(text: &str) -> Option<Weekday> {
    Some(match text {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}

fn day(text: &str) -> Option<(i64, Weekday)> {
    let text = text.trim();
    let at = text.len().checked_sub(2)?;
    let (ordinal, name) = text.split_at_checked(at)?;
    let ordinal = match ordinal {
        "" => 0,
        number => number.parse().ok().filter(|n: &i64| *n != 0 && n.abs() <= 53)?,
    };
    Some((ordinal, weekday(name)?))
}

fn until(text: &str) -> Option<Until> {
    if let Some(utc) = text.strip_suffix('Z') {
        return civil(utc).map(Until::Utc);
    }
    let end_of_day = || Some(date(text)?.to_datetime(Time::constant(23, 59, 59, 0)));
    civil(text).or_else(end_of_day).map(Until::Local)
}

/// Reads `19970902`.
pub(super) fn date(text: &str) -> Option<Date> {
    if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Date::new(text.get(..4)?.parse().ok()?, text.get(4..6)?.parse().ok()?, text.get(6..)?.parse().ok()?).ok()
}

/// Reads `19970902T090000`.
pub(super) fn civil(text: &str) -> Option<DateTime> {
    let (day, time) = text.split_once('T')?;
    if time.len() != 6 || !time.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let second: i8 = time.get(4..)?.parse().ok()?;
    let time = Time::new(time.get(..2)?.parse().ok()?, time.get(2..4)?.parse().ok()?, second.min(59), 0).ok()?;
    Some(date(day)?.to_datetime(time))
}
