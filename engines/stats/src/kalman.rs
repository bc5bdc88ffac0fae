//! A Kalman filter and smoother of one axis (q100): a place, and with it a velocity.

use muster_engine::prelude::*;

/// Share of the largest variance below which one counts as zero.
const NOTHING: f64 = 1e-14;

/// Variance of the start of a level, and the largest values and noise for which it is wide enough.
const APPROXIMATE: f64 = 1e6;
const MODERATE: (f64, f64) = (3e3, 1e5);

/// Models of the motion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    Level,
    Velocity,
}

/// A time, with an observation or without.
pub(crate) struct Step {
    pub(crate) time: f64,
    pub(crate) value: Option<f64>,
}

/// A smoothed state.
#[derive(Clone, Copy)]
pub(crate) struct Smoothed {
    pub(crate) place: f64,
    pub(crate) velocity: f64,
    pub(crate) sd: f64,
}

/// An axis, smoothed.
pub(crate) struct Axis {
    pub(crate) states: Vec<Smoothed>,
    /// Innovations by their standard deviation; none where nothing was observed or predicted.
    pub(crate) innovations: Vec<Option<f64>>,
    pub(crate) log_likelihood: f64,
}

type Vector = [f64; 2];
/// A symmetric matrix: first and second diagonal element, and the one beside it.
#[derive(Clone, Copy)]
struct Symmetric {
    aa: f64,
    bb: f64,
    ab: f64,
}

struct Filtered {
    before: Vector,
    before_variance: Symmetric,
    after: Vector,
    after_variance: Symmetric,
    dt: f64,
}

impl Axis {
    /// Filters and smooths. The start is diffuse: the first observation (for a velocity the first two at different
    /// times) fixes the state, by a start variance far above all others, and does not count in the likelihood. A level of
    /// moderate size starts at 0 with the variance 1e6, the approximation of statsmodels and of the reference vector.
    pub(crate) fn run(steps: &[Step], model: Model, q: f64, r: f64) -> Result<Self, Failure> {
        let known: Vec<f64> = steps.iter().filter_map(|s| s.value).collect();
        let least = if model == Model::Level { 1 } else { 2 };
        if known.len() < least {
            let problem = format!("at least {least} observations are needed");
            return Err(Failure::no_answer(NoAnswer::TooFew, problem));
        }
        let origin = known.first().copied().unwrap_or(0.0);
        let span = steps.last().map_or(0.0, |s| s.time).max(1e-30);
        let spread = known.iter().map(|x| (x - origin).powi(2)).fold(0.0, f64::max);
        // Against the largest variance that can occur.
        let noise = r + q * span + if model == Model::Velocity { q * span.powi(3) / 3.0 } else { 0.0 };
        let scale = spread.max(noise).max(1e-60);
        let start = Symmetric { aa: 1e7 * scale, bb: 1e7 * scale / (span * span).min(1.0), ab: 0.0 };
        let start = if model == Model::Level { Symmetric { bb: 0.0, ..start } } else { start };
        let largest = known.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let (origin, start) = if model == Model::Level && largest <= MODERATE.0 && noise <= MODERATE.1 {
            (0.0, Symmetric { aa: APPROXIMATE, ..start })
        } else {
            (origin, start)
        };
        let mut filter = Filter { model, q, r, mean: [0.0, 0.0], variance: start, time: 0.0, burn: least };
        let mut axis = Self { states: Vec::new(), innovations: Vec::new(), log_likelihood: 0.0 };
        let mut filtered = Vec::with_capacity(steps.len());
        for step in steps {
            let (state, innovation, likelihood) = filter.advance(step.time, step.value.map(|x| x - origin));
            axis.innovations.push(innovation);
            axis.log_likelihood += likelihood;
            filtered.push(state);
        }
        axis.states = smooth(&filtered, model)
            .into_iter()
            .map(|(mean, variance)| {
                let [place, velocity] = mean;
                Smoothed { place: place + origin, velocity, sd: variance.aa.max(0.0).sqrt() }
            })
            .collect();
        Ok(axis)
    }
}

struct Filter {
    model: Model,
    q: f64,
    r: f64,
    mean: Vector,
    variance: Symmetric,
    time: f64,
    burn: usize,
}

/// F·P·Fᵀ for a place that moves with its velocity for `dt`.
fn moved(p: Symmetric, dt: f64, model: Model) -> Symmetric {
    match model {
        Model::Level => p,
        Model::Velocity => Symmetric { aa: p.aa + dt * (2.0 * p.ab + dt * p.bb), bb: p.bb, ab: p.ab + dt * p.bb },
    }
}

impl Filter {
    fn advance(&mut self, time: f64, value: Option<f64>) -> (Filtered, Option<f64>, f64) {
        let dt = time - self.time;
        self.time = time;
        let [place, velocity] = self.mean;
        let moves = self.model == Model::Velocity;
        let before = if moves { [place + dt * velocity, velocity] } else { self.mean };
        let mut variance = moved(self.variance, dt, self.model);
        if moves {
            // White noise of the acceleration, integrated over dt.
            variance.aa += self.q * dt.powi(3) / 3.0;
            variance.ab += self.q * dt * dt / 2.0;
            variance.bb += self.q * dt;
        } else {
            variance.aa += self.q * dt;
        }
        let mut filtered = Filtered { before, before_variance: variance, after: before, after_variance: variance, dt };
        let (mut innovation, mut likelihood) = (None, 0.0);
        let total = variance.aa + self.r;
        if let Some(value) = value
            && total > 0.0
        {
            let [place, velocity] = before;
            let rest = value - place;
            let (ka, kb) = (variance.aa / total, variance.ab / total);
            filtered.after = [place + ka * rest, velocity + kb * rest];
            // Joseph's form, which stays a variance.
            let keep = 1.0 - ka;
            filtered.after_variance = Symmetric {
                aa: keep * keep * variance.aa + ka * ka * self.r,
                ab: keep * (variance.ab - kb * variance.aa) + ka * kb * self.r,
                bb: variance.bb - 2.0 * kb * variance.ab + kb * kb * total,
            };
            if self.burn > 0 {
                self.burn -= 1;
            } else {
                innovation = Some(rest / total.sqrt());
                likelihood = -0.5 * ((2.0 * std::f64::consts::PI * total).ln() + rest * rest / total);
            }
        }
        (self.mean, self.variance) = (filtered.after, filtered.after_variance);
        (filtered, innovation, likelihood)
    }
}

/// The smoother of Rauch, Tung and Striebel.
fn smooth(filtered: &[Filtered], model: Model) -> Vec<(Vector, Symmetric)> {
    let mut out: Vec<(Vector, Symmetric)> = Vec::with_capacity(filtered.len());
    let mut next: Option<(&Filtered, Vector, Symmetric)> = None;
    for state in filtered.iter().rev() {
        let (mut mean, mut variance) = (state.after, state.after_variance);
        if let Some((later, later_mean, later_variance)) = next {
            (mean, variance) = smoothed(state, later, later_mean, later_variance, model);
        }
        out.push((mean, variance));
        next = Some((state, mean, variance));
    }
    out.reverse();
    out
}

fn smoothed(now: &Filtered, later: &Filtered, mean: Vector, variance: Symmetric, model: Model) -> (Vector, Symmetric) {
    let p = now.after_variance;
    let m = later.before_variance;
    let gap = [mean[0] - later.before[0], mean[1] - later.before[1]];
    if model == Model::Level {
        let gain = if m.aa > 0.0 { p.aa / m.aa } else { 0.0 };
        let aa = p.aa + gain * gain * (variance.aa - m.aa);
        return ([now.after[0] + gain * gap[0], 0.0], Symmetric { aa, bb: 0.0, ab: 0.0 });
    }
    // P·Fᵀ, then times the inverse of the predicted variance.
    let dt = later.dt;
    let left = [[p.aa + dt * p.ab, p.ab], [p.ab + dt * p.bb, p.bb]];
    let determinant = m.aa * m.bb - m.ab * m.ab;
    if determinant <= NOTHING * m.aa * m.bb || !determinant.is_finite() {
        // Place and velocity are one; the later state says nothing beyond the place.
        let gain = if m.aa > 0.0 { [left[0][0] / m.aa, left[1][0] / m.aa] } else { [0.0, 0.0] };
        let change = variance.aa - m.aa;
        let out = Symmetric {
            aa: p.aa + gain[0] * gain[0] * change,
            bb: p.bb + gain[1] * gain[1] * change,
            ab: p.ab + gain[0] * gain[1] * change,
        };
        return ([now.after[0] + gain[0] * gap[0], now.after[1] + gain[1] * gap[0]], out);
    }
    let row = |l: [f64; 2]| [(l[0] * m.bb - l[1] * m.ab) / determinant, (l[1] * m.aa - l[0] * m.ab) / determinant];
    let (a, b) = (row(left[0]), row(left[1]));
    let dot = |g: [f64; 2]| g[0] * gap[0] + g[1] * gap[1];
    let (daa, dbb, dab) = (variance.aa - m.aa, variance.bb - m.bb, variance.ab - m.ab);
    let form = |g: [f64; 2], h: [f64; 2]| g[0] * h[0] * daa + (g[0] * h[1] + g[1] * h[0]) * dab + g[1] * h[1] * dbb;
    let out = Symmetric { aa: p.aa + form(a, a), bb: p.bb + form(b, b), ab: p.ab + form(a, b) };
    ([now.after[0] + dot(a), now.after[1] + dot(b)], out)
}
