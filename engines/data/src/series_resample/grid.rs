//! Boundaries of intervals.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, Zoned};

use muster_engine::Failure;

/// Maximum number of cells per call: intervals times series.
const MAX_CELLS: usize = 1_000_000;

/// Adjacent intervals.
pub(super) struct Grid {
    /// One more than there are intervals.
    edges: Vec<Timestamp>,
    zone: TimeZone,
}

impl Grid {
    /// From the interval of `first` to that of `last`. Days and longer units follow the zone's calendar; hours and
    /// shorter ones elapsed time from the midnight before `first` (as pandas' origin `start_day`); weeks begin on
    /// Monday, months on their first day, years in January.
    pub(super) fn over(
        interval: &str,
        zone: &TimeZone,
        first: Timestamp,
        last: Timestamp,
        series: usize,
    ) -> Result<Self, Failure> {
        let span: Span = interval.trim().parse().map_err(|error| {
            Failure::invalid(&["interval"], format!("is not a duration such as PT1H, P1D or P1M ({error})"))
        })?;
        if span.is_negative() || span.is_zero() {
            return Err(Failure::invalid(&["interval"], "must be longer than nothing, such as PT1H"));
        }
        let start = anchor(span, &first.to_zoned(zone.clone())).map_err(refusal)?;
        let most = MAX_CELLS / series.max(1);
        let steps = SignedDuration::try_from(span).ok();
        let skipped =
            steps.map_or(0, |step| first.duration_since(start.timestamp()).as_nanos() / step.as_nanos().max(1));
        let mut edges = Vec::new();
        for index in skipped.. {
            let index = i64::try_from(index).map_err(refusal)?;
            let edge = match steps {
                Some(_) => span.checked_mul(index).and_then(|span| start.timestamp().checked_add(span)),
                None => span.checked_mul(index).and_then(|span| start.checked_add(span)).map(|edge| edge.timestamp()),
            };
            let edge = edge.map_err(refusal)?;
            edges.push(edge);
            if edge > last {
                break;
            }
            if edges.len() > most {
                let message = format!("more than {most} intervals: take a longer interval or less time");
                return Err(Failure::too_large(message));
            }
        }
        let before = edges.iter().filter(|edge| **edge <= first).count().saturating_sub(1);
        edges.drain(..before.min(edges.len()));
        Ok(Self { edges, zone: zone.clone() })
    }

    pub(super) fn len(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    pub(super) fn ends(&self) -> impl Iterator<Item = &Timestamp> {
        self.edges.iter().skip(1)
    }

    /// A boundary as RFC 3339, in the zone.
    pub(super) fn reported(&self, index: usize) -> Option<String> {
        let edge = *self.edges.get(index)?;
        let offset = self.zone.to_offset(edge);
        Some(if offset.is_zero() { edge.to_string() } else { edge.display_with_offset(offset).to_string() })
    }
}

fn refusal(error: impl std::fmt::Display) -> Failure {
    Failure::invalid(&["interval"], format!("leads out of the years -9999 to 9999: {error}"))
}

fn anchor(span: Span, first: &Zoned) -> Result<Zoned, jiff::Error> {
    let day = first.date();
    let day = match span {
        span if span.get_years() != 0 => Date::new(day.year(), 1, 1)?,
        span if span.get_months() != 0 => day.first_of_month(),
        span if span.get_weeks() != 0 => {
            day.checked_sub(SignedDuration::from_hours(24 * i64::from(day.weekday().to_monday_zero_offset())))?
        }
        _ => day,
    };
    day.to_zoned(first.time_zone().clone())?.start_of_day()
}
