//! q118: resampling and alignment of series.

mod grid;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use grid::Grid;
use muster_engine::prelude::*;

#[derive(Input)]
pub struct Input {
    series: BTreeMap<String, Vec<Point>>,
    interval: String,
    aggregate: Aggregate,
    fill: Fill,
    max_gap: f64,
    timezone: String,
}

#[derive(Input)]
struct Point {
    time: String,
    value: f64,
}

#[derive(Clone, Copy, Words)]
#[wire(case = "lower")]
enum Aggregate {
    Mean,
    Sum,
    Min,
    Max,
    Last,
    Count,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "lower")]
enum Fill {
    None,
    Linear,
    Previous,
    Zero,
}

#[derive(Default, Output)]
pub struct Output {
    /// Start of each interval.
    times: Vec<String>,
    /// One value per time.
    values: BTreeMap<String, Vec<f64>>,
    /// Runs of intervals without a point, before filling; the end is that of the last interval.
    gaps: Vec<Gap>,
    /// Share of intervals with a point.
    completeness: BTreeMap<String, f64>,
}

#[derive(Output)]
struct Gap {
    series: String,
    start: String,
    end: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let zone = TimeZone::get(input.timezone.trim())
        .map_err(|_| Failure::invalid(&["timezone"], "is no IANA time zone: write one such as Europe/Oslo or UTC"))?;
    let mut series: BTreeMap<&String, Vec<(Timestamp, f64)>> = BTreeMap::new();
    for (name, points) in &input.series {
        series.insert(name, in_order(name, points)?);
    }
    let times = || series.values().flatten().map(|(time, _)| *time);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        context.warn("no series has a point");
        return Ok(Output {
            values: input.series.into_keys().map(|name| (name, vec![])).collect(),
            ..Output::default()
        });
    };
    let grid = Grid::over(&input.interval, &zone, first, last, series.len())?;
    let mut output = Output::default();
    let mut columns = Vec::new();
    for (name, points) in series {
        let mut column = aggregated(name, &points, &grid, input.aggregate)?;
        let there = column.iter().flatten().count();
        output.completeness.insert(name.clone(), there as f64 / column.len().max(1) as f64);
        let gaps = runs(&column);
        output.gaps.extend(gaps.iter().filter_map(|gap| {
            let (start, end) = (grid.reported(gap.start)?, grid.reported(gap.end)?);
            Some(Gap { series: name.clone(), start, end })
        }));
        match input.aggregate {
            // A count of zero is a value.
            Aggregate::Count => column.iter_mut().for_each(|cell| *cell = cell.or(Some(0.0))),
            _ => gaps.iter().filter(|gap| gap.len() as f64 <= input.max_gap).for_each(|gap| {
                fill(&mut column, gap, input.fill);
            }),
        }
        match points.is_empty() {
            true => drop(output.values.insert(name.clone(), vec![])),
            false => columns.push((name.clone(), column)),
        }
    }
    align(&mut output, columns, &grid, context);
    Ok(output)
}

fn in_order(name: &str, points: &[Point]) -> Result<Vec<(Timestamp, f64)>, Failure> {
    let read = |(index, point): (usize, &Point)| {
        let time = point.time.parse().map_err(|error: jiff::Error| {
            Failure::invalid(&["series", name, &index.to_string(), "time"], error.to_string())
        })?;
        Ok((time, point.value))
    };
    let mut read: Vec<_> = points.iter().enumerate().map(read).collect::<Result<_, Failure>>()?;
    // Stable: of two points at the same time, the later in the input counts as last.
    read.sort_by_key(|(time, _)| *time);
    Ok(read)
}

/// One cell per interval, empty without a point.
fn aggregated(
    name: &str,
    points: &[(Timestamp, f64)],
    grid: &Grid,
    aggregate: Aggregate,
) -> Result<Vec<Option<f64>>, Failure> {
    let mut column = Vec::with_capacity(grid.len());
    let mut rest = points;
    for end in grid.ends() {
        let (inside, after) = rest.split_at(rest.partition_point(|(time, _)| time < end));
        rest = after;
        column.push(one(inside, aggregate));
    }
    match column.iter().flatten().all(|value| value.is_finite()) {
        true => Ok(column),
        false => Err(Failure::invalid(&["series", name], "has values that are too large to add up")),
    }
}

fn one(points: &[(Timestamp, f64)], aggregate: Aggregate) -> Option<f64> {
    let values = || points.iter().map(|(_, value)| *value);
    let last = values().next_back()?;
    Some(match aggregate {
        Aggregate::Mean => values().sum::<f64>() / points.len() as f64,
        Aggregate::Sum => values().sum(),
        Aggregate::Min => values().fold(f64::INFINITY, f64::min),
        Aggregate::Max => values().fold(f64::NEG_INFINITY, f64::max),
        Aggregate::Last => last,
        Aggregate::Count => points.len() as f64,
    })
}

/// Runs of empty cells.
fn runs(column: &[Option<f64>]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, _) in column.iter().enumerate().filter(|(_, cell)| cell.is_none()) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end = index.saturating_add(1),
            _ => runs.push(index..index.saturating_add(1)),
        }
    }
    runs
}

/// Fills a whole gap if possible: linear needs both sides, the previous value one before.
fn fill(column: &mut [Option<f64>], gap: &std::ops::Range<usize>, fill: Fill) {
    let before = gap.start.checked_sub(1).and_then(|index| column.get(index).copied().flatten());
    let after = column.get(gap.end).copied().flatten();
    let steps = gap.len().saturating_add(1) as f64;
    for (step, cell) in column.get_mut(gap.clone()).into_iter().flatten().enumerate() {
        let along = (step as f64 + 1.0) / steps;
        *cell = match fill {
            Fill::None => None,
            Fill::Zero => Some(0.0),
            Fill::Previous => before,
            // Weighted sum, as the difference may overflow.
            Fill::Linear => before.zip(after).map(|(before, after)| before * (1.0 - along) + after * along),
        };
    }
}

/// A time at which some series has no value is omitted for all, since the output has no missing values.
fn align(output: &mut Output, columns: Vec<(String, Vec<Option<f64>>)>, grid: &Grid, context: &Context) {
    let whole = |index: &usize| columns.iter().all(|(_, column)| column.get(*index).is_some_and(|cell| cell.is_some()));
    let kept: Vec<usize> = (0..grid.len()).filter(whole).collect();
    let dropped = grid.len().saturating_sub(kept.len());
    if dropped > 0 {
        context.warn(format!(
            "{dropped} of {} intervals are omitted because a series has no value there: see gaps; fill closes short ones",
            grid.len()
        ));
    }
    output.times = kept.iter().filter_map(|index| grid.reported(*index)).collect();
    for (name, column) in columns {
        let values = kept.iter().filter_map(|index| column.get(*index).copied().flatten()).collect();
        output.values.insert(name, values);
    }
}
