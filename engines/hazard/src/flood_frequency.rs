//! q34: frequency of annual maxima.

mod distribution;

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::sample::Sampler;

use distribution::{Fitted, Kind};

/// Input of the engine; defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    annual_maxima: Vec<f64>,
    distribution: Choice,
    return_periods_yr: Vec<f64>,
    value: Option<f64>,
    seed: i64,
}

/// Which distribution is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Choice {
    Gev,
    Gumbel,
    #[wire(name = "log-pearson3")]
    LogPearson3,
    Auto,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    distribution: &'static str,
    parameters: BTreeMap<String, f64>,
    levels: Vec<Level>,
    value_period_yr: Option<f64>,
    ks: f64,
}

/// The level that is exceeded once in a period on average, with a band that holds it in nine samples of ten.
#[derive(Debug, Clone, Output)]
pub struct Level {
    period_yr: f64,
    level: f64,
    low: f64,
    high: f64,
}

const LEAST: usize = 5;
const MAX_VALUES: usize = 2_000;
const MAX_PERIODS: usize = 50;
const MAX_PERIOD: f64 = 1e6;
/// Values that are drawn for the bands altogether, and the samples that they make.
const DRAWS: usize = 200_000;
const SAMPLES: std::ops::RangeInclusive<usize> = 100..=1_000;
/// Ends of the bands.
const BAND: (f64, f64) = (0.05, 0.95);

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let values = &input.annual_maxima;
    let kinds: &[Kind] = match input.distribution {
        Choice::Gev => &[Kind::Gev],
        Choice::Gumbel => &[Kind::Gumbel],
        Choice::LogPearson3 => &[Kind::LogPearson3],
        Choice::Auto => &[Kind::Gev, Kind::Gumbel, Kind::LogPearson3],
    };
    let candidates = kinds.iter().filter_map(|kind| Some((*kind, Fitted::fit(*kind, values)?)));
    let scored = candidates.map(|(kind, fitted)| (fitted.aic(values), kind, fitted));
    let best = scored.min_by(|(first, ..), (second, ..)| first.total_cmp(second));
    let (aic, kind, fitted) = best.ok_or_else(|| {
        let message = "the values do not vary, or are not all above 0 as log-pearson3 needs";
        Failure::no_answer(NoAnswer::Singular, message)
    })?;
    cx.step("Akaike's criterion", if aic.is_finite() { aic } else { f64::MAX }, "");
    if values.len() < 10 {
        cx.warn("extrapolated: fewer than ten maxima; the bands hold only if the distribution is right");
    }
    let levels = levels(&input, kind, &fitted, cx)?;
    let ks = kolmogorov(values, &fitted);
    let value_period = input.value.and_then(|value| {
        let exceeded = 1.0 - fitted.cdf(value);
        if exceeded <= 0.0 {
            cx.warn("extrapolated: the value is beyond all that the fitted distribution allows, so it has no period");
        }
        Some(1.0 / exceeded).filter(|period| period.is_finite())
    });
    Ok(Output { distribution: kind.name(), parameters: fitted.parameters(), levels, value_period_yr: value_period, ks })
}

fn check(input: &Input) -> Result<(), Failure> {
    let values = &input.annual_maxima;
    if values.len() > MAX_VALUES {
        return Err(Failure::too_large(format!("at most {MAX_VALUES} annual maxima")));
    }
    if input.return_periods_yr.len() > MAX_PERIODS {
        return Err(Failure::too_large(format!("at most {MAX_PERIODS} return periods")));
    }
    if let Some(at) = input.return_periods_yr.iter().position(|period| !(*period > 1.0 && *period <= MAX_PERIOD)) {
        return Err(Failure::invalid(
            &["return_periods", &at.to_string()],
            format!("must be above 1, at most {MAX_PERIOD} years"),
        ));
    }
    if let Some(at) = values.iter().position(|value| value.abs() > 1e15) {
        return Err(Failure::invalid(&["annual_maxima", &at.to_string()], "must be at most 1e15"));
    }
    if values.len() < LEAST {
        return Err(Failure::no_answer(NoAnswer::TooFew, format!("{LEAST} annual maxima or more are needed")));
    }
    Ok(())
}

/// Levels with their bands: each sample is drawn from the fitted distribution and fitted again.
fn levels(input: &Input, kind: Kind, fitted: &Fitted, cx: &Context) -> Result<Vec<Level>, Failure> {
    let count = input.annual_maxima.len();
    let samples = (DRAWS / count).clamp(*SAMPLES.start(), *SAMPLES.end());
    let mut sampler = Sampler::new(input.seed);
    let mut refits = Vec::with_capacity(samples);
    for done in 0..samples {
        if done % 50 == 0 {
            cx.progress(done as u64, samples as u64, "resampling");
        }
        let sample: Vec<f64> = (0..count).map(|_| fitted.quantile(sampler.uniform())).collect();
        refits.extend(Fitted::fit(kind, &sample));
    }
    let level = |period: &f64| {
        let p = 1.0 - 1.0 / period;
        let mut of_samples: Vec<f64> = refits.iter().map(|refit| refit.quantile(p)).filter(|x| x.is_finite()).collect();
        of_samples.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (of_samples.len().saturating_sub(1)) as f64;
            of_samples.get(place.round() as usize).copied()
        };
        let level = fitted.quantile(p);
        let (low, high) = (at(BAND.0).unwrap_or(level), at(BAND.1).unwrap_or(level));
        let finite = [level, low, high].iter().all(|x| x.is_finite());
        finite.then_some(Level { period_yr: *period, level, low, high })
    };
    let levels: Option<Vec<Level>> = input.return_periods_yr.iter().map(level).collect();
    levels
        .ok_or_else(|| Failure::no_answer(NoAnswer::OutsideValidity, "a level is too large to be written as a number"))
}

/// Greatest difference between the distribution of the values and the fitted one.
fn kolmogorov(values: &[f64], fitted: &Fitted) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let gaps = sorted.iter().enumerate().map(|(at, value)| {
        let p = fitted.cdf(*value);
        ((at + 1) as f64 / n - p).max(p - at as f64 / n)
    });
    gaps.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAXIMA: [f64; 12] = [102.0, 85.0, 140.0, 98.0, 120.0, 77.0, 160.0, 132.0, 95.0, 110.0, 150.0, 88.0];

    fn input(distribution: Choice) -> Input {
        Input {
            annual_maxima: MAXIMA.to_vec(),
            distribution,
            return_periods_yr: vec![2.0, 10.0, 100.0],
            value: None,
            seed: 1,
        }
    }

    #[test]
    fn rarer_levels_are_higher_and_lie_in_their_bands() {
        for choice in [Choice::Gev, Choice::Gumbel, Choice::LogPearson3, Choice::Auto] {
            let levels = run(input(choice), &Context::default()).unwrap().levels;
            assert!(levels.windows(2).all(|pair| pair[1].level > pair[0].level));
            assert!(levels.iter().all(|level| level.low < level.level && level.level < level.high));
        }
    }

    #[test]
    fn scaled_values_have_scaled_levels() {
        let base = run(input(Choice::Gev), &Context::default()).unwrap();
        let doubled = Input { annual_maxima: MAXIMA.iter().map(|x| 2.0 * x + 5.0).collect(), ..input(Choice::Gev) };
        let doubled = run(doubled, &Context::default()).unwrap();
        for (one, two) in base.levels.iter().zip(&doubled.levels) {
            assert!((two.level - (2.0 * one.level + 5.0)).abs() < 1e-6 * two.level);
        }
    }

    #[test]
    fn values_that_do_not_vary_have_no_answer() {
        let flat = Input { annual_maxima: vec![5.0; 8], ..input(Choice::Auto) };
        assert!(matches!(run(flat, &Context::default()), Err(Failure::NoAnswer { reason: NoAnswer::Singular, .. })));
    }
}
