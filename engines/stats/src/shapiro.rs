//! The test of normality of Shapiro and Wilk by Royston's approximation (1995, AS R94), for 3 to 5,000 values.

use muster_kernel_numeric::dist::{normal_quantile, normal_sf};
use muster_kernel_numeric::summary;

/// Returns W and its p-value; `None` outside of 3 to 5,000 values or without spread.
pub(crate) fn shapiro_wilk(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len();
    let x = summary::sorted(values);
    let (first, last) = (*x.first()?, *x.last()?);
    if !(3..=5_000).contains(&n) || last - first <= 1e-19 * last.abs().max(first.abs()).max(1e-290) {
        return None;
    }
    let half = n / 2;
    let size = n as f64;
    let mut a = vec![0.0; half];
    if n == 3 {
        *a.first_mut()? = std::f64::consts::FRAC_1_SQRT_2;
    } else {
        let m: Vec<f64> = (1..=half).map(|i| normal_quantile((i as f64 - 0.375) / (size + 0.25))).collect();
        let total = 2.0 * m.iter().map(|m| m * m).sum::<f64>();
        let root = total.sqrt();
        let u = 1.0 / size.sqrt();
        let m0 = *m.first()?;
        let a1 = polynomial(&[0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056], u) - m0 / root;
        let (skip, scale, a2) = if n > 5 {
            let m1 = *m.get(1)?;
            let a2 = -m1 / root + polynomial(&[0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633], u);
            let left = (total - 2.0 * m0 * m0 - 2.0 * m1 * m1) / (1.0 - 2.0 * a1 * a1 - 2.0 * a2 * a2);
            (2, left.sqrt(), Some(a2))
        } else {
            (1, ((total - 2.0 * m0 * m0) / (1.0 - 2.0 * a1 * a1)).sqrt(), None)
        };
        for (to, m) in a.iter_mut().zip(&m).skip(skip) {
            *to = -m / scale;
        }
        *a.first_mut()? = a1;
        if let (Some(to), Some(a2)) = (a.get_mut(1), a2) {
            *to = a2;
        }
    }
    let spread: f64 = a.iter().zip(x.iter().rev().zip(&x)).map(|(a, (high, low))| a * (high - low)).sum();
    let w = (spread * spread / summary::squares(&x)).min(1.0);
    Some((w, p_value(w, n)))
}

fn p_value(w: f64, n: usize) -> f64 {
    let size = n as f64;
    if n == 3 {
        // Exact for three values.
        let p = 6.0 / std::f64::consts::PI * (w.sqrt().asin() - 0.75_f64.sqrt().asin());
        return p.clamp(0.0, 1.0);
    }
    let gap = (1.0 - w).ln();
    let (y, mean, sd) = if n <= 11 {
        let gamma = polynomial(&[-2.273, 0.459], size);
        if gap >= gamma {
            return 1e-99;
        }
        let mean = polynomial(&[0.544, -0.39978, 0.025054, -6.714e-4], size);
        let sd = polynomial(&[1.3822, -0.77857, 0.062767, -0.0020322], size).exp();
        (-(gamma - gap).ln(), mean, sd)
    } else {
        let log = size.ln();
        let mean = polynomial(&[-1.5861, -0.31082, -0.083751, 0.0038915], log);
        let sd = polynomial(&[-0.4803, -0.082676, 0.0030302], log).exp();
        (gap, mean, sd)
    };
    normal_sf((y - mean) / sd)
}

/// Evaluates a polynomial, coefficients from the constant up.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}
