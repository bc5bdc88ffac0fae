//! q95: change points.

use muster_engine::prelude::*;
use muster_kernel_numeric::summary;

use crate::support::check_series;

const MAX_VALUES: usize = 10_000;
/// Makes the median absolute deviation of normal values their standard deviation; rounded as in the reference vector.
const NORMAL_MAD: f64 = 1.0 / 0.674_489_8;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    model: Model,
    penalty: Option<f64>,
    min_size: i64,
}

/// What changes.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Model {
    /// The mean; the variance is common.
    Mean,
    /// Mean and variance.
    MeanVariance,
    /// The line through a segment.
    Slope,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    breakpoints: Vec<i64>,
    segments: Vec<Segment>,
    penalty: f64,
}

/// Values from index `start` to before `end`.
#[derive(Output)]
struct Segment {
    start: i64,
    end: i64,
    mean: f64,
    sd: f64,
    slope: f64,
}

/// Finds the segmentation with the least cost.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` (`too_few`).
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 4, MAX_VALUES)?;
    let values = &input.values;
    let n = values.len();
    let least = if input.model == Model::Mean { 1 } else { 2 };
    let min_size = usize::try_from(input.min_size).unwrap_or(usize::MAX).max(least);
    if min_size > n {
        return Err(Failure::invalid(&["min_size"], "is longer than the series"));
    }
    let costs = Costs::of(values, input.model);
    let penalty = match input.penalty {
        Some(penalty) if !(0.0..=1e200).contains(&penalty) => {
            return Err(Failure::invalid(&["penalty"], "must be from 0 to 1e200"));
        }
        Some(penalty) => penalty,
        None => default_penalty(values, input.model),
    };
    let breakpoints = pelt(&costs, n, penalty, min_size);
    let mut segments = Vec::new();
    let mut start = 0;
    for end in breakpoints.iter().copied().chain([n]) {
        let part = values.get(start..end).unwrap_or_default();
        segments.push(Segment {
            start: start as i64,
            end: end as i64,
            mean: summary::mean(part),
            sd: summary::sd(part),
            slope: slope(part),
        });
        start = end;
    }
    Ok(Output { breakpoints: breakpoints.into_iter().map(|at| at as i64).collect(), segments, penalty })
}

/// Parameters of a change times ln n (Schwarz): 2 for a mean and its place, 3 for mean and variance or a line. On the
/// scale of sums of squares it is times the variance, from the MAD of the differences.
fn default_penalty(values: &[f64], model: Model) -> f64 {
    let log = (values.len() as f64).ln();
    let steps: Vec<f64> = values.windows(2).map(|w| w.last().unwrap_or(&0.0) - w.first().unwrap_or(&0.0)).collect();
    let sigma = NORMAL_MAD * summary::mad(&steps) / std::f64::consts::SQRT_2;
    // More than half of the steps may be equal; then their standard deviation stands in.
    let sigma = if sigma > 0.0 { sigma } else { summary::sd(&steps) / std::f64::consts::SQRT_2 };
    match model {
        Model::Mean => 2.0 * sigma * sigma * log,
        Model::MeanVariance => 3.0 * log,
        Model::Slope => 3.0 * sigma * sigma * log,
    }
}

fn slope(part: &[f64]) -> f64 {
    let n = part.len() as f64;
    if part.len() < 2 {
        return 0.0;
    }
    let (middle, mean) = ((n - 1.0) / 2.0, summary::mean(part));
    let cross = summary::sum(part.iter().enumerate().map(|(i, x)| (i as f64 - middle) * (x - mean)));
    cross / (n * (n * n - 1.0) / 12.0)
}

/// Costs of segments from cumulative sums of the centred values.
struct Costs {
    model: Model,
    sums: Vec<[f64; 3]>,
    /// Least variance of a segment: below it differences are rounding errors.
    floor: f64,
}

impl Costs {
    fn of(values: &[f64], model: Model) -> Self {
        let middle = summary::mean(values);
        let mut sums = vec![[0.0; 3]];
        let mut last = [0.0; 3];
        for (i, x) in values.iter().enumerate() {
            let x = x - middle;
            let [a, b, c] = last;
            last = [a + x, b + x * x, c + x * i as f64];
            sums.push(last);
        }
        Self { model, sums, floor: (summary::variance(values) * 1e-10).max(1e-200) }
    }

    /// Cost of the values from `s` to before `t`.
    fn cost(&self, s: usize, t: usize) -> f64 {
        let (Some([a0, b0, c0]), Some([a1, b1, c1])) = (self.sums.get(s), self.sums.get(t)) else { return 0.0 };
        let n = (t - s) as f64;
        let (sum, squares) = (a1 - a0, b1 - b0);
        let rest = (squares - sum * sum / n).max(0.0);
        match self.model {
            Model::Mean => rest,
            Model::MeanVariance => n * (rest / n).max(self.floor).ln(),
            Model::Slope => {
                let middle = (s + t - 1) as f64 / 2.0;
                let cross = (c1 - c0) - middle * sum;
                let spread = n * (n * n - 1.0) / 12.0;
                if spread > 0.0 { (rest - cross * cross / spread).max(0.0) } else { 0.0 }
            }
        }
    }
}

/// PELT (Killick, Fearnhead and Eckley 2012), exact also for a least size: a start that another beats at `t` is dropped
/// only once a segment from `t` is allowed.
fn pelt(costs: &Costs, n: usize, penalty: f64, min_size: usize) -> Vec<usize> {
    let mut best = vec![f64::INFINITY; n + 1];
    let mut previous = vec![0_usize; n + 1];
    if let Some(first) = best.first_mut() {
        *first = -penalty;
    }
    // A start and the time from which it is beaten.
    let mut starts: Vec<(usize, usize)> = vec![(0, usize::MAX)];
    for t in min_size..=n {
        let fresh = t - min_size;
        if fresh > 0 && best.get(fresh).is_some_and(|b| b.is_finite()) {
            starts.push((fresh, usize::MAX));
        }
        starts.retain(|(_, until)| *until > t);
        let mut lowest = (f64::INFINITY, 0);
        let mut found = Vec::with_capacity(starts.len());
        for (s, _) in &starts {
            let value = best.get(*s).copied().unwrap_or(f64::INFINITY) + costs.cost(*s, t);
            found.push(value);
            if value + penalty < lowest.0 {
                lowest = (value + penalty, *s);
            }
        }
        if let (Some(b), Some(p)) = (best.get_mut(t), previous.get_mut(t)) {
            (*b, *p) = lowest;
        }
        for ((_, until), value) in starts.iter_mut().zip(found) {
            if value > lowest.0 {
                *until = (*until).min(t + min_size);
            }
        }
    }
    let mut out = Vec::new();
    let mut t = n;
    while t > 0 {
        t = previous.get(t).copied().unwrap_or(0);
        if t > 0 {
            out.push(t);
        }
    }
    out.reverse();
    out
}
