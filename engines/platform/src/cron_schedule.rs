//! q57: cron schedules.

use croner::parser::{CronParser, Seconds, Year};
use jiff::ToSpan;
use jiff::tz::{AmbiguousOffset, TimeZone};
use muster_engine::prelude::*;

const MAX_EXPRESSION: usize = 200;
const MAX_BLACKOUTS: usize = 10_000;
/// Runs that are looked at for each that is returned: those in a gap of the clock are skipped.
const LOOKED_AT: usize = 10;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    expression: String,
    timezone: String,
    after: Option<Timestamp>,
    count: i64,
    blackout: Vec<Span>,
}

#[derive(Input)]
struct Span {
    start: Timestamp,
    end: Timestamp,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    runs: Vec<Timestamp>,
    description: String,
    conflicts: Vec<Timestamp>,
    next_in_s: f64,
}

/// Lists the next runs after a time. A run whose local time does not exist is skipped; one that occurs twice, when
/// clocks are set back, runs the first time.
///
/// # Errors
/// `Invalid` (the expression, the zone, a blackout), `TooLarge`, `NoAnswer` (`infeasible`: it never runs).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.expression.len() > MAX_EXPRESSION || input.blackout.len() > MAX_BLACKOUTS {
        let limit = format!("at most {MAX_EXPRESSION} bytes of expression and {MAX_BLACKOUTS} blackouts");
        return Err(Failure::too_large(limit));
    }
    if let Some(at) = input.blackout.iter().position(|span| span.start >= span.end) {
        return Err(Failure::invalid(&["blackout", &at.to_string()], "must end after it starts"));
    }
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Optional).build();
    let cron = parser
        .parse(&input.expression)
        .map_err(|error| Failure::invalid(&["expression"], format!("is no cron expression: {error}")))?;
    let zone = TimeZone::get(&input.timezone).map_err(|_| {
        Failure::invalid(&["timezone"], "must be a name of the IANA database, such as \"Europe/Paris\"")
    })?;
    let after = match input.after {
        Some(after) => after,
        None => {
            cx.warn("after: absent, and engines have no clock, so runs are counted from 1970-01-01T00:00:00Z");
            Timestamp::UNIX_EPOCH
        }
    };
    let outside = || Failure::invalid(&["after"], "is outside of the years that can be computed");
    // The expression is of local clock readings, so these are what the search sees, as if they were UTC.
    let local = zone.to_datetime(after).checked_sub(1.second()).map_err(|_| outside())?;
    let start = local.to_zoned(TimeZone::UTC).map_err(|_| outside())?;
    let count = input.count.clamp(1, 500) as usize;
    let runs: Vec<Timestamp> = cron
        .iter_after(start)
        .take(count * LOOKED_AT)
        .filter_map(|reading| {
            let ambiguous = zone.to_ambiguous_timestamp(reading.datetime());
            let gap = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
            if gap { None } else { ambiguous.earlier().ok() }
        })
        .filter(|run| *run > after)
        .take(count)
        .collect();
    let Some(first) = runs.first() else {
        return Err(Failure::no_answer(NoAnswer::Infeasible, "the expression matches no time until the year 5000"));
    };
    if runs.len() < count {
        cx.warn(format!("runs: there are only {} until the year 5000", runs.len()));
    }
    let blocked = |run: &Timestamp| input.blackout.iter().any(|span| span.start <= *run && *run < span.end);
    Ok(Output {
        next_in_s: first.duration_since(after).as_secs_f64(),
        conflicts: runs.iter().copied().filter(blocked).collect(),
        description: cron.describe(),
        runs,
    })
}
