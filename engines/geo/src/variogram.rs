//! Variograms and their fit.

use muster_engine::prelude::*;
use muster_kernel_numeric::nalgebra::DMatrix;

/// Classes of distance, up to half of the largest one.
const LAGS: usize = 12;
/// Ranges that are tried, before and after the best is known.
const TRIALS: usize = 60;
const REFINEMENTS: usize = 60;

/// Form of a variogram, with the scales of PyKrige.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Reaches the sill at the range.
    Spherical,
    /// Reaches 95 percent of the sill at the range.
    Exponential,
    /// As `Exponential`, but smooth at the origin.
    Gaussian,
    /// Grows without end; the sill is its value at the range, which is the largest distance.
    Linear,
}

impl Model {
    /// Share of the partial sill at a distance in units of the range.
    fn share(self, h: f64) -> f64 {
        match self {
            Self::Spherical if h >= 1.0 => 1.0,
            Self::Spherical => 1.5 * h - 0.5 * h.powi(3),
            Self::Exponential => 1.0 - (-3.0 * h).exp(),
            Self::Gaussian => 1.0 - (-(h * 7.0 / 4.0).powi(2)).exp(),
            Self::Linear => h,
        }
    }
}

/// A fitted variogram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fitted {
    model: Model,
    pub(crate) nugget: f64,
    /// Nugget and partial sill.
    pub(crate) sill: f64,
    pub(crate) range: f64,
}

impl Fitted {
    /// Semivariance at a distance above 0.
    pub(crate) fn at(&self, distance: f64) -> f64 {
        self.nugget + (self.sill - self.nugget) * self.model.share(distance / self.range)
    }
}

/// A class of distances: mean distance, mean semivariance, number of pairs.
#[derive(Debug, Clone, Copy, Default)]
struct Lag {
    distance: f64,
    semivariance: f64,
    pairs: f64,
}

/// Fits a model by least squares over classes of distance, weighted by pairs over squared distance. For each range the
/// nugget and the partial sill, neither negative, have a closed form; the range is searched between the shortest mean
/// distance and twice the largest.
pub(crate) fn fit(model: Model, between: &DMatrix<f64>, values: &[f64]) -> Fitted {
    let largest = between.iter().copied().fold(0.0, f64::max);
    let mut lags = lags(between, values, largest / 2.0);
    if lags.len() < 3 {
        lags = self::lags(between, values, largest);
    }
    let at = |range: f64| solve(model, &lags, range);
    if model == Model::Linear {
        return at(largest).1;
    }
    let shortest = lags.iter().map(|lag| lag.distance).fold(largest, f64::min).max(largest * 1e-6);
    let step = (2.0 * largest / shortest).ln() / TRIALS as f64;
    let trial = |n: f64| shortest * (n * step).exp();
    let best = (0..=TRIALS)
        .map(|n| n as f64)
        .min_by(|one, other| at(trial(*one)).0.total_cmp(&at(trial(*other)).0))
        .unwrap_or(0.0);
    // Golden section around the best trial.
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = ((best - 1.0).max(0.0), (best + 1.0).min(TRIALS as f64));
    for _ in 0..REFINEMENTS {
        let (one, other) = (high - ratio * (high - low), low + ratio * (high - low));
        if at(trial(one)).0 <= at(trial(other)).0 { high = other } else { low = one }
    }
    let refined = at(trial(f64::midpoint(low, high)));
    let tried = at(trial(best));
    if refined.0 <= tried.0 { refined.1 } else { tried.1 }
}

fn lags(between: &DMatrix<f64>, values: &[f64], reach: f64) -> Vec<Lag> {
    let mut lags = vec![Lag::default(); LAGS];
    for (row, one) in values.iter().enumerate() {
        for (column, other) in values.iter().enumerate().skip(row + 1) {
            let distance = between.get((row, column)).copied().unwrap_or(0.0);
            if distance > reach {
                continue;
            }
            let index = ((distance / reach * LAGS as f64) as usize).min(LAGS - 1);
            if let Some(lag) = lags.get_mut(index) {
                lag.distance += distance;
                lag.semivariance += (one - other).powi(2) / 2.0;
                lag.pairs += 1.0;
            }
        }
    }
    let filled = lags.into_iter().filter(|lag| lag.pairs > 0.0);
    filled
        .map(|lag| Lag {
            distance: lag.distance / lag.pairs,
            semivariance: lag.semivariance / lag.pairs,
            pairs: lag.pairs,
        })
        .collect()
}

/// Weighted sum of squares, and the variogram of this range.
fn solve(model: Model, lags: &[Lag], range: f64) -> (f64, Fitted) {
    let (mut s1, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let weight = |lag: &Lag| lag.pairs / (lag.distance / range).powi(2);
    for lag in lags {
        let (w, x, y) = (weight(lag), model.share(lag.distance / range), lag.semivariance);
        s1 += w;
        sx += w * x;
        sy += w * y;
        sxx += w * x * x;
        sxy += w * x * y;
    }
    let determinant = s1 * sxx - sx * sx;
    let both = if determinant > 1e-12 * s1 * sxx {
        ((sy * sxx - sx * sxy) / determinant, (s1 * sxy - sx * sy) / determinant)
    } else {
        (-1.0, 0.0)
    };
    let only_partial = (0.0, if sxx > 0.0 { sxy / sxx } else { 0.0 });
    let only_nugget = (if s1 > 0.0 { sy / s1 } else { 0.0 }, 0.0);
    let cost = |(nugget, partial): (f64, f64)| -> f64 {
        // In units that do not depend on the range, or ranges could not be compared.
        lags.iter()
            .map(|lag| {
                let off = nugget + partial * model.share(lag.distance / range) - lag.semivariance;
                lag.pairs / lag.distance.powi(2) * off * off
            })
            .sum()
    };
    let allowed =
        [both, only_partial, only_nugget].into_iter().filter(|(nugget, partial)| *nugget >= 0.0 && *partial >= 0.0);
    let best = allowed.map(|pair| (cost(pair), pair)).min_by(|one, other| one.0.total_cmp(&other.0));
    let (cost, (nugget, partial)) = best.unwrap_or((f64::INFINITY, only_nugget));
    (cost, Fitted { model, nugget, sill: nugget + partial, range })
}
