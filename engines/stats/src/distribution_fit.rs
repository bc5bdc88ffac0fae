//! q89: distribution fitting.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::root::brent;
use muster_kernel_numeric::special::{digamma, gamma_parts, ln_gamma, trigamma};
use muster_kernel_numeric::{dist, summary};

use crate::support::check_series;

const MAX_VALUES: usize = 100_000;
const MAX_PROBABILITIES: usize = 1_000;
const KNOWN: [&str; 6] = ["normal", "lognormal", "exponential", "gamma", "weibull", "gumbel"];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    candidates: Vec<String>,
    probabilities: Vec<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    fits: Vec<Fit>,
    best: String,
}

/// A fitted distribution.
#[derive(Output)]
struct Fit {
    name: String,
    parameters: BTreeMap<String, f64>,
    log_likelihood: f64,
    aic: f64,
    ks: f64,
    ks_p: f64,
    anderson_darling: f64,
    quantiles: Vec<f64>,
}

/// Fits each candidate by maximum likelihood.
///
/// # Errors
/// `Invalid` (an unknown candidate, a probability outside of 0 to 1), `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 3, MAX_VALUES)?;
    if input.probabilities.len() > MAX_PROBABILITIES {
        return Err(Failure::too_large(format!("probabilities: at most {MAX_PROBABILITIES}")));
    }
    if let Some(at) = input.probabilities.iter().position(|p| !(*p > 0.0 && *p < 1.0)) {
        return Err(Failure::invalid(&["probabilities", &at.to_string()], "must be between 0 and 1"));
    }
    if let Some(at) = input.candidates.iter().position(|name| !KNOWN.contains(&name.as_str())) {
        let problem = format!("unknown distribution; known are {}", KNOWN.join(", "));
        return Err(Failure::invalid(&["candidates", &at.to_string()], problem));
    }
    let x = summary::sorted(&input.values);
    let (low, high) = (x.first().copied().unwrap_or(0.0), x.last().copied().unwrap_or(0.0));
    if high - low <= high.abs().max(low.abs()) * 1e-12 {
        return Err(Failure::no_answer(NoAnswer::Singular, "the values do not vary"));
    }
    let mut fits: Vec<Fit> = Vec::new();
    for name in KNOWN.iter().filter(|name| input.candidates.iter().any(|wanted| wanted == *name)) {
        if !matches!(*name, "normal" | "gumbel") && low <= 0.0 {
            cx.warn(format!("left_out: {name} needs positive values"));
            continue;
        }
        let fitted = fit(name, &x).map(|model| assess(name, model, &x, &input.probabilities));
        match fitted {
            Some(fit) if fit.log_likelihood.is_finite() && fit.quantiles.iter().all(|q| q.is_finite()) => {
                fits.push(fit)
            }
            _ => cx.warn(format!("left_out: {name} has no maximum likelihood fit in double precision")),
        }
    }
    fits.sort_by(|a, b| a.aic.total_cmp(&b.aic));
    let Some(best) = fits.first().map(|fit| fit.name.clone()) else {
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, "no candidate fits: see the candidates' ranges"));
    };
    Ok(Output { fits, best })
}

#[derive(Clone, Copy)]
enum Model {
    Normal { mean: f64, sd: f64 },
    Lognormal { mu: f64, sigma: f64 },
    Exponential { rate: f64 },
    Gamma { shape: f64, scale: f64 },
    Weibull { shape: f64, scale: f64 },
    Gumbel { location: f64, scale: f64 },
}

fn fit(name: &str, x: &[f64]) -> Option<Model> {
    let n = x.len() as f64;
    let mean = summary::mean(x);
    match name {
        "normal" => Some(Model::Normal { mean, sd: (summary::squares(x) / n).sqrt() }),
        "lognormal" => {
            let logs: Vec<f64> = x.iter().map(|x| x.ln()).collect();
            Some(Model::Lognormal { mu: summary::mean(&logs), sigma: (summary::squares(&logs) / n).sqrt() })
        }
        "exponential" => Some(Model::Exponential { rate: 1.0 / mean }),
        "gamma" => gamma_fit(x, mean),
        "weibull" => weibull_fit(x),
        _ => gumbel_fit(x, mean),
    }
}

/// ln k − ψ(k) = ln x̄ − mean of ln x, by Newton's method on 1/k (Choi and Wette 1969; start of Minka 2002).
fn gamma_fit(x: &[f64], mean: f64) -> Option<Model> {
    let s = mean.ln() - summary::sum(x.iter().map(|x| x.ln())) / x.len() as f64;
    if s <= 0.0 {
        return None;
    }
    let mut shape = (3.0 - s + ((s - 3.0).powi(2) + 24.0 * s).sqrt()) / (12.0 * s);
    for _ in 0..100 {
        let inverse =
            1.0 / shape + (shape.ln() - digamma(shape) - s) / (shape * shape * (1.0 / shape - trigamma(shape)));
        let next = 1.0 / inverse;
        if next.is_nan() || next <= 0.0 {
            return None;
        }
        let done = (next - shape).abs() <= 1e-14 * next;
        shape = next;
        if done {
            break;
        }
    }
    Some(Model::Gamma { shape, scale: mean / shape })
}

/// The profile equation of the shape, on values divided by the largest so that powers stay numbers.
fn weibull_fit(x: &[f64]) -> Option<Model> {
    let largest = *x.last()?;
    let logs: Vec<f64> = x.iter().map(|x| (x / largest).ln()).collect();
    let mean_log = summary::mean(&logs);
    let gap = |k: f64| {
        let weights: Vec<f64> = logs.iter().map(|l| (k * l).exp()).collect();
        let total = summary::sum(weights.iter().copied());
        summary::sum(weights.iter().zip(&logs).map(|(w, l)| w * l)) / total - 1.0 / k - mean_log
    };
    let (mut low, mut high) = (1e-3, 1.0);
    while gap(high) < 0.0 && high < 1e9 {
        high *= 2.0;
    }
    while gap(low) > 0.0 && low > 1e-9 {
        low /= 2.0;
    }
    let shape = brent(gap, low, high, 1e-14)?;
    let power = summary::sum(logs.iter().map(|l| (shape * l).exp())) / x.len() as f64;
    Some(Model::Weibull { shape, scale: largest * power.powf(1.0 / shape) })
}

fn gumbel_fit(x: &[f64], mean: f64) -> Option<Model> {
    let lowest = *x.first()?;
    let sd = summary::sd(x);
    let gap = |scale: f64| {
        let weights: Vec<f64> = x.iter().map(|x| (-(x - lowest) / scale).exp()).collect();
        let total = summary::sum(weights.iter().copied());
        mean - summary::sum(weights.iter().zip(x).map(|(w, x)| w * x)) / total - scale
    };
    let scale = brent(gap, sd * 1e-3, sd * 20.0, 1e-14)?;
    let total = summary::sum(x.iter().map(|x| (-(x - lowest) / scale).exp())) / x.len() as f64;
    Some(Model::Gumbel { location: lowest - scale * total.ln(), scale })
}

impl Model {
    fn parameters(self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Normal { mean, sd } => vec![("mean", mean), ("sd", sd)],
            Self::Lognormal { mu, sigma } => vec![("mu", mu), ("sigma", sigma)],
            Self::Exponential { rate } => vec![("rate", rate)],
            Self::Gamma { shape, scale } | Self::Weibull { shape, scale } => vec![("shape", shape), ("scale", scale)],
            Self::Gumbel { location, scale } => vec![("location", location), ("scale", scale)],
        }
    }

    fn log_density(self, x: f64) -> f64 {
        let normal = |z: f64| -0.5 * z * z - 0.5 * (2.0 * std::f64::consts::PI).ln();
        match self {
            Self::Normal { mean, sd } => normal((x - mean) / sd) - sd.ln(),
            Self::Lognormal { mu, sigma } => normal((x.ln() - mu) / sigma) - sigma.ln() - x.ln(),
            Self::Exponential { rate } => rate.ln() - rate * x,
            Self::Gamma { shape, scale } => (shape - 1.0) * x.ln() - x / scale - ln_gamma(shape) - shape * scale.ln(),
            Self::Weibull { shape, scale } => {
                let z = x / scale;
                shape.ln() - scale.ln() + (shape - 1.0) * z.ln() - z.powf(shape)
            }
            Self::Gumbel { location, scale } => {
                let z = (x - location) / scale;
                -scale.ln() - z - (-z).exp()
            }
        }
    }

    /// P(X ≤ x) and P(X > x).
    fn tails(self, x: f64) -> (f64, f64) {
        match self {
            Self::Normal { mean, sd } => (dist::normal_cdf((x - mean) / sd), dist::normal_sf((x - mean) / sd)),
            Self::Lognormal { mu, sigma } => {
                let z = (x.ln() - mu) / sigma;
                (dist::normal_cdf(z), dist::normal_sf(z))
            }
            Self::Exponential { rate } => (-(-rate * x).exp_m1(), (-rate * x).exp()),
            Self::Gamma { shape, scale } => gamma_parts(shape, x / scale),
            Self::Weibull { shape, scale } => {
                let power = (x / scale).powf(shape);
                (-(-power).exp_m1(), (-power).exp())
            }
            Self::Gumbel { location, scale } => {
                let e = (-(x - location) / scale).exp();
                ((-e).exp(), -(-e).exp_m1())
            }
        }
    }

    fn quantile(self, p: f64) -> f64 {
        match self {
            Self::Normal { mean, sd } => mean + sd * dist::normal_quantile(p),
            Self::Lognormal { mu, sigma } => (mu + sigma * dist::normal_quantile(p)).exp(),
            Self::Exponential { rate } => -(-p).ln_1p() / rate,
            Self::Gamma { shape, scale } => scale * dist::gamma_quantile(p, shape),
            Self::Weibull { shape, scale } => scale * (-(-p).ln_1p()).powf(1.0 / shape),
            Self::Gumbel { location, scale } => location - scale * (-p.ln()).ln(),
        }
    }
}

fn assess(name: &str, model: Model, x: &[f64], probabilities: &[f64]) -> Fit {
    let n = x.len() as f64;
    let log_likelihood = summary::sum(x.iter().map(|x| model.log_density(*x)));
    let parameters = model.parameters();
    let tails: Vec<(f64, f64)> = x.iter().map(|x| model.tails(*x)).collect();
    let ks =
        tails.iter().enumerate().map(|(i, (f, _))| (f - i as f64 / n).max((i + 1) as f64 / n - f)).fold(0.0, f64::max);
    // A probability of 0 has no logarithm; the least number stands for it.
    let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    let pairs = tails.iter().zip(tails.iter().rev()).enumerate();
    let sum = summary::sum(pairs.map(|(i, ((f, _), (_, s)))| (2 * i + 1) as f64 * (log(*f) + log(*s))));
    Fit {
        name: name.to_owned(),
        log_likelihood,
        aic: 2.0 * parameters.len() as f64 - 2.0 * log_likelihood,
        ks,
        ks_p: dist::kolmogorov_sf(n.sqrt() * ks),
        anderson_darling: -n - sum / n,
        quantiles: probabilities.iter().map(|p| model.quantile(*p)).collect(),
        parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}
