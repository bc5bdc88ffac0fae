//! q83: descriptive statistics.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::sample::Sampler;
use muster_kernel_numeric::{dist, summary};

use crate::support::{check_same, check_series};

const MAX_VALUES: usize = 200_000;
/// Most numbers that the bootstrap draws, and most of its samples.
const MAX_DRAWS: usize = 4_000_000;
const RESAMPLES: usize = 2_000;
/// Fewest samples that give usable bounds.
const MIN_RESAMPLES: usize = 400;
const PROBABILITIES: [(&str, f64); 7] =
    [("0", 0.0), ("0.05", 0.05), ("0.25", 0.25), ("0.5", 0.5), ("0.75", 0.75), ("0.95", 0.95), ("1", 1.0)];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
    confidence: f64,
    bins: Option<i64>,
    seed: i64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    n: i64,
    mean: f64,
    sd: f64,
    skewness: Option<f64>,
    kurtosis: Option<f64>,
    quantiles: BTreeMap<String, f64>,
    mad: f64,
    ci: Vec<f64>,
    outliers: Vec<f64>,
    histogram: Vec<Bin>,
}

/// A bin of the histogram: from `low` to below `high`; the last includes its end.
#[derive(Output)]
struct Bin {
    low: f64,
    high: f64,
    count: i64,
}

/// Summarises the values.
///
/// # Errors
/// `TooLarge`, `Invalid`, `NoAnswer` (fewer than two values).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 2, MAX_VALUES)?;
    let (mut values, mut weights) = (input.values, None);
    if let Some(given) = input.weights {
        check_same("weights", given.len(), "values", values.len())?;
        check_series(&given, "weights", 2, MAX_VALUES)?;
        if let Some(at) = given.iter().position(|w| *w < 0.0) {
            return Err(Failure::invalid(&["weights", &at.to_string()], "a weight must not be negative"));
        }
        // A value of weight 0 is not there.
        let kept: Vec<(f64, f64)> = values.iter().copied().zip(given).filter(|(_, w)| *w > 0.0).collect();
        if kept.len() < 2 {
            return Err(Failure::no_answer(NoAnswer::TooFew, "at least two values need a positive weight"));
        }
        values = kept.iter().map(|(x, _)| *x).collect();
        weights = Some(kept.iter().map(|(_, w)| *w).collect::<Vec<f64>>());
    }
    let moments = Moments::of(&values, weights.as_deref());
    let quantile = Quantiles::of(&values, weights.as_deref());
    let (q1, median, q3) = (quantile.at(0.25), quantile.at(0.5), quantile.at(0.75));
    let distances: Vec<f64> = values.iter().map(|x| (x - median).abs()).collect();
    let mad = Quantiles::of(&distances, weights.as_deref()).at(0.5);
    let reach = 1.5 * (q3 - q1);
    let outliers = values.iter().copied().filter(|x| *x < q1 - reach || *x > q3 + reach).collect();
    let mut ci = t_interval(&moments, input.confidence);
    if weights.is_some() {
        cx.warn("weighted: ci has the t interval only, with the effective number of values");
    } else if let Some((low, high)) = bootstrap(&values, &moments, input.confidence, input.seed) {
        ci.extend([low, high]);
    } else {
        cx.warn("no bootstrap: the values do not vary, or there are more than 10,000; ci has the t interval only");
    }
    let bins = input.bins.map_or_else(|| freedman_diaconis(&values, q3 - q1), |b| b.clamp(1, 500) as usize);
    Ok(Output {
        n: values.len() as i64,
        mean: moments.mean,
        sd: moments.sd,
        skewness: moments.skewness,
        kurtosis: moments.kurtosis,
        quantiles: PROBABILITIES.iter().map(|(name, p)| ((*name).to_owned(), quantile.at(*p))).collect(),
        mad,
        ci,
        outliers,
        histogram: histogram(&values, bins),
    })
}

struct Moments {
    mean: f64,
    sd: f64,
    /// Number of values; with weights the effective one, (Σw)²/Σw².
    n: f64,
    skewness: Option<f64>,
    kurtosis: Option<f64>,
}

impl Moments {
    /// Without weights: G1 and G2, adjusted for the sample (Joanes and Gill 1998). With weights: variance of
    /// reliability weights, moments not adjusted.
    fn of(values: &[f64], weights: Option<&[f64]>) -> Self {
        let ones;
        let w = match weights {
            Some(w) => w,
            None => {
                ones = vec![1.0; values.len()];
                &ones
            }
        };
        let total = summary::sum(w.iter().copied());
        let first = summary::sum(values.iter().zip(w).map(|(x, w)| x * w)) / total;
        let mean = first + summary::sum(values.iter().zip(w).map(|(x, w)| (x - first) * w)) / total;
        let moment = |power: i32| summary::sum(values.iter().zip(w).map(|(x, w)| w * (x - mean).powi(power))) / total;
        let m2 = moment(2).max(0.0);
        let squares = summary::sum(w.iter().map(|w| w * w));
        let n = total * total / squares;
        let sd = (m2 * n / (n - 1.0)).sqrt();
        let varies = m2 > (mean * f64::EPSILON).powi(2) && m2 > 0.0;
        let (g1, g2) = (moment(3) / m2.powf(1.5), moment(4) / (m2 * m2) - 3.0);
        let adjusted = weights.is_none();
        let skewness = if adjusted { g1 * (n * (n - 1.0)).sqrt() / (n - 2.0) } else { g1 };
        let kurtosis = if adjusted { (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * g2 + 6.0) } else { g2 };
        Self {
            mean,
            sd,
            n,
            skewness: (varies && values.len() > 2 && skewness.is_finite()).then_some(skewness),
            kurtosis: (varies && values.len() > 3 && kurtosis.is_finite()).then_some(kurtosis),
        }
    }
}

/// Quantiles by linear interpolation between the middles of the values' weights; without weights this is type 7.
struct Quantiles(Vec<(f64, f64)>);

impl Quantiles {
    fn of(values: &[f64], weights: Option<&[f64]>) -> Self {
        let mut pairs: Vec<(f64, f64)> = match weights {
            Some(w) => values.iter().copied().zip(w.iter().copied()).collect(),
            None => values.iter().map(|x| (*x, 1.0)).collect(),
        };
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        for (_, w) in &mut pairs {
            let middle = sum + *w / 2.0;
            sum += *w;
            *w = middle;
        }
        Self(pairs)
    }

    fn at(&self, p: f64) -> f64 {
        let (Some((lowest, start)), Some((highest, end))) = (self.0.first(), self.0.last()) else { return f64::NAN };
        let place = start + p * (end - start);
        let after = self.0.partition_point(|(_, middle)| *middle <= place);
        match (self.0.get(after.wrapping_sub(1)), self.0.get(after)) {
            (Some((a, from)), Some((b, to))) => {
                if a == b {
                    *a
                } else {
                    a + (place - from) / (to - from) * (b - a)
                }
            }
            (Some(_), None) => *highest,
            _ => *lowest,
        }
    }
}

fn t_interval(moments: &Moments, confidence: f64) -> Vec<f64> {
    let half = dist::t_quantile(0.5 + confidence / 2.0, moments.n - 1.0) * moments.sd / moments.n.sqrt();
    vec![moments.mean - half, moments.mean + half]
}

/// The bias-corrected and accelerated bootstrap interval of the mean (Efron 1987).
fn bootstrap(values: &[f64], moments: &Moments, confidence: f64, seed: i64) -> Option<(f64, f64)> {
    let n = values.len();
    let resamples = RESAMPLES.min(MAX_DRAWS / n);
    if resamples < MIN_RESAMPLES || moments.sd <= moments.mean.abs() * 1e-14 {
        return None;
    }
    let mut sampler = Sampler::new(seed);
    let mut means: Vec<f64> = (0..resamples)
        .map(|_| (0..n).map(|_| values.get(sampler.index(n)).copied().unwrap_or(0.0)).sum::<f64>() / n as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let below = means.iter().filter(|m| **m < moments.mean).count() as f64;
    let equal = means.iter().filter(|m| **m == moments.mean).count() as f64;
    let bias = dist::normal_quantile((below + equal / 2.0) / resamples as f64);
    // For the mean the jackknife's acceleration is a function of the third moment.
    let cubes = summary::sum(values.iter().map(|x| (x - moments.mean).powi(3)));
    let squares = summary::squares(values);
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    let bound = |p: f64| {
        let z = bias + dist::normal_quantile(p);
        let level = dist::normal_cdf(bias + z / (1.0 - acceleration * z));
        summary::quantile_sorted(&means, level)
    };
    let (low, high) = (bound((1.0 - confidence) / 2.0), bound((1.0 + confidence) / 2.0));
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// The number of bins by Freedman and Diaconis; by Sturges where the quartiles are equal.
fn freedman_diaconis(values: &[f64], spread: f64) -> usize {
    let (low, high) = bounds(values);
    let n = values.len() as f64;
    let width = 2.0 * spread / n.cbrt();
    let bins = if width > 0.0 { ((high - low) / width).ceil() } else { n.log2().ceil() + 1.0 };
    bins.clamp(1.0, 500.0) as usize
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)))
}

fn histogram(values: &[f64], bins: usize) -> Vec<Bin> {
    let (mut low, mut high) = bounds(values);
    if low == high {
        // As numpy: a bin of width 1 about the only value.
        (low, high) = (low - 0.5, high + 0.5);
    }
    let edge = |k: usize| if k == bins { high } else { low + (high - low) * (k as f64 / bins as f64) };
    let mut out: Vec<Bin> = (0..bins).map(|k| Bin { low: edge(k), high: edge(k + 1), count: 0 }).collect();
    for x in values {
        let mut k = (((x - low) / (high - low) * bins as f64) as usize).min(bins - 1);
        // The edges, not the quotient, decide.
        while k > 0 && *x < edge(k) {
            k -= 1;
        }
        while k + 1 < bins && *x >= edge(k + 1) {
            k += 1;
        }
        if let Some(bin) = out.get_mut(k) {
            bin.count += 1;
        }
    }
    out
}
