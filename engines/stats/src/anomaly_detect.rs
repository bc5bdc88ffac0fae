//! q94: anomalies of a series.

use muster_engine::prelude::*;
use muster_kernel_numeric::{dist, summary};

use crate::series_decompose::decompose;
use crate::support::{check_series, number};

const MAX_VALUES: usize = 20_000;
/// Most values times removed points: each removal looks at all that are left.
const MAX_WORK: usize = 50_000_000;
/// Makes the median absolute deviation of normal values their standard deviation.
const NORMAL_MAD: f64 = 1.482_602_218_505_602;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    period: i64,
    max_share: f64,
    alpha: f64,
    direction: Direction,
    method: Method,
}

/// Sides on which a point may deviate.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Direction {
    /// Both.
    Both,
    /// Above.
    Up,
    /// Below.
    Down,
}

/// What is tested.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Method {
    /// What season and median leave, by median and MAD.
    SeasonalHybrid,
    /// The values, by mean and standard deviation.
    Classical,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    anomalies: Vec<Anomaly>,
    band: Vec<Vec<f64>>,
}

#[derive(Output)]
struct Anomaly {
    index: i64,
    value: f64,
    expected: f64,
    score: f64,
    p: f64,
}

/// Finds the points that deviate, most extreme first.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 5, MAX_VALUES)?;
    let n = input.values.len();
    // The share counts as reached when rounding keeps it just below a whole number.
    let most = ((n as f64 * input.max_share + 1e-9) as usize).clamp(1, n - 3);
    if n * most > MAX_WORK {
        return Err(Failure::too_large(format!("values times suspects (max_share) must be at most {MAX_WORK}")));
    }
    let period = usize::try_from(input.period).unwrap_or(usize::MAX);
    let expected = match input.method {
        Method::Classical => {
            if period > 1 {
                cx.warn("period: the classical test does not use it");
            }
            None
        }
        Method::SeasonalHybrid => {
            let middle = summary::median(&input.values);
            if period >= 2 && n / 2 >= period {
                let (_, seasonal, _) = decompose(&input.values, period, true)?;
                Some(seasonal.iter().map(|s| s + middle).collect())
            } else {
                if period >= 2 {
                    cx.warn("period: the series is shorter than two periods, so no season is taken off");
                }
                Some(vec![middle; n])
            }
        }
    };
    let rest: Vec<f64> = match &expected {
        Some(expected) => input.values.iter().zip(expected).map(|(x, e)| x - e).collect(),
        None => input.values.clone(),
    };
    let robust = input.method == Method::SeasonalHybrid;
    let found = extreme(&rest, most, input.alpha, input.direction, robust);
    let kept: Vec<f64> =
        rest.iter().enumerate().filter(|(at, _)| !found.iter().any(|f| f.index == *at)).map(|(_, r)| *r).collect();
    let (centre, scale) = middle_and_scale(&kept, robust);
    let expected = expected.unwrap_or_else(|| vec![0.0; n]);
    let reach = critical(kept.len(), input.alpha, input.direction) * scale;
    let band = expected.iter().map(|e| vec![e + centre - reach, e + centre + reach]).collect();
    let anomaly = |f: &Suspect| {
        Ok(Anomaly {
            index: f.index as i64,
            value: input.values.get(f.index).copied().unwrap_or(0.0),
            expected: expected.get(f.index).copied().unwrap_or(0.0) + centre,
            score: number(f.score.min(f64::MAX), "a score")?,
            p: f.p,
        })
    };
    Ok(Output { anomalies: found.iter().map(anomaly).collect::<Result<_, Failure>>()?, band })
}

struct Suspect {
    index: usize,
    score: f64,
    p: f64,
}

fn middle_and_scale(values: &[f64], robust: bool) -> (f64, f64) {
    if robust {
        let sorted = summary::sorted(values);
        let middle = summary::median_sorted(&sorted);
        (middle, NORMAL_MAD * mad_sorted(&sorted, middle))
    } else {
        (summary::mean(values), summary::sd(values))
    }
}

/// The median of distances from the middle of sorted values, by walking outwards from it.
fn mad_sorted(sorted: &[f64], middle: f64) -> f64 {
    let split = sorted.partition_point(|x| *x < middle);
    let (below, above) = sorted.split_at(split);
    let mut left = below.iter().rev().map(|x| middle - x).peekable();
    let mut right = above.iter().map(|x| x - middle).peekable();
    let n = sorted.len();
    let (mut previous, mut current) = (0.0, 0.0);
    for _ in 0..=n / 2 {
        previous = current;
        let next = match (left.peek(), right.peek()) {
            (Some(l), Some(r)) if l <= r => left.next(),
            (_, Some(_)) => right.next(),
            (Some(_), None) => left.next(),
            (None, None) => break,
        };
        current = next.unwrap_or(current);
    }
    if n.is_multiple_of(2) { (previous + current) / 2.0 } else { current }
}

/// Rosner's critical value for the most extreme of `n` values (Rosner 1983, equation 2.5; one-sided for one direction).
fn critical(n: usize, alpha: f64, direction: Direction) -> f64 {
    let n = n as f64;
    let sides = if direction == Direction::Both { 2.0 } else { 1.0 };
    let t = dist::t_quantile(1.0 - alpha / (sides * n), n - 2.0);
    (n - 1.0) * t / ((n - 2.0 + t * t) * n).sqrt()
}

/// The generalised ESD test: removes the most extreme value `most` times; the last removal that exceeds its critical
/// value determines how many are anomalies.
fn extreme(values: &[f64], most: usize, alpha: f64, direction: Direction, robust: bool) -> Vec<Suspect> {
    let mut left: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    left.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut suspects: Vec<Suspect> = Vec::new();
    let mut count = 0;
    for step in 1..=most {
        let sorted: Vec<f64> = left.iter().map(|(_, x)| *x).collect();
        let (centre, scale) = middle_and_scale(&sorted, robust);
        // A scale that is a rounding error is none: what differs at all is infinitely far, and the rest is equal.
        let negligible = scale <= centre.abs() * 1e-13;
        let (low, high) = match (sorted.first(), sorted.last()) {
            (Some(low), Some(high)) => (centre - low, high - centre),
            _ => break,
        };
        let (at_end, distance) = match direction {
            Direction::Up => (true, high),
            Direction::Down => (false, low),
            Direction::Both => (high >= low, high.max(low)),
        };
        if distance <= 0.0 || (negligible && distance <= centre.abs() * 1e-12) {
            break;
        }
        let score = if negligible { f64::MAX } else { distance / scale };
        let n = left.len();
        let removed = if at_end { left.pop() } else { Some(left.remove(0)) };
        let Some((index, _)) = removed else { break };
        suspects.push(Suspect { index, score, p: tail(score, n, direction) });
        if score > critical(n, alpha, direction) {
            count = step;
        }
    }
    suspects.truncate(count);
    suspects
}

/// The p-value that inverts Rosner's critical value: Bonferroni over the `n` values.
fn tail(score: f64, n: usize, direction: Direction) -> f64 {
    let n = n as f64;
    let sides = if direction == Direction::Both { 2.0 } else { 1.0 };
    let room = (n - 1.0).powi(2) - n * score * score;
    if room <= 0.0 {
        return 0.0;
    }
    let t = (n * (n - 2.0) * score * score / room).sqrt();
    (sides * n * dist::t_sf(t, n - 2.0)).min(1.0)
}
