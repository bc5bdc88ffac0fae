//! q104: uncertainty of a formula.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::ranks::Ranks;
use muster_kernel_numeric::sample::{Sampler, triangular_quantile};
use muster_kernel_numeric::{dist, summary};

use crate::formula::Formula;
use crate::support::{finite, number};

const MAX_INPUTS: usize = 30;
/// Samples times inputs; and those of beta quantiles, which are slow.
const MAX_DRAWS: usize = 4_000_000;
const MAX_PERT: usize = 300_000;
const LEVELS: [(&str, f64); 7] =
    [("0.025", 0.025), ("0.05", 0.05), ("0.25", 0.25), ("0.5", 0.5), ("0.75", 0.75), ("0.95", 0.95), ("0.975", 0.975)];
/// Points of the exceedance curve, less one.
const CURVE: usize = 20;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    formula: String,
    inputs: Vec<Variable>,
    samples: i64,
    seed: i64,
}

/// A variable: normal(mean `a`, deviation `b`), uniform(`a` to `b`), triangular and pert (`a` to `b`, mode `c`, the
/// middle if absent), lognormal (mean `a` and deviation `b` of the logarithm).
#[derive(Input)]
struct Variable {
    name: String,
    distribution: Distribution,
    a: f64,
    b: f64,
    c: Option<f64>,
}

/// Distributions.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Distribution {
    /// Normal.
    Normal,
    /// Uniform.
    Uniform,
    /// Triangular.
    Triangular,
    /// Lognormal.
    Lognormal,
    /// Modified beta.
    Pert,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    mean: f64,
    sd: f64,
    quantiles: BTreeMap<String, f64>,
    gum: Option<Gum>,
    drivers: Vec<Driver>,
    exceedance: Vec<Vec<f64>>,
}

/// Value at the inputs' means, standard uncertainty and twice that.
#[derive(Output)]
struct Gum {
    value: f64,
    u: f64,
    k2: f64,
}

#[derive(Output)]
struct Driver {
    input: String,
    share: f64,
    spearman: f64,
}

/// Propagates the uncertainty.
///
/// # Errors
/// `Invalid` (the formula, an unknown name, impossible parameters), `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let variables = &input.inputs;
    let samples = input.samples.clamp(100, 1_000_000) as usize;
    check(variables, samples)?;
    let names: Vec<&str> = variables.iter().map(|v| v.name.as_str()).collect();
    let formula = Formula::parse(&input.formula, &names).map_err(|problem| Failure::invalid(&["formula"], problem))?;
    let mut sampler = Sampler::new(input.seed);
    // What the formula does not use needs no samples, and a constant needs few.
    let used = |at: usize| formula.uses(at);
    let samples = if (0..variables.len()).any(used) { samples } else { samples.min(100) };
    let columns: Vec<Vec<f64>> = variables
        .iter()
        .enumerate()
        .map(|(at, v)| if used(at) { hypercube(v, samples, &mut sampler) } else { Vec::new() })
        .collect();
    let mut results = Vec::with_capacity(samples);
    let mut kept: Vec<usize> = Vec::with_capacity(samples);
    let mut row = vec![0.0; variables.len()];
    for at in 0..samples {
        row.iter_mut().zip(&columns).for_each(|(to, column)| *to = column.get(at).copied().unwrap_or(0.0));
        if let Some(value) = formula.value(&row).filter(|v| v.abs() < 1e75) {
            results.push(value);
            kept.push(at);
        }
    }
    let lost = samples - results.len();
    if lost * 2 > samples {
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, "for most samples the formula has no value"));
    }
    if lost > 0 {
        cx.warn(format!(
            "no_value: {lost} of {samples} samples have none (such as a root of a negative number) and are left out"
        ));
    }
    let gum = gum(&formula, variables);
    if gum.is_none() {
        cx.warn("no gum: the formula has no derivative at the inputs' means");
    }
    let ranks = Ranks::of(&results).ranks;
    let spearman = |column: &Vec<f64>| {
        if column.is_empty() {
            return 0.0;
        }
        let values: Vec<f64> = kept.iter().filter_map(|at| column.get(*at).copied()).collect();
        summary::correlation(&Ranks::of(&values).ranks, &ranks).unwrap_or(0.0)
    };
    let correlations: Vec<f64> = columns.iter().map(spearman).collect();
    let shares = shares(gum.as_ref().map(|(_, parts)| parts.as_slice()), &correlations);
    let mut drivers: Vec<Driver> = variables
        .iter()
        .zip(shares.iter().zip(&correlations))
        .map(|(v, (share, spearman))| Driver { input: v.name.clone(), share: *share, spearman: *spearman })
        .collect();
    drivers.sort_by(|a, b| b.share.total_cmp(&a.share));
    let sorted = summary::sorted(&results);
    let level = |k: usize| k as f64 / CURVE as f64;
    Ok(Output {
        mean: number(summary::mean(&results), "the mean")?,
        sd: number(summary::sd(&results), "the deviation")?,
        quantiles: LEVELS.iter().map(|(name, p)| ((*name).to_owned(), summary::quantile_sorted(&sorted, *p))).collect(),
        gum: gum.map(|(gum, _)| gum),
        drivers,
        exceedance: (0..=CURVE).map(|k| vec![summary::quantile_sorted(&sorted, level(k)), 1.0 - level(k)]).collect(),
    })
}

fn check(variables: &[Variable], samples: usize) -> Result<(), Failure> {
    if variables.is_empty() {
        return Err(Failure::invalid(&["inputs"], "at least one input is needed"));
    }
    let pert = variables.iter().filter(|v| v.distribution == Distribution::Pert).count();
    if variables.len() > MAX_INPUTS || variables.len() * samples > MAX_DRAWS || pert * samples > MAX_PERT {
        return Err(Failure::too_large(format!(
            "at most {MAX_INPUTS} inputs, {MAX_DRAWS} samples times inputs, and {MAX_PERT} samples times pert inputs"
        )));
    }
    for (at, v) in variables.iter().enumerate() {
        let wrong = |member: &str, problem: &str| Err(Failure::invalid(&["inputs", &at.to_string(), member], problem));
        let name = v.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !name || !v.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return wrong("name", "a name has letters, digits and `_`, and starts with no digit");
        }
        if variables.iter().take(at).any(|other| other.name == v.name) {
            return wrong("name", "another input has this name");
        }
        if [v.a, v.b, v.c.unwrap_or(0.0)].iter().any(|x| x.abs() > 1e60) {
            return wrong("a", "parameters must be within ±1e60");
        }
        match v.distribution {
            Distribution::Normal if v.b < 0.0 => return wrong("b", "a deviation is not negative"),
            Distribution::Lognormal if !(0.0..=20.0).contains(&v.b) || v.a.abs() > 100.0 => {
                return wrong("b", "the logarithm's deviation is from 0 to 20, its mean within ±100");
            }
            Distribution::Uniform | Distribution::Triangular | Distribution::Pert if v.b < v.a => {
                return wrong("b", "must not be below a");
            }
            Distribution::Triangular | Distribution::Pert if v.c.is_some_and(|c| c < v.a || c > v.b) => {
                return wrong("c", "must be from a to b");
            }
            _ => {}
        }
    }
    Ok(())
}

impl Variable {
    fn mode(&self) -> f64 {
        self.c.unwrap_or(0.5 * (self.a + self.b))
    }

    /// The shape of the beta distribution of a PERT variable.
    fn pert(&self) -> (f64, f64) {
        let width = self.b - self.a;
        (1.0 + 4.0 * (self.mode() - self.a) / width, 1.0 + 4.0 * (self.b - self.mode()) / width)
    }

    fn quantile(&self, p: f64) -> f64 {
        match self.distribution {
            Distribution::Normal => self.a + self.b * dist::normal_quantile(p),
            Distribution::Uniform => self.a + p * (self.b - self.a),
            Distribution::Triangular => triangular_quantile(p, self.a, self.mode(), self.b),
            Distribution::Lognormal => (self.a + self.b * dist::normal_quantile(p)).exp(),
            Distribution::Pert if self.b > self.a => {
                let (alpha, beta) = self.pert();
                self.a + (self.b - self.a) * dist::beta_quantile(p, alpha, beta)
            }
            Distribution::Pert => self.a,
        }
    }

    /// Mean and standard deviation.
    fn moments(&self) -> (f64, f64) {
        let (a, b, c) = (self.a, self.b, self.mode());
        match self.distribution {
            Distribution::Normal => (a, b),
            Distribution::Uniform => (0.5 * (a + b), (b - a) / 12.0_f64.sqrt()),
            Distribution::Triangular => {
                let variance = ((b - a).powi(2) + (c - a) * (c - b)) / 18.0;
                ((a + b + c) / 3.0, variance.max(0.0).sqrt())
            }
            Distribution::Lognormal => {
                let mean = (a + b * b / 2.0).exp();
                (mean, mean * (b * b).exp_m1().sqrt())
            }
            Distribution::Pert => {
                let mean = (a + 4.0 * c + b) / 6.0;
                (mean, ((mean - a) * (b - mean) / 7.0).max(0.0).sqrt())
            }
        }
    }
}

/// One value from each of equally likely parts of the distribution, in random order.
fn hypercube(variable: &Variable, samples: usize, sampler: &mut Sampler) -> Vec<f64> {
    let mut parts: Vec<usize> = (0..samples).collect();
    sampler.shuffle(&mut parts);
    parts.into_iter().map(|part| variable.quantile((part as f64 + sampler.uniform()) / samples as f64)).collect()
}

/// The law of propagation (GUM 5.1.2) with derivatives by central differences, extrapolated once; the parts are
/// (cᵢ·uᵢ)².
fn gum(formula: &Formula, variables: &[Variable]) -> Option<(Gum, Vec<f64>)> {
    let means: Vec<f64> = variables.iter().map(|v| v.moments().0).collect();
    let value = formula.value(&means)?;
    let mut parts = Vec::new();
    for (at, variable) in variables.iter().enumerate() {
        let (mean, sd) = variable.moments();
        if sd == 0.0 {
            parts.push(0.0);
            continue;
        }
        let slope = |step: f64| {
            let shifted = |by: f64| {
                let mut point = means.clone();
                point.get_mut(at).into_iter().for_each(|x| *x += by);
                formula.value(&point)
            };
            Some((shifted(step)? - shifted(-step)?) / (2.0 * step))
        };
        let step = (1e-3 * sd).max(mean.abs() * 1e-9);
        let (wide, narrow) = (slope(step)?, slope(step / 2.0)?);
        let sensitivity = (4.0 * narrow - wide) / 3.0;
        parts.push(finite((sensitivity * sd).powi(2))?);
    }
    let u = finite(parts.iter().sum::<f64>().sqrt())?;
    Some((Gum { value, u, k2: finite(2.0 * u)? }, parts))
}

/// Shares of the variance; by squared rank correlations where there are no derivatives.
fn shares(parts: Option<&[f64]>, correlations: &[f64]) -> Vec<f64> {
    let squares: Vec<f64> = correlations.iter().map(|r| r * r).collect();
    let parts = parts.filter(|parts| parts.iter().sum::<f64>() > 0.0).unwrap_or(&squares);
    let total: f64 = parts.iter().sum();
    parts.iter().map(|part| if total > 0.0 { part / total } else { 0.0 }).collect()
}
