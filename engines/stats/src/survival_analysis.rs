//! q103: survival curves.

#![allow(clippy::indexing_slicing, reason = "elements of matrices, by loops over their own dimensions")]

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::dist;
use muster_kernel_numeric::nalgebra::{DMatrix, DVector};

use crate::support::{check_same, check_series, finite};

const MAX_VALUES: usize = 50_000;
const MAX_GROUPS: usize = 50;
/// Groups times distinct times of events that the log-rank test visits.
const MAX_WORK: usize = 20_000_000;
const MAX_AT: usize = 1_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    times: Vec<f64>,
    events: Vec<i64>,
    groups: Option<Vec<String>>,
    at: Vec<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    curves: Vec<Curve>,
    logrank: Option<LogRank>,
    hazard_ratio: Option<f64>,
    at: Vec<At>,
}

#[derive(Output)]
struct Curve {
    group: String,
    steps: Vec<CurveStep>,
    median: f64,
    rmst: f64,
}

/// A time with events.
#[derive(Output, Clone)]
struct CurveStep {
    time: f64,
    at_risk: i64,
    events: i64,
    survival: f64,
    low: f64,
    high: f64,
}

#[derive(Output)]
struct LogRank {
    chi_square: f64,
    df: i64,
    p: f64,
}

#[derive(Output)]
struct At {
    group: String,
    time: f64,
    survival: f64,
}

/// Estimates and compares survival.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_series(&input.times, "times", 1, MAX_VALUES)?;
    check_same("events", input.events.len(), "times", input.times.len())?;
    if let Some(at) = input.times.iter().position(|t| *t < 0.0) {
        return Err(Failure::invalid(&["times", &at.to_string()], "must not be negative"));
    }
    if input.at.len() > MAX_AT {
        return Err(Failure::too_large(format!("at: at most {MAX_AT} times")));
    }
    let names = input.groups.unwrap_or_else(|| vec!["all".to_owned(); input.times.len()]);
    check_same("groups", names.len(), "times", input.times.len())?;
    let mut groups: BTreeMap<String, Vec<(f64, bool)>> = BTreeMap::new();
    for ((name, time), event) in names.into_iter().zip(&input.times).zip(&input.events) {
        groups.entry(name).or_default().push((*time, *event == 1));
    }
    if groups.len() > MAX_GROUPS || groups.len() * input.times.len() > MAX_WORK {
        return Err(Failure::too_large(format!("groups: at most {MAX_GROUPS}")));
    }
    groups.values_mut().for_each(|group| group.sort_by(|a, b| a.0.total_cmp(&b.0)));
    // The mean is restricted to the time that every group was watched.
    let last = |group: &Vec<(f64, bool)>| group.last().map_or(0.0, |(t, _)| *t);
    let horizon = groups.values().map(last).fold(f64::INFINITY, f64::min);
    let (mut curves, mut at) = (Vec::new(), Vec::new());
    for (name, group) in &groups {
        let steps = kaplan_meier(group);
        let half = steps.iter().find(|step| step.survival <= 0.5 + 1e-12).map(|step| step.time);
        if half.is_none() {
            cx.warn(format!("not_reached: more than half of {name} survive, so its median is the largest number"));
        }
        for time in &input.at {
            if *time > last(group) {
                cx.warn(format!("extrapolated: {name} was not watched until {time}"));
            }
            at.push(At { group: name.clone(), time: *time, survival: survival_at(&steps, *time) });
        }
        let rmst = restricted_mean(&steps, horizon);
        curves.push(Curve { group: name.clone(), steps, median: half.unwrap_or(f64::MAX), rmst });
    }
    let comparison = if groups.len() > 1 { logrank(&groups.values().collect::<Vec<_>>()) } else { None };
    if groups.len() > 1 && comparison.is_none() {
        cx.warn("no logrank: there are no events to compare");
    }
    let (logrank, hazard_ratio) = comparison.map_or((None, None), |(test, ratio)| (Some(test), ratio));
    Ok(Output { curves, logrank, hazard_ratio, at })
}

/// The product-limit estimate with Greenwood's variance and intervals of ln(−ln S), 95 %.
fn kaplan_meier(group: &[(f64, bool)]) -> Vec<CurveStep> {
    let mut left = group.len() as f64;
    let (mut survival, mut greenwood) = (1.0, 0.0);
    let mut steps = Vec::new();
    let z = dist::normal_quantile(0.975);
    for same in group.chunk_by(|a, b| a.0 == b.0) {
        let events = same.iter().filter(|(_, event)| *event).count() as f64;
        if events > 0.0 {
            survival *= (left - events) / left;
            greenwood += events / (left * (left - events));
            let reach = z * greenwood.sqrt() / survival.ln();
            let (low, high) = if survival > 0.0 && reach.is_finite() {
                // The logarithm is negative, so the reach is.
                (survival.powf((-reach).exp()), survival.powf(reach.exp()))
            } else {
                (survival, survival)
            };
            let time = same.first().map_or(0.0, |(t, _)| *t);
            steps.push(CurveStep { time, at_risk: left as i64, events: events as i64, survival, low, high });
        }
        left -= same.len() as f64;
    }
    steps
}

fn survival_at(steps: &[CurveStep], time: f64) -> f64 {
    let after = steps.partition_point(|step| step.time <= time);
    after.checked_sub(1).and_then(|at| steps.get(at)).map_or(1.0, |step| step.survival)
}

/// The area under the curve until the horizon.
fn restricted_mean(steps: &[CurveStep], horizon: f64) -> f64 {
    let (mut area, mut from, mut level) = (0.0, 0.0, 1.0);
    for step in steps.iter().filter(|step| step.time < horizon) {
        area += level * (step.time - from);
        (from, level) = (step.time, step.survival);
    }
    area + level * (horizon - from)
}

/// Mantel's test for any number of groups, and of two groups the ratio of observed to expected events, the first by
/// the second.
fn logrank(groups: &[&Vec<(f64, bool)>]) -> Option<(LogRank, Option<f64>)> {
    let k = groups.len();
    let mut all: Vec<(f64, usize)> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        all.extend(group.iter().filter(|(_, event)| *event).map(|(time, _)| (*time, at)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut observed = vec![0.0; k];
    let mut expected = vec![0.0; k];
    let mut variance = DMatrix::<f64>::zeros(k, k);
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        let time = same.first()?.0;
        let at_risk: Vec<f64> =
            groups.iter().map(|group| (group.len() - group.partition_point(|(t, _)| *t < time)) as f64).collect();
        let (n, d) = (at_risk.iter().sum::<f64>(), same.len() as f64);
        for (_, at) in same {
            *observed.get_mut(*at)? += 1.0;
        }
        for (i, a) in at_risk.iter().enumerate() {
            *expected.get_mut(i)? += d * a / n;
            if n > 1.0 {
                let factor = d * (n - d) / (n - 1.0) * a / n;
                for (j, b) in at_risk.iter().enumerate() {
                    let same = if i == j { 1.0 } else { 0.0 };
                    variance[(i, j)] += factor * (same - b / n);
                }
            }
        }
    }
    // The differences sum to 0: the last group follows from the others. A group that was never at risk has no variance.
    let used: Vec<usize> = (0..k).filter(|i| variance[(*i, *i)] > 1e-12).collect();
    let free = used.len().checked_sub(1).filter(|free| *free > 0)?;
    let pick = |i: usize| used.get(i).copied().unwrap_or(0);
    let gap = DVector::from_fn(free, |i, _| {
        let at = pick(i);
        observed.get(at).copied().unwrap_or(0.0) - expected.get(at).copied().unwrap_or(0.0)
    });
    let part = DMatrix::from_fn(free, free, |i, j| variance[(pick(i), pick(j))]);
    let chi_square = finite(gap.dot(&part.lu().solve(&gap)?))?.max(0.0);
    let ratio = match (observed.as_slice(), expected.as_slice()) {
        ([o1, o2], [e1, e2]) => finite((o1 / e1) / (o2 / e2)),
        _ => None,
    };
    Some((LogRank { chi_square, df: free as i64, p: dist::chi2_sf(chi_square, free as f64) }, ratio))
}
