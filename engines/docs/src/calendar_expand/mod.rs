//! q246: calendar and recurrence.

mod expand;
mod ics;
mod rule;

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use expand::{Budget, expand};
use muster_engine::prelude::*;
use rule::{Rule, Until};

/// Most events, occurrences, conflicts and problems.
const MAX_EVENTS: usize = 2_000;
const MAX_OCCURRENCES: usize = 10_000;
const MAX_CONFLICTS: usize = 10_000;
const MAX_PROBLEMS: usize = 100;
/// Longest summary and location: each occurrence repeats them.
const MAX_NAME: usize = 200;
/// Days and times that all rules together may look at.
const MAX_WORK: u64 = 4_000_000;
/// Local times may be as far as this from UTC, and an event of the window may begin this much before.
const DAY: SignedDuration = SignedDuration::from_hours(24);

#[derive(Input)]
pub struct Input {
    ics: Option<String>,
    events: Vec<EventIn>,
    from: Timestamp,
    to: Timestamp,
    timezone: String,
    slot_minutes: i64,
}

#[derive(Input)]
struct EventIn {
    summary: String,
    start: Timestamp,
    end: Timestamp,
    rrule: Option<String>,
    location: Option<String>,
}

#[derive(Output)]
pub struct Output {
    occurrences: Vec<Occurrence>,
    conflicts: Vec<Vec<usize>>,
    free: Vec<Slot>,
    ics: String,
    problems: Vec<String>,
}

#[derive(Output)]
struct Occurrence {
    summary: String,
    start: Timestamp,
    end: Timestamp,
}

#[derive(Output)]
struct Slot {
    start: Timestamp,
    end: Timestamp,
}

/// Length of an occurrence.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// Seconds that pass.
    Exact(SignedDuration),
    /// Days of the calendar, which may have 23 or 25 hours.
    Days(i64),
}

/// An event and its repetitions.
struct Series {
    summary: String,
    location: Option<String>,
    /// Local, in the zone.
    first: DateTime,
    zone: TimeZone,
    length: Length,
    rules: Vec<Rule>,
    more: Vec<DateTime>,
    except: BTreeSet<Timestamp>,
    /// Free times stay free.
    transparent: bool,
}

/// A found occurrence.
struct Found {
    start: Timestamp,
    end: Timestamp,
    series: usize,
}

/// Expands, compares and writes a calendar.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let (from, to) = (input.from, input.to);
    if to <= from {
        return Err(Failure::invalid(&["to"], "must be after from"));
    }
    let zone = TimeZone::get(&input.timezone).map_err(|_| {
        Failure::invalid(&["timezone"], "is no name of the time-zone database, such as Europe/Oslo or UTC")
    })?;
    if input.events.len() > MAX_EVENTS {
        return Err(Failure::too_large(format!("events: at most {MAX_EVENTS}, and there are {}", input.events.len())));
    }
    let mut series = given(input.events, &zone)?;
    let mut problems = Vec::new();
    if let Some(text) = &input.ics {
        series.extend(ics::read(text, &zone, cx, &mut problems)?);
    }
    if series.len() > MAX_EVENTS {
        return Err(Failure::too_large(format!("at most {MAX_EVENTS} events are taken together")));
    }
    let mut found = Vec::new();
    let mut budget = Budget(MAX_WORK);
    for (at, series) in series.iter().enumerate() {
        occurrences(series, at, (from, to), &mut budget, &mut found)?;
    }
    found.sort_by_key(|found| (found.start, found.end, found.series));
    let busy = |found: &Found| series.get(found.series).is_some_and(|series| !series.transparent);
    let conflicts = conflicts(&found, busy, cx);
    let free = free(found.iter().filter(|found| busy(found)), (from, to), input.slot_minutes);
    if problems.len() > MAX_PROBLEMS {
        let more = problems.len() - MAX_PROBLEMS;
        problems.truncate(MAX_PROBLEMS);
        problems.push(format!("{more} more problems were left out"));
    }
    let written = ics::write(&found, &series);
    let name = |found: &Found| series.get(found.series).map_or_else(String::new, |series| series.summary.clone());
    let occurrences = found.iter().map(|found| Occurrence { summary: name(found), start: found.start, end: found.end });
    Ok(Output { occurrences: occurrences.collect(), conflicts, free, ics: written, problems })
}

fn given(events: Vec<EventIn>, zone: &TimeZone) -> Result<Vec<Series>, Failure> {
    let series = |(at, event): (usize, EventIn)| {
        let at = at.to_string();
        if event.end < event.start {
            return Err(Failure::invalid(&["events", &at, "end"], "must not be before start"));
        }
        let rule = event.rrule.as_deref().filter(|text| !text.trim().is_empty()).map(Rule::parse).transpose();
        let rules: Vec<Rule> =
            rule.map_err(|why| Failure::invalid(&["events", &at, "rrule"], why))?.into_iter().collect();
        Ok(Series {
            summary: short(&event.summary),
            location: event.location.as_deref().map(short),
            first: zone.to_datetime(event.start),
            zone: zone.clone(),
            length: Length::Exact(event.start.duration_until(event.end)),
            rules,
            more: Vec::new(),
            except: BTreeSet::new(),
            transparent: false,
        })
    };
    events.into_iter().enumerate().map(series).collect()
}

/// The beginning of a summary or location.
fn short(text: &str) -> String {
    text.chars().take(MAX_NAME).collect()
}

/// Adds the occurrences of an event that overlap the window.
fn occurrences(
    series: &Series,
    at: usize,
    (from, to): (Timestamp, Timestamp),
    budget: &mut Budget,
    found: &mut Vec<Found>,
) -> Result<(), Failure> {
    let mut starts: BTreeSet<Timestamp> = BTreeSet::new();
    let room = MAX_OCCURRENCES.saturating_sub(found.len());
    let length = match series.length {
        Length::Exact(length) => length,
        Length::Days(days) => {
            DAY.checked_mul(i32::try_from(days).unwrap_or(i32::MAX) + 1).unwrap_or(SignedDuration::MAX)
        }
    };
    let early = from.checked_sub(length).and_then(|early| early.checked_sub(DAY)).unwrap_or(Timestamp::MIN);
    let late = to.checked_add(DAY).unwrap_or(Timestamp::MAX);
    let window = (series.zone.to_datetime(early), series.zone.to_datetime(late));
    // Gaps of the clock move a time on, repeated hours are the first (RFC 5545, section 3.3.5).
    let instant = |local: DateTime| series.zone.to_timestamp(local).ok();
    let within = |start: Timestamp| start < to && end_of(series, start).is_some_and(|end| end > from || start >= from);
    let too_many = || Failure::too_large(format!("more than {MAX_OCCURRENCES} occurrences: choose a shorter time"));
    if series.rules.is_empty() {
        starts.extend(instant(series.first));
    }
    for rule in &series.rules {
        let mut left = rule.count;
        let mut full = false;
        let outcome = expand(rule, series.first, window, budget, |local| {
            let Some(start) = instant(local) else { return false };
            let over = match rule.until {
                Some(Until::Utc(until)) => TimeZone::UTC.to_timestamp(until).is_ok_and(|until| start > until),
                Some(Until::Local(until)) => local > until,
                None => false,
            };
            if over || start >= to {
                return false;
            }
            if within(start) {
                starts.insert(start);
            }
            full = starts.len() > room;
            left = left.map(|left| left - 1);
            left != Some(0) && !full
        });
        if full {
            return Err(too_many());
        }
        outcome.map_err(|_| {
            let name: String = series.summary.chars().take(40).collect();
            Failure::too_large(format!(
                "the rule of `{name}` needs too many steps: choose a coarser FREQ or a later start"
            ))
        })?;
    }
    starts.extend(series.more.iter().filter_map(|local| instant(*local)));
    starts.retain(|start| within(*start) && !series.except.contains(start));
    if starts.len() > room {
        return Err(too_many());
    }
    found.extend(starts.into_iter().filter_map(|start| Some(Found { start, end: end_of(series, start)?, series: at })));
    Ok(())
}

fn end_of(series: &Series, start: Timestamp) -> Option<Timestamp> {
    match series.length {
        Length::Exact(length) => start.checked_add(length).ok(),
        Length::Days(days) => {
            let span = jiff::Span::new().try_days(days).ok()?;
            let local = series.zone.to_datetime(start).checked_add(span).ok()?;
            series.zone.to_timestamp(local).ok()
        }
    }
}

/// Pairs of occurrences that overlap, by a sweep over their starts.
fn conflicts(found: &[Found], busy: impl Fn(&Found) -> bool, cx: &Context) -> Vec<Vec<usize>> {
    let mut open: Vec<(usize, Timestamp)> = Vec::new();
    let mut pairs = Vec::new();
    for (at, next) in found.iter().enumerate().filter(|(_, found)| busy(found) && found.end > found.start) {
        open.retain(|(_, end)| *end > next.start);
        for (other, _) in &open {
            if pairs.len() == MAX_CONFLICTS {
                cx.warn(format!("truncated: only the first {MAX_CONFLICTS} conflicts are listed"));
                return pairs;
            }
            pairs.push(vec![*other, at]);
        }
        open.push((at, next.end));
    }
    pairs
}

/// Gaps between occurrences that are long enough.
fn free<'a>(
    busy: impl Iterator<Item = &'a Found>,
    (from, to): (Timestamp, Timestamp),
    least_minutes: i64,
) -> Vec<Slot> {
    let least = SignedDuration::from_mins(least_minutes);
    let mut slots = Vec::new();
    let mut since = from;
    let mut gap = |since: Timestamp, until: Timestamp| {
        if since.duration_until(until) >= least {
            slots.push(Slot { start: since, end: until });
        }
    };
    for found in busy {
        gap(since, found.start.min(to));
        since = since.max(found.end);
    }
    gap(since, to);
    slots
}
