//! q115: Date and time calculation.

mod business;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Unit, Zoned, ZonedDifference};

use muster_engine::prelude::*;

/// Maximum number of times in a range.
const MAX_TIMES: i64 = 1_000;

#[derive(Words)]
#[wire(case = "kebab")]
enum Operation {
    Parse,
    Convert,
    Add,
    Difference,
    BusinessDays,
    Range,
}

#[derive(Input)]
pub struct Input {
    operation: Operation,
    value: String,
    timezone: String,
    to_timezone: Option<String>,
    /// Duration in ISO 8601 or in words; for a difference, the largest unit.
    amount: Option<String>,
    other: Option<String>,
    holidays: BTreeSet<Date>,
}

#[derive(Default, Output)]
pub struct Output {
    result: String,
    iso_week: Option<String>,
    /// Seconds since 1970 of the result.
    epoch: Option<i64>,
    /// The added or elapsed duration, as ISO 8601.
    duration: Option<String>,
    business_days: Option<i64>,
    dst: Option<bool>,
}

impl Output {
    fn at(time: &Zoned) -> Self {
        let week = time.date().iso_week_date();
        Self {
            result: time.to_string(),
            iso_week: Some(format!("{:04}-W{:02}", week.year(), week.week())),
            epoch: Some(time.timestamp().as_second()),
            dst: Some(time.time_zone().to_offset_info(time.timestamp()).dst().is_dst()),
            ..Self::default()
        }
    }
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let zone = zone("timezone", &input.timezone)?;
    let value = reading::read("value", &input.value, &zone, context)?;
    match input.operation {
        Operation::Parse => Ok(Output::at(&in_output_zone(value, &input)?)),
        Operation::Convert => {
            needed("to_timezone", input.to_timezone.as_ref())?;
            Ok(Output::at(&in_output_zone(value, &input)?))
        }
        Operation::Add => add(value, &input),
        Operation::Difference => difference(&value, &other(&input, &zone, context)?, &input),
        Operation::BusinessDays => match &input.other {
            Some(_) => {
                let days = business::count(value.date(), other(&input, &zone, context)?.date(), &input.holidays);
                Ok(Output { result: days.to_string(), business_days: Some(days), ..Output::default() })
            }
            None => add_business(value, &input),
        },
        Operation::Range => range(&value, &other(&input, &zone, context)?, &input, context),
    }
}

fn zone(field: &str, name: &str) -> Result<TimeZone, Failure> {
    let unknown = |_| Failure::invalid(&[field], "is no IANA time zone: write one such as Europe/Oslo or UTC");
    TimeZone::get(name.trim()).map_err(unknown)
}

fn needed<'a, T>(field: &str, value: Option<&'a T>) -> Result<&'a T, Failure> {
    value.ok_or_else(|| Failure::invalid(&[field], "is needed for this operation"))
}

fn other(input: &Input, zone: &TimeZone, context: &Context) -> Result<Zoned, Failure> {
    reading::read("other", needed("other", input.other.as_ref())?, zone, context)
}

/// Converts to the requested zone.
fn in_output_zone(time: Zoned, input: &Input) -> Result<Zoned, Failure> {
    match &input.to_timezone {
        Some(name) => Ok(time.with_time_zone(zone("to_timezone", name)?)),
        None => Ok(time),
    }
}

fn outside(error: jiff::Error) -> Failure {
    Failure::invalid(&["amount"], format!("leads out of the years -9999 to 9999: {error}"))
}

fn add(value: Zoned, input: &Input) -> Result<Output, Failure> {
    let amount = needed("amount", input.amount.as_ref())?;
    if business::days(amount).is_some_and(|_| business::in_words(amount)) {
        return add_business(value, input);
    }
    let span = reading::span(amount)?;
    let sum = in_output_zone(value.checked_add(span).map_err(outside)?, input)?;
    Ok(Output { duration: Some(span.to_string()), ..Output::at(&sum) })
}

fn add_business(value: Zoned, input: &Input) -> Result<Output, Failure> {
    let amount = needed("amount", input.amount.as_ref())?;
    let days = business::days(amount).ok_or_else(|| {
        Failure::invalid(&["amount"], "must be a number of days, such as 5 or -3; or give other, to count up to it")
    })?;
    let date = business::add(value.date(), days, &input.holidays)?;
    let sum = value.with().date(date).build().map_err(outside)?;
    let passed = value.date().until(date).map_err(outside)?;
    Ok(Output {
        duration: Some(passed.to_string()),
        business_days: Some(days),
        ..Output::at(&in_output_zone(sum, input)?)
    })
}

/// The result is in calendar units of `value`'s zone; the duration is elapsed time.
fn difference(value: &Zoned, other: &Zoned, input: &Input) -> Result<Output, Failure> {
    let largest = input.amount.as_deref().map_or(Ok(Unit::Year), reading::unit)?;
    let other = other.with_time_zone(value.time_zone().clone());
    let calendar = value.until(ZonedDifference::new(&other).largest(largest)).map_err(outside)?;
    let days = business::count(value.date(), other.date(), &input.holidays);
    Ok(Output {
        result: calendar.to_string(),
        duration: Some(passed(value, &other)?),
        business_days: Some(days),
        ..Output::default()
    })
}

fn passed(from: &Zoned, to: &Zoned) -> Result<String, Failure> {
    let passed = from.timestamp().until((Unit::Hour, to.timestamp())).map_err(outside)?;
    Ok(passed.to_string())
}

/// Every time from `value` to `other`, exclusive, one per line. Each is computed from the first, so that a short month
/// or a clock change does not shift later ones.
fn range(value: &Zoned, other: &Zoned, input: &Input, context: &Context) -> Result<Output, Failure> {
    let step = reading::span(needed("amount", input.amount.as_ref())?)?;
    let mut times = Vec::new();
    let mut last = None;
    for index in 0..=MAX_TIMES {
        let next = step.checked_mul(index).and_then(|span| value.checked_add(span)).map_err(outside)?;
        if next.timestamp() >= other.timestamp() {
            break;
        }
        if last.as_ref().is_some_and(|last: &Zoned| next.timestamp() <= last.timestamp()) {
            return Err(Failure::invalid(&["amount"], "must lead forward, such as P1D or PT15M"));
        }
        if index == MAX_TIMES {
            context.warn(format!("only the first {MAX_TIMES} times are reported"));
            break;
        }
        times.push(in_output_zone(next.clone(), input)?.to_string());
        last = Some(next);
    }
    Ok(Output {
        result: times.join("\n"),
        duration: Some(passed(value, other)?),
        business_days: Some(business::count(value.date(), other.date(), &input.holidays)),
        ..Output::default()
    })
}
