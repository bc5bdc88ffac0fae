//! Exponential smoothing (q93): level, trend and season, fitted by least squares of one-step errors.

use muster_kernel_numeric::optim::nelder_mead;
use muster_kernel_numeric::summary;

use crate::seasonal_indices::{indices, without_season};

const EVALUATIONS: usize = 1_200;
const TOLERANCE: f64 = 1e-9;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trend {
    None,
    Linear,
    Damped,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Season {
    None,
    Additive,
    Multiplicative,
}

#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) trend: Trend,
    pub(crate) season: Season,
    pub(crate) period: usize,
}

/// Smoothing parameters, each in its range.
#[derive(Clone, Copy)]
struct Weights {
    alpha: f64,
    beta: f64,
    gamma: f64,
    phi: f64,
}

#[derive(Clone)]
struct State {
    level: f64,
    trend: f64,
    /// The next season first.
    season: std::collections::VecDeque<f64>,
}

/// A fitted model.
pub(crate) struct Smoothing {
    form: Form,
    weights: Weights,
    start: (f64, f64),
    end: State,
    pub(crate) fitted: Vec<f64>,
    pub(crate) residuals: Vec<f64>,
    pub(crate) sse: f64,
}

impl Weights {
    /// From free numbers: a logistic curve keeps each in its range. γ is below 1 − α, φ from 0.8 to 0.98.
    fn of(free: &[f64], form: Form) -> Self {
        let at = |i: usize| {
            let x: f64 = free.get(i).copied().unwrap_or(0.0);
            (1.0 / (1.0 + (-x).exp())).clamp(1e-4, 1.0 - 1e-4)
        };
        let alpha = at(0);
        let trend = form.trend != Trend::None;
        let beta = if trend { at(1) } else { 0.0 };
        let mut next = if trend { 2 } else { 1 };
        let phi = if form.trend == Trend::Damped {
            next += 1;
            0.8 + 0.18 * at(2)
        } else {
            1.0
        };
        let gamma = if form.season == Season::None { 0.0 } else { (1.0 - alpha) * at(next) };
        Self { alpha, beta, gamma, phi }
    }

    /// How many free numbers a form has.
    fn count(form: Form) -> usize {
        let trend = match form.trend {
            Trend::None => 0,
            Trend::Linear => 1,
            Trend::Damped => 2,
        };
        1 + trend + usize::from(form.season != Season::None)
    }
}

impl State {
    fn forecast(&self, form: Form, weights: Weights) -> f64 {
        let base = self.level + weights.phi * self.trend;
        match (form.season, self.season.front()) {
            (Season::Additive, Some(s)) => base + s,
            (Season::Multiplicative, Some(s)) => base * s,
            _ => base,
        }
    }

    fn advance(&mut self, value: f64, form: Form, weights: Weights) {
        let base = self.level + weights.phi * self.trend;
        let season = self.season.pop_front().unwrap_or(0.0);
        let plain = match form.season {
            Season::None => value,
            Season::Additive => value - season,
            Season::Multiplicative => {
                if season == 0.0 {
                    base
                } else {
                    value / season
                }
            }
        };
        let level = weights.alpha * plain + (1.0 - weights.alpha) * base;
        if form.trend != Trend::None {
            self.trend = weights.beta * (level - self.level) + (1.0 - weights.beta) * weights.phi * self.trend;
        }
        self.level = level;
        if form.season != Season::None {
            let fresh = match form.season {
                Season::Multiplicative => {
                    if base == 0.0 {
                        season
                    } else {
                        value / base
                    }
                }
                _ => value - base,
            };
            self.season.push_back(weights.gamma * fresh + (1.0 - weights.gamma) * season);
        }
    }
}

impl Smoothing {
    pub(crate) fn fit(values: &[f64], form: Form) -> Self {
        // Values are scaled to their spread, so that steps and tolerances fit every unit.
        let spread = summary::sd(values);
        let scale = if spread > 0.0 { spread } else { 1.0 };
        let season = match form.season {
            Season::None => Vec::new(),
            Season::Additive => indices(values, form.period, false),
            Season::Multiplicative => indices(values, form.period, true),
        };
        let plain = without_season(values, &season, form.season == Season::Multiplicative);
        let (level, trend) = first_line(&plain, form.trend != Trend::None);
        let free = Weights::count(form);
        let start_of = |x: &[f64]| {
            let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
            let trend_start = if form.trend == Trend::None { 0.0 } else { trend + scale * at(free + 1) };
            State { level: level + scale * at(free), trend: trend_start, season: season.iter().copied().collect() }
        };
        let error = |x: &[f64]| {
            let (mut state, weights, mut sum) = (start_of(x), Weights::of(x, form), 0.0);
            for value in values {
                let rest = (value - state.forecast(form, weights)) / scale;
                sum += rest * rest;
                state.advance(*value, form, weights);
            }
            sum
        };
        // α 0.27, β 0.12, γ of the rest 0.12 and φ 0.94 to begin with.
        let mut begin = vec![-1.0];
        let mut step = vec![1.0];
        if form.trend != Trend::None {
            begin.push(-2.0);
            step.push(1.0);
        }
        if form.trend == Trend::Damped {
            begin.push(1.0);
            step.push(1.0);
        }
        if form.season != Season::None {
            begin.push(-2.0);
            step.push(1.0);
        }
        begin.push(0.0);
        step.push(0.3);
        if form.trend != Trend::None {
            begin.push(0.0);
            step.push(0.05);
        }
        let best = nelder_mead(error, &begin, &step, TOLERANCE, EVALUATIONS);
        let weights = Weights::of(&best.at, form);
        let mut state = start_of(&best.at);
        let start = (state.level, state.trend);
        let (mut fitted, mut residuals) = (Vec::new(), Vec::new());
        for value in values {
            let forecast = state.forecast(form, weights);
            fitted.push(forecast);
            residuals.push(value - forecast);
            state.advance(*value, form, weights);
        }
        let sse = summary::sum(residuals.iter().map(|e| e * e));
        Self { form, weights, start, end: state, fitted, residuals, sse }
    }

    pub(crate) fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut out = vec![("alpha", self.weights.alpha), ("level_start", self.start.0), ("sse", self.sse)];
        if self.form.trend != Trend::None {
            out.extend([("beta", self.weights.beta), ("trend_start", self.start.1)]);
        }
        if self.form.trend == Trend::Damped {
            out.push(("phi", self.weights.phi));
        }
        if self.form.season != Season::None {
            let factor = if self.form.season == Season::Multiplicative { 1.0 } else { 0.0 };
            out.extend([("gamma", self.weights.gamma), ("multiplicative", factor)]);
        }
        out
    }

    pub(crate) fn path(&self, horizon: usize, error: &mut dyn FnMut() -> f64) -> Vec<f64> {
        let mut state = self.end.clone();
        (0..horizon)
            .map(|_| {
                let value = state.forecast(self.form, self.weights) + error();
                state.advance(value, self.form, self.weights);
                value
            })
            .collect()
    }
}

/// Level before the first value, and slope, of a line through the first ten.
fn first_line(values: &[f64], trend: bool) -> (f64, f64) {
    let first: Vec<f64> = values.iter().take(10).copied().collect();
    let n = first.len() as f64;
    let (middle, mean) = ((n + 1.0) / 2.0, summary::mean(&first));
    if !trend {
        return (mean, 0.0);
    }
    let cross: f64 = first.iter().enumerate().map(|(i, x)| (i as f64 + 1.0 - middle) * (x - mean)).sum();
    let slope = cross / (n * (n * n - 1.0) / 12.0);
    (mean - slope * middle, slope)
}
