//! The reproduction number over time (Cori and others 2013).

use muster_engine::prelude::*;
use muster_kernel_numeric::dist::gamma_quantile;
use muster_kernel_numeric::special::gamma_parts;

use super::Estimate;

/// Prior of the reproduction number: a gamma distribution of mean and deviation 5, as in EpiEstim.
const PRIOR: (f64, f64) = (1.0, 5.0);
/// Longest interval that counts, in days.
const LONGEST: usize = 400;
/// Cases in a window below which the posterior is mostly the prior's: a deviation of 0.3 of the mean (Cori 2013).
const ENOUGH: f64 = 11.0;

/// A gamma distribution that begins one day after the first case.
pub(super) struct SerialInterval {
    mean: f64,
    sd: f64,
    shape: f64,
    scale: f64,
}

impl SerialInterval {
    pub(super) fn new(mean: f64, sd: f64) -> Result<Self, Failure> {
        if !(mean > 1.0 && mean <= 60.0) {
            return Err(Failure::invalid(&["serial_interval", "mean"], "must be above 1 and at most 60 days"));
        }
        if !(0.1..=60.0).contains(&sd) {
            return Err(Failure::invalid(&["serial_interval", "sd"], "must be from 0.1 to 60 days"));
        }
        let shape = ((mean - 1.0) / sd).powi(2);
        if shape < 1e-3 {
            let text = "is too large for a mean so near to 1 day: the distribution has no shape";
            return Err(Failure::invalid(&["serial_interval", "sd"], text));
        }
        Ok(Self { mean, sd, shape, scale: sd * sd / (mean - 1.0) })
    }

    /// Probability of an interval of so many days (Cori 2013, web appendix 11).
    fn day(&self, day: usize) -> f64 {
        let (a, b) = (self.shape, self.scale);
        let below = |shape: f64, days: f64| if days <= 0.0 { 0.0 } else { gamma_parts(shape, days / b).0 };
        let k = day as f64;
        let first = k * below(a, k) + (k - 2.0) * below(a, k - 2.0) - 2.0 * (k - 1.0) * below(a, k - 1.0);
        let second = a * b * (2.0 * below(a + 1.0, k - 1.0) - below(a + 1.0, k - 2.0) - below(a + 1.0, k));
        (first + second).max(0.0)
    }

    /// Probabilities of 0, 1, 2 … days; the sum is 1 but for what lies beyond the longest.
    fn days(&self, most: usize) -> Vec<f64> {
        (0..=most.min(LONGEST)).map(|day| self.day(day)).collect()
    }

    /// Growth rate of a reproduction number, 1/d; negative below 1.
    pub(super) fn growth(&self, reproduction: f64) -> f64 {
        let (shape, scale) = ((self.mean / self.sd).powi(2), self.sd * self.sd / self.mean);
        (reproduction.powf(1.0 / shape) - 1.0) / scale
    }
}

/// Posterior means and 95 % intervals over sliding windows; a day is the last of its window, counted from 1.
pub(super) fn estimate(
    cases: &[f64],
    interval: &SerialInterval,
    window: i64,
    cx: &Context,
) -> Result<Vec<Estimate>, Failure> {
    let width = usize::try_from(window).unwrap_or(usize::MAX);
    // The first day has no earlier cases that could have caused it.
    if width.saturating_add(1) > cases.len() {
        let text = format!("a window of {window} days needs cases of {} days or more", window.saturating_add(1));
        return Err(Failure::no_answer(NoAnswer::TooFew, text));
    }
    let weights = interval.days(cases.len());
    let pressure: Vec<f64> = (0..cases.len()).map(|day| pressure(cases, &weights, day)).collect();
    let mut estimates = Vec::new();
    let mut few = 0usize;
    for last in width..cases.len() {
        let span = last + 1 - width..=last;
        let (new, force) = (sum(cases, span.clone()), sum(&pressure, span));
        let shape = PRIOR.0 + new;
        let scale = 1.0 / (1.0 / PRIOR.1 + force);
        few += usize::from(new < ENOUGH);
        let quantile = |p: f64| gamma_quantile(p, shape) * scale;
        let (low, high) = (quantile(0.025), quantile(0.975));
        if [low, high].iter().all(|value| value.is_finite()) {
            estimates.push(Estimate { day: last as i64 + 1, mean: shape * scale, low, high });
        }
    }
    if few > 0 {
        cx.warn(format!("few: {few} windows have fewer than {ENOUGH} cases, and the prior (mean 5) weighs in them"));
    }
    Ok(estimates)
}

/// Infectiousness of earlier cases on a day.
fn pressure(cases: &[f64], weights: &[f64], day: usize) -> f64 {
    let earlier = cases.get(..day).unwrap_or_default().iter().rev();
    earlier.zip(weights.iter().skip(1)).map(|(count, weight)| count * weight).sum()
}

fn sum(values: &[f64], span: std::ops::RangeInclusive<usize>) -> f64 {
    values.get(span).unwrap_or_default().iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EpiEstim 2.4, vignette: `discr_si(0:20, mu = 2.6, sigma = 1.5)`.
    #[test]
    fn the_interval_is_that_of_epiestim() {
        let expected = [
            0.0,
            2.331721e-1,
            3.585794e-1,
            1.981108e-1,
            1.033427e-1,
            5.290518e-2,
            2.682146e-2,
            1.351620e-2,
            6.783438e-3,
        ];
        let interval = SerialInterval::new(2.6, 1.5).unwrap_or_else(|failure| panic!("{failure}"));
        for (found, expected) in interval.days(8).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-7, "{found} {expected}");
        }
        let whole: f64 = interval.days(200).iter().sum();
        assert!((whole - 1.0).abs() < 1e-9, "{whole}");
    }
}
