//! Distributions of the sums of a calendar month, as functions that give a sum its standard normal value.

use std::f64::consts::PI;

use muster_kernel_numeric::dist::normal_quantile;
use muster_kernel_numeric::lmoments::l_moments;
use muster_kernel_numeric::special::gamma_parts;

/// Probabilities beyond are drawn in, so that the quantile stays finite; the index is cut off long before.
const TINY: f64 = 1e-12;

type Standardised = Box<dyn Fn(f64) -> f64>;

/// Gamma distribution by Thom's approximation of the likelihood, with the share of zeros beside it.
pub fn gamma(sums: &[f64]) -> Option<Standardised> {
    let wet: Vec<f64> = sums.iter().copied().filter(|sum| *sum > 0.0).collect();
    if wet.len() < 3 {
        return None;
    }
    let zeros = 1.0 - wet.len() as f64 / sums.len() as f64;
    let count = wet.len() as f64;
    let mean = wet.iter().sum::<f64>() / count;
    let a = mean.ln() - wet.iter().map(|sum| sum.ln()).sum::<f64>() / count;
    if a < 1e-9 {
        return None;
    }
    let shape = (1.0 + (1.0 + 4.0 * a / 3.0).sqrt()) / (4.0 * a);
    let scale = mean / shape;
    Some(Box::new(move |sum| {
        let p = zeros + (1.0 - zeros) * gamma_parts(shape, sum.max(0.0) / scale).0;
        normal_quantile(p.clamp(TINY, 1.0 - TINY))
    }))
}

/// Log-logistic distribution of three parameters by unbiased probability-weighted moments: the generalised logistic
/// distribution of Hosking and Wallis by L-moments.
pub fn log_logistic(sums: &[f64]) -> Option<Standardised> {
    let moments = l_moments(sums)?;
    let k = -moments.t3;
    if moments.l2 < 1e-9 || k.abs() >= 1.0 {
        return None;
    }
    let (scale, location) = if k.abs() < 1e-8 {
        (moments.l2, moments.l1)
    } else {
        let scale = moments.l2 * (k * PI).sin() / (k * PI);
        (scale, moments.l1 - scale * (1.0 / k - PI / (k * PI).sin()))
    };
    Some(Box::new(move |sum| {
        let z = (sum - location) / scale;
        let base = 1.0 - k * z;
        let y = if k.abs() < 1e-8 {
            z
        } else if base > 0.0 {
            -base.ln() / k
        } else {
            k.signum() * f64::INFINITY
        };
        normal_quantile((1.0 / (1.0 + (-y).exp())).clamp(TINY, 1.0 - TINY))
    }))
}
