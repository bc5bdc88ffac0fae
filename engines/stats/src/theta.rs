//! The theta method with θ = 2 (q93; Assimakopoulos and Nikolopoulos 2000, in the form of Hyndman and Billah 2003):
//! simple smoothing with half of the slope of the line through all values.

use muster_kernel_numeric::optim::nelder_mead;
use muster_kernel_numeric::spectrum::autocovariance_sums;
use muster_kernel_numeric::summary;

use crate::seasonal_indices::{indices, without_season};

/// Level of the test for a season, as in the M3 competition: 90 % of the normal distribution.
const SEASONAL: f64 = 1.645;

/// A fitted model.
pub(crate) struct Theta {
    alpha: f64,
    slope: f64,
    level: f64,
    count: usize,
    /// Season of the next value first; empty without one.
    season: Vec<f64>,
    factors: bool,
    pub(crate) fitted: Vec<f64>,
    pub(crate) residuals: Vec<f64>,
}

impl Theta {
    pub(crate) fn fit(values: &[f64], period: usize) -> Self {
        let n = values.len();
        let factors = values.iter().all(|x| *x > 0.0);
        let season = if has_season(values, period) { indices(values, period, factors) } else { Vec::new() };
        let plain = without_season(values, &season, factors);
        let slope = slope(&plain);
        let scale = summary::sd(&plain).max(f64::MIN_POSITIVE);
        let limit = |x: f64| (1.0 / (1.0 + (-x).exp())).clamp(1e-4, 1.0 - 1e-4);
        let first = plain.first().copied().unwrap_or(0.0);
        let error = |x: &[f64]| {
            let alpha = limit(x.first().copied().unwrap_or(0.0));
            let (mut level, mut sum) = (first, 0.0);
            for y in &plain {
                sum += ((y - level) / scale).powi(2);
                level += alpha * (y - level);
            }
            sum
        };
        let best = nelder_mead(error, &[0.0], &[1.0], 1e-10, 400);
        let alpha = limit(best.at.first().copied().unwrap_or(0.0));
        let mut model = Self {
            alpha,
            slope,
            level: first,
            count: 0,
            season: Vec::new(),
            factors,
            fitted: Vec::new(),
            residuals: Vec::new(),
        };
        let seasons = season.iter().cycle();
        let seasonal = |x: f64, s: Option<&f64>| match s {
            Some(s) if factors => x * s,
            Some(s) => x + s,
            None => x,
        };
        let mut seasons = seasons;
        for (y, value) in plain.iter().zip(values) {
            let forecast = seasonal(model.level + model.drift(1), seasons.next());
            model.fitted.push(forecast);
            model.residuals.push(value - forecast);
            model.level += alpha * (y - model.level);
            model.count += 1;
        }
        if let Some(turn) = n.checked_rem(period).filter(|_| !season.is_empty()) {
            model.season = season;
            model.season.rotate_left(turn);
        }
        model
    }

    /// Half of the slope, over the steps ahead and the delay of the smoothing.
    fn drift(&self, ahead: usize) -> f64 {
        let delay = (1.0 - (1.0 - self.alpha).powi(self.count.min(i32::MAX as usize) as i32)) / self.alpha;
        0.5 * self.slope * (ahead as f64 - 1.0 + delay)
    }

    pub(crate) fn parameters(&self) -> Vec<(&'static str, f64)> {
        let seasonal = if self.season.is_empty() { 0.0 } else { 1.0 };
        vec![
            ("alpha", self.alpha),
            ("theta", 2.0),
            ("slope", self.slope),
            ("level", self.level),
            ("seasonal", seasonal),
        ]
    }

    pub(crate) fn path(&self, horizon: usize, error: &mut dyn FnMut() -> f64) -> Vec<f64> {
        let mut level = self.level;
        (1..=horizon)
            .map(|ahead| {
                let season = self.season.get((ahead - 1) % self.season.len().max(1));
                let plain = level + self.drift(ahead);
                let mean = match season {
                    Some(s) if self.factors => plain * s,
                    Some(s) => plain + s,
                    None => plain,
                };
                let e = error();
                let factor = season.filter(|_| self.factors).copied().unwrap_or(1.0);
                if factor != 0.0 {
                    level += self.alpha * e / factor;
                }
                mean + e
            })
            .collect()
    }
}

/// Whether the autocorrelation at the period is beyond what those before it explain (Bartlett).
fn has_season(values: &[f64], period: usize) -> bool {
    if period < 2 || values.len() < 2 * period {
        return false;
    }
    let mean = summary::mean(values);
    let sums = autocovariance_sums(&values.iter().map(|x| x - mean).collect::<Vec<_>>(), period + 1);
    let Some(whole) = sums.first().copied().filter(|s| *s > 0.0) else { return false };
    let before: f64 = sums.iter().skip(1).take(period - 1).map(|s| (s / whole).powi(2)).sum();
    let at = sums.last().map_or(0.0, |s| s / whole);
    at.abs() > SEASONAL * ((1.0 + 2.0 * before) / values.len() as f64).sqrt()
}

fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, summary::mean(values));
    let cross = summary::sum(values.iter().enumerate().map(|(i, x)| (i as f64 - middle) * (x - mean)));
    cross / (n * (n * n - 1.0) / 12.0)
}
