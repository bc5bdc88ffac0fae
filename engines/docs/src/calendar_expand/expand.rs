//! Expansion of recurrence rules in local times.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Span, ToSpan};

use super::rule::{Freq, Rule};

/// Work that is left: days that are looked at and times that are built.
pub(super) struct Budget(pub(super) u64);

impl Budget {
    fn spend(&mut self, units: u64) -> Result<(), TooMuch> {
        self.0 = self.0.checked_sub(units).ok_or(TooMuch)?;
        Ok(())
    }
}

/// The rule needs more work than is permitted.
#[derive(Debug)]
pub(super) struct TooMuch;

/// Calls `each` with the local times of a rule in order, from the first, until `each` returns false or the periods begin
/// after `end`. Times before `from` are left out where the rule counts none.
pub(super) fn expand(
    rule: &Rule,
    first: DateTime,
    (from, end): (DateTime, DateTime),
    budget: &mut Budget,
    mut each: impl FnMut(DateTime) -> bool,
) -> Result<(), TooMuch> {
    let expansion = Expansion::new(rule, first);
    let mut period = if rule.count.is_some() { 0 } else { expansion.period_before(from) };
    // Years end at 9999.
    while let Some(days) = expansion.days(period).filter(|days| days.begin <= end) {
        budget.spend(days.looked_at)?;
        for time in expansion.times(&days, budget)?.into_iter().filter(|time| *time >= first) {
            if !each(time) {
                return Ok(());
            }
        }
        period += 1;
    }
    Ok(())
}

struct Expansion<'a> {
    rule: &'a Rule,
    first: DateTime,
    months: Vec<i64>,
    month_days: Vec<i64>,
    days: Vec<(i64, Weekday)>,
    hours: Vec<i64>,
    minutes: Vec<i64>,
    seconds: Vec<i64>,
}

/// The days of a period, and the time of day where it is shorter than a day.
struct Days {
    begin: DateTime,
    days: Vec<Date>,
    looked_at: u64,
}

impl<'a> Expansion<'a> {
    /// Parts that a rule leaves out follow from the first time.
    fn new(rule: &'a Rule, first: DateTime) -> Self {
        let (mut months, mut month_days, mut days) = (rule.months.clone(), rule.month_days.clone(), rule.days.clone());
        if rule.week_numbers.is_empty() && rule.year_days.is_empty() && month_days.is_empty() && days.is_empty() {
            match rule.freq {
                Freq::Yearly => {
                    if months.is_empty() {
                        months.push(first.month().into());
                    }
                    month_days.push(first.day().into());
                }
                Freq::Monthly => month_days.push(first.day().into()),
                Freq::Weekly => days.push((0, first.weekday())),
                _ => {}
            }
        } else if !rule.week_numbers.is_empty() && days.is_empty() && month_days.is_empty() {
            days.push((0, first.weekday()));
        }
        let or = |list: &Vec<i64>, shorter: bool, value: i8| {
            if list.is_empty() && shorter { vec![i64::from(value)] } else { list.clone() }
        };
        Self {
            rule,
            first,
            months,
            month_days,
            days,
            hours: or(&rule.hours, rule.freq > Freq::Hourly, first.hour()),
            minutes: or(&rule.minutes, rule.freq > Freq::Minutely, first.minute()),
            seconds: or(&rule.seconds, rule.freq > Freq::Secondly, first.second()),
        }
    }

    /// The first moment of a period; `None` beyond the calendar.
    fn begin(&self, period: i64) -> Option<DateTime> {
        let steps = period.checked_mul(self.rule.interval)?;
        let midnight = |date: Date| date.to_datetime(Time::midnight());
        let first = self.first.date();
        let add = |from: DateTime, span: Result<Span, jiff::Error>| from.checked_add(span.ok()?).ok();
        match self.rule.freq {
            Freq::Yearly => {
                let year = i64::from(first.year()).checked_add(steps)?;
                Date::new(i16::try_from(year).ok()?, 1, 1).ok().map(midnight)
            }
            Freq::Monthly => {
                let month = i64::from(first.year()) * 12 + i64::from(first.month()) - 1 + steps;
                let year = i16::try_from(month.div_euclid(12)).ok()?;
                Date::new(year, i8::try_from(month.rem_euclid(12)).ok()? + 1, 1).ok().map(midnight)
            }
            Freq::Weekly => {
                let back = i64::from(first.weekday().since(self.rule.week_start));
                add(midnight(first), Span::new().try_days(steps.checked_mul(7)?.checked_sub(back)?))
            }
            Freq::Daily => add(midnight(first), Span::new().try_days(steps)),
            Freq::Hourly => add(self.first.with().minute(0).second(0).build().ok()?, Span::new().try_hours(steps)),
            Freq::Minutely => add(self.first.with().second(0).build().ok()?, Span::new().try_minutes(steps)),
            Freq::Secondly => add(self.first, Span::new().try_seconds(steps)),
        }
    }

    /// A period that ends before `from`, as late as is easily found.
    fn period_before(&self, from: DateTime) -> i64 {
        if from <= self.first {
            return 0;
        }
        let seconds = self.first.duration_until(from).as_secs();
        let days = seconds / 86_400;
        let steps = match self.rule.freq {
            Freq::Yearly => days / 366,
            Freq::Monthly => days / 31,
            Freq::Weekly => days / 7,
            Freq::Daily => days,
            Freq::Hourly => seconds / 3_600,
            Freq::Minutely => seconds / 60,
            Freq::Secondly => seconds,
        };
        (steps / self.rule.interval - 2).max(0)
    }

    fn days(&self, period: i64) -> Option<Days> {
        let begin = self.begin(period)?;
        let day = begin.date();
        let count = match self.rule.freq {
            Freq::Yearly => day.days_in_year().into(),
            Freq::Monthly => i32::from(day.days_in_month()),
            Freq::Weekly => 7,
            _ => 1,
        };
        let days = (0..count).filter_map(|n| day.checked_add(n.days()).ok()).filter(|day| self.fits(*day)).collect();
        Some(Days { begin, days, looked_at: count.unsigned_abs().into() })
    }

    fn fits(&self, day: Date) -> bool {
        let rule = self.rule;
        let (month_days, year_days) = (i64::from(day.days_in_month()), i64::from(day.days_in_year()));
        let either =
            |list: &[i64], at: i64, all: i64| list.is_empty() || list.contains(&at) || list.contains(&(at - all - 1));
        if !self.months.is_empty() && !self.months.contains(&day.month().into()) {
            return false;
        }
        if !either(&self.month_days, day.day().into(), month_days)
            || !either(&rule.year_days, day.day_of_year().into(), year_days)
        {
            return false;
        }
        if !rule.week_numbers.is_empty() {
            let Some((week, weeks)) = week(day, rule.week_start) else { return false };
            if !either(&rule.week_numbers, week, weeks) {
                return false;
            }
        }
        self.days.is_empty() || self.days.iter().any(|(ordinal, weekday)| self.is_nth(day, *ordinal, *weekday))
    }

    /// Ordinals count in the month of a monthly rule and of a yearly one with months, else in the year.
    fn is_nth(&self, day: Date, ordinal: i64, weekday: Weekday) -> bool {
        if day.weekday() != weekday {
            return false;
        }
        let in_month = self.rule.freq == Freq::Monthly || !self.rule.months.is_empty();
        let (at, all) = if in_month {
            (i64::from(day.day()), i64::from(day.days_in_month()))
        } else {
            (i64::from(day.day_of_year()), i64::from(day.days_in_year()))
        };
        match ordinal {
            0 => true,
            1.. => (at - 1) / 7 + 1 == ordinal,
            _ => (all - at) / 7 + 1 == -ordinal,
        }
    }

    /// The times of a period in order, of which `BYSETPOS` chooses.
    fn times(&self, days: &Days, budget: &mut Budget) -> Result<Vec<DateTime>, TooMuch> {
        let begin = days.begin;
        let part = |list: &[i64], of_period: Option<i8>| match of_period {
            // The period has one hour, and the list only permits it or not.
            Some(value) if list.is_empty() || list.contains(&value.into()) => vec![i64::from(value)],
            Some(_) => Vec::new(),
            None => list.to_vec(),
        };
        let freq = self.rule.freq;
        let hours = part(&self.hours, (freq <= Freq::Hourly).then(|| begin.hour()));
        let minutes = part(&self.minutes, (freq <= Freq::Minutely).then(|| begin.minute()));
        let seconds = part(&self.seconds, (freq <= Freq::Secondly).then(|| begin.second()));
        budget.spend((days.days.len() * hours.len() * minutes.len() * seconds.len()) as u64)?;
        let mut times = Vec::new();
        for day in &days.days {
            for hour in &hours {
                for minute in &minutes {
                    for second in &seconds {
                        let part = |value: i64| i8::try_from(value).unwrap_or(0);
                        if let Ok(time) =
                            Time::new(part(*hour), part(*minute), part(*second), self.first.subsec_nanosecond())
                        {
                            times.push(day.to_datetime(time));
                        }
                    }
                }
            }
        }
        let positions = &self.rule.positions;
        if positions.is_empty() {
            return Ok(times);
        }
        let all = times.len() as i64;
        let chosen = |(at, _): &(usize, DateTime)| {
            let at = *at as i64 + 1;
            positions.contains(&at) || positions.contains(&(at - all - 1))
        };
        Ok(times.into_iter().enumerate().filter(chosen).map(|(_, time)| time).collect())
    }
}

/// Number of the week, and of the weeks of its year: the first has four days in the year or more.
fn week(day: Date, start: Weekday) -> Option<(i64, i64)> {
    let first_day = |year: i16| {
        // 4 January is in the first week.
        let fourth = Date::new(year, 1, 4).ok()?;
        fourth.checked_sub(i64::from(fourth.weekday().since(start)).days()).ok()
    };
    let days_between = |a: Date, b: Date| a.duration_until(b).as_hours() / 24;
    let mut year = day.year();
    if first_day(year + 1).is_some_and(|first| day >= first) {
        year += 1;
    } else if day < first_day(year)? {
        year -= 1;
    }
    let first = first_day(year)?;
    let weeks = days_between(first, first_day(year + 1)?) / 7;
    Some((days_between(first, day) / 7 + 1, weeks))
}
