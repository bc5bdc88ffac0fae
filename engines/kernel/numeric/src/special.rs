//! Special functions: ln Γ and the error function from libm, which has two digits more than statrs; the incomplete gamma
//! function from statrs; the incomplete beta function by its own continued fraction, because statrs stops after 140
//! terms, which is too early for more than some ten thousand degrees of freedom.

use statrs::function::gamma;

/// Largest argument for which the incomplete gamma function is summed; beyond it the Wilson-Hilferty transform is
/// used, whose error there is below 1e-9.
const GAMMA_SERIES_MAX: f64 = 1e7;
/// Most terms of the continued fraction of the incomplete beta function.
const BETA_TERMS: u32 = 20_000;

/// Returns the natural logarithm of the gamma function for `x > 0`.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Returns the digamma function.
pub fn digamma(x: f64) -> f64 {
    gamma::digamma(x)
}

/// Returns the trigamma function for `x > 0`: recurrence to 10, then its asymptotic series.
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0)))));
    sum + 1.0 / x + y / 2.0 + series / x
}

/// Returns the gamma function.
pub fn gamma_function(x: f64) -> f64 {
    libm::tgamma(x)
}

/// Returns the error function.
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// Returns the complement of the error function, accurate in the upper tail.
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// Returns `ln(n!)`.
pub fn ln_factorial(n: u64) -> f64 {
    ln_gamma(n as f64 + 1.0)
}

/// Returns `ln(n choose k)`; negative infinity if `k > n`.
pub fn ln_choose(n: u64, k: u64) -> f64 {
    if k > n { f64::NEG_INFINITY } else { ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k) }
}

/// Returns the regularised incomplete gamma function of `a > 0` at `x`: lower and upper part.
pub fn gamma_parts(a: f64, x: f64) -> (f64, f64) {
    if a.is_nan() || x.is_nan() || a <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x == f64::INFINITY {
        return (1.0, 0.0);
    }
    if a > GAMMA_SERIES_MAX || x > GAMMA_SERIES_MAX {
        let cube = (x / a).cbrt();
        let z = (cube - (1.0 - 1.0 / (9.0 * a))) * 3.0 * a.sqrt();
        return (0.5 * erfc(-z / std::f64::consts::SQRT_2), 0.5 * erfc(z / std::f64::consts::SQRT_2));
    }
    if x <= a {
        let lower = gamma::gamma_lr(a, x).clamp(0.0, 1.0);
        (lower, 1.0 - lower)
    } else {
        let upper = gamma::gamma_ur(a, x).clamp(0.0, 1.0);
        (1.0 - upper, upper)
    }
}

/// Returns the regularised incomplete beta function of `a, b > 0` at `x`: lower and upper part, each accurate where it
/// is small.
pub fn beta_parts(a: f64, b: f64, x: f64) -> (f64, f64) {
    if a.is_nan() || b.is_nan() || x.is_nan() || a <= 0.0 || b <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x >= 1.0 {
        return (1.0, 0.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        let lower = (front * beta_fraction(a, b, x) / a).clamp(0.0, 1.0);
        (lower, 1.0 - lower)
    } else {
        let upper = (front * beta_fraction(b, a, 1.0 - x) / b).clamp(0.0, 1.0);
        (1.0 - upper, upper)
    }
}

/// The continued fraction of the incomplete beta function by the modified Lentz method (DLMF 8.17.22).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..BETA_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / keep(1.0 + even * d);
        c = keep(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / keep(1.0 + odd * d);
        c = keep(1.0 + odd / c);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 4.0 * f64::EPSILON {
            break;
        }
    }
    h
}
