//! Tests of stationarity (q99).

#![allow(clippy::indexing_slicing, reason = "elements of matrices, by loops over their own dimensions")]

use muster_kernel_numeric::regress::{least_squares, nested_rss};
use muster_kernel_numeric::{dist, summary};

use crate::autocorrelation::{LagTest, Test};

/// MacKinnon's approximation (1994, 2010) for one series with a constant: above and below these the p-value is 1 and 0,
/// at the third the polynomials meet.
const TAU: (f64, f64, f64) = (-18.83, 2.74, -1.61);
const SMALL_P: [f64; 3] = [2.1659, 1.4412, 0.038269];
const LARGE_P: [f64; 4] = [1.7339, 0.93202, -0.12745, -0.010368];
/// Critical values of KPSS for a level (Kwiatkowski et al. 1992, table 1) and their p-values.
const KPSS: [(f64, f64); 4] = [(0.347, 0.10), (0.463, 0.05), (0.574, 0.025), (0.739, 0.01)];

/// The augmented Dickey-Fuller test with a constant; the number of lags by AIC among 0 to ⌈12·(n/100)^¼⌉, all on the
/// same observations.
pub(crate) fn adf(values: &[f64]) -> Option<LagTest> {
    let n = values.len();
    let most = (12.0 * (n as f64 / 100.0).powf(0.25)).ceil() as usize;
    let most = most.min((n / 2).checked_sub(2)?);
    let steps: Vec<f64> = values.windows(2).map(|w| w.last().unwrap_or(&0.0) - w.first().unwrap_or(&0.0)).collect();
    // Response: steps from `lags` on. Columns: the level before, then the steps before.
    let design = |lags: usize| -> (Vec<f64>, Vec<Vec<f64>>) {
        let rows = steps.len() - lags;
        let mut columns = vec![values.iter().skip(lags).take(rows).copied().collect::<Vec<f64>>()];
        columns.extend((1..=lags).map(|k| steps.iter().skip(lags - k).take(rows).copied().collect()));
        (steps.iter().skip(lags).copied().collect(), columns)
    };
    let (y, columns) = design(most);
    let rows = y.len() as f64;
    let total = summary::squares(&y);
    let rss = nested_rss(&y, &columns)?;
    // A model with an intercept and k columns; the first has the level alone. A rest of rounding errors is no model.
    let aic = |k: usize, rss: f64| rows * (rss / rows).ln() + 2.0 * (k as f64 + 1.0);
    let scored =
        rss.iter().enumerate().skip(1).map(|(k, r)| (k - 1, if *r > total * 1e-20 { aic(k, *r) } else { f64::NAN }));
    let (lags, _) = scored.filter(|(_, a)| !a.is_nan()).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (y, columns) = design(lags);
    let fit = least_squares(&y, &columns, None, true).ok()?;
    let se = (fit.rss / fit.df * fit.unscaled_covariance[(1, 1)]).sqrt();
    let statistic = fit.coefficients.get(1)? / se;
    statistic.is_finite().then(|| LagTest { statistic, p: mackinnon(statistic), lags: lags as i64 })
}

fn mackinnon(tau: f64) -> f64 {
    let (least, most, meet) = TAU;
    if tau > most {
        return 1.0;
    }
    if tau < least {
        return 0.0;
    }
    let coefficients: &[f64] = if tau <= meet { &SMALL_P } else { &LARGE_P };
    dist::normal_cdf(coefficients.iter().rev().fold(0.0, |sum, c| sum * tau + c))
}

/// The KPSS test of a level with Bartlett's window, its width by Hobijn, Franses and Ooms (2004). The p-value is
/// interpolated between 0.01 and 0.1 and ends there.
pub(crate) fn kpss(centred: &[f64]) -> Option<Test> {
    let n = centred.len();
    let size = n as f64;
    let width = bandwidth(centred)?;
    let mut sum = 0.0;
    let eta = summary::sum(centred.iter().map(|x| {
        sum += x;
        sum * sum
    })) / (size * size);
    let product = |lag: usize| summary::sum(centred.iter().zip(centred.iter().skip(lag)).map(|(a, b)| a * b));
    let weighted = (1..=width).map(|k| 2.0 * product(k) * (1.0 - k as f64 / (width as f64 + 1.0)));
    let variance = (product(0) + summary::sum(weighted)) / size;
    let statistic = eta / variance;
    if !(statistic.is_finite() && variance > 0.0) {
        return None;
    }
    let mut p = if statistic < 0.347 { 0.10 } else { 0.01 };
    for pair in KPSS.windows(2) {
        if let [(a, pa), (b, pb)] = pair
            && (*a..*b).contains(&statistic)
        {
            p = pa + (statistic - a) / (b - a) * (pb - pa);
        }
    }
    Some(Test { statistic, p })
}

fn bandwidth(centred: &[f64]) -> Option<usize> {
    let n = centred.len() as f64;
    let lags = n.powf(2.0 / 9.0) as usize;
    let product = |lag: usize| summary::sum(centred.iter().zip(centred.iter().skip(lag)).map(|(a, b)| a * b));
    let mut s0 = product(0) / n;
    let mut s1 = 0.0;
    for k in 1..=lags {
        let covariance = product(k) / (n / 2.0);
        s0 += covariance;
        s1 += k as f64 * covariance;
    }
    let gamma = 1.1447 * ((s1 / s0).powi(2)).cbrt();
    let width = gamma * n.cbrt();
    width.is_finite().then(|| (width as usize).min(centred.len() - 1))
}
