//! q97: trend of a series.

use muster_engine::prelude::*;
use muster_kernel_numeric::ranks::Ranks;
use muster_kernel_numeric::spectrum::autocovariance_sums;
use muster_kernel_numeric::{dist, summary};

use crate::support::{check_same, check_series, finite, order, value_at};

/// Every pair of values is compared.
const MAX_VALUES: usize = 4_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    times: Option<Vec<f64>>,
    period: i64,
    correction: Correction,
    alpha: f64,
}

/// Corrections of the variance.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Correction {
    /// None.
    None,
    /// For autocorrelation.
    HamedRao,
    /// By season: only values of the same season are compared.
    Seasonal,
}

/// Directions.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Trend {
    /// Up.
    Increasing,
    /// Down.
    Decreasing,
    /// None that is significant.
    None,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    trend: Trend,
    s: f64,
    z: f64,
    p_value: f64,
    tau: f64,
    slope: f64,
    slope_ci: Vec<f64>,
    intercept: f64,
}

/// Tests for a trend.
///
/// # Errors
/// `Invalid` (equal times, a season without two values), `TooLarge`, `NoAnswer`.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 4, MAX_VALUES)?;
    let n = input.values.len();
    let (values, times) = in_time(input.values, input.times)?;
    let seasons = match input.correction {
        Correction::Seasonal => {
            let period = usize::try_from(input.period).unwrap_or(usize::MAX);
            if period < 2 || period > n / 2 {
                return Err(Failure::invalid(&["period"], "must be from 2 to half of the number of values"));
            }
            period
        }
        _ => 1,
    };
    let mut test = Kendall::default();
    for season in 0..seasons {
        let pick = |all: &[f64]| all.iter().copied().skip(season).step_by(seasons).collect::<Vec<_>>();
        test.add(&pick(&values), &pick(&times));
    }
    if test.variance <= 0.0 {
        return Err(Failure::no_answer(NoAnswer::Singular, "all values are equal"));
    }
    test.slopes.sort_by(f64::total_cmp);
    let per_step = summary::median_sorted(&test.slopes);
    if input.correction == Correction::HamedRao {
        test.variance *= hamed_rao(&values, &times, per_step, input.alpha);
        if test.variance.is_nan() || test.variance <= 0.0 {
            let problem = "the autocorrelation leaves no effective sample; use no correction";
            return Err(Failure::no_answer(NoAnswer::OutsideValidity, problem));
        }
    }
    let sd = test.variance.sqrt();
    let z = (test.s - test.s.signum()) / sd;
    let z = if test.s == 0.0 { 0.0 } else { z };
    let critical = dist::normal_quantile(1.0 - input.alpha / 2.0);
    let trend = match z {
        z if z > critical => Trend::Increasing,
        z if z < -critical => Trend::Decreasing,
        _ => Trend::None,
    };
    // The slope is of one unit of time; with seasons it is of one cycle, as the intercept assumes.
    let (cycle, slope) = (seasons as f64, per_step);
    let scale = if seasons > 1 { cycle } else { 1.0 };
    let slope_value = slope * scale;
    let intercept = summary::median(&values) - summary::median(&times) * slope;
    let slope_ci = interval(&test.slopes, critical * sd).into_iter().map(|s| s * scale).collect::<Vec<_>>();
    let out = [slope_value, intercept].into_iter().chain(slope_ci.iter().copied()).all(|x| finite(x).is_some());
    if !out {
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, "a slope is not a number of double precision"));
    }
    Ok(Output {
        trend,
        s: test.s,
        z,
        p_value: dist::normal_p(z),
        tau: test.s / test.pairs,
        slope: slope_value,
        slope_ci,
        intercept,
    })
}

/// Values in the order of their times; times 0, 1, 2, … if none are given.
fn in_time(values: Vec<f64>, times: Option<Vec<f64>>) -> Result<(Vec<f64>, Vec<f64>), Failure> {
    let Some(times) = times else {
        let times = (0..values.len()).map(|t| t as f64).collect();
        return Ok((values, times));
    };
    check_same("times", times.len(), "values", values.len())?;
    check_series(&times, "times", 2, MAX_VALUES)?;
    let places = order(&times);
    let pick = |all: &[f64]| places.iter().map(|at| value_at(all, *at)).collect::<Vec<_>>();
    let (values, times) = (pick(&values), pick(&times));
    if times.windows(2).any(|w| w.first() == w.last()) {
        return Err(Failure::invalid(&["times"], "two values have the same time"));
    }
    Ok((values, times))
}

#[derive(Default)]
struct Kendall {
    s: f64,
    variance: f64,
    pairs: f64,
    slopes: Vec<f64>,
}

impl Kendall {
    fn add(&mut self, values: &[f64], times: &[f64]) {
        let n = values.len() as f64;
        for (i, (x, t)) in values.iter().zip(times).enumerate() {
            for (y, u) in values.iter().zip(times).skip(i + 1) {
                self.s += f64::from(i8::from(y > x) - i8::from(y < x));
                self.slopes.push((y - x) / (u - t));
            }
        }
        let ties: f64 = Ranks::of(values).ties.iter().map(|t| *t as f64).map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
        self.variance += (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
        self.pairs += n * (n - 1.0) / 2.0;
    }
}

/// The factor of the variance by the significant autocorrelations of the ranks without the trend.
fn hamed_rao(values: &[f64], times: &[f64], slope: f64, alpha: f64) -> f64 {
    let n = values.len() as f64;
    let rest: Vec<f64> = values.iter().zip(times).map(|(x, t)| x - slope * t).collect();
    // Differences that are rounding errors of the slope are ties.
    let scale = rest.iter().fold(0.0_f64, |m, x| m.max(x.abs())) * 1e-12;
    let rest: Vec<f64> = if scale > 0.0 { rest.iter().map(|x| (x / scale).round()).collect() } else { rest };
    let ranks = Ranks::of(&rest).ranks;
    let mean = summary::mean(&ranks);
    let sums = autocovariance_sums(&ranks.iter().map(|r| r - mean).collect::<Vec<_>>(), values.len());
    let Some(whole) = sums.first().copied().filter(|s| *s > 0.0) else { return 1.0 };
    let bound = dist::normal_quantile(1.0 - alpha / 2.0) / n.sqrt();
    let terms = sums.iter().enumerate().skip(1).map(|(lag, sum)| (lag as f64, sum / whole));
    let sum: f64 =
        terms.filter(|(_, r)| r.abs() > bound).map(|(i, r)| (n - i) * (n - i - 1.0) * (n - i - 2.0) * r).sum();
    1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * sum
}

/// Sen's interval: ranks of the slopes at (N ∓ C)/2, between which is interpolated.
fn interval(slopes: &[f64], reach: f64) -> Vec<f64> {
    let n = slopes.len() as f64;
    let at = |place: f64| summary::quantile_sorted(slopes, (place / (n - 1.0).max(1.0)).clamp(0.0, 1.0));
    vec![at((n - reach) / 2.0 - 1.0), at((n + reach) / 2.0)]
}
