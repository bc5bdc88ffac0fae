//! Distributions: tails that are accurate where they are small, and quantiles.

use crate::root::brent;
use crate::special::{beta_parts, erfc, gamma_parts, ln_choose, ln_gamma};

const SQRT_2: f64 = std::f64::consts::SQRT_2;

/// Returns the density of the standard normal distribution.
pub fn normal_pdf(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Returns P(Z ≤ z) of the standard normal distribution.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// Returns P(Z > z) of the standard normal distribution.
pub fn normal_sf(z: f64) -> f64 {
    0.5 * erfc(z / SQRT_2)
}

/// Returns the two-sided p-value of a standard normal statistic.
pub fn normal_p(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2).min(1.0)
}

/// Evaluates a polynomial, coefficients from the highest power down.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

/// Returns the quantile of the standard normal distribution: algorithm AS 241 (Wichura 1988), about 16 digits.
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p == 1.0 {
        return f64::INFINITY;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        let above = [
            2.509_080_928_730_122_6e3,
            3.343_057_558_358_813e4,
            6.726_577_092_700_87e4,
            4.592_195_393_154_987e4,
            1.373_169_376_550_946e4,
            1.971_590_950_306_551_3e3,
            1.331_416_678_917_843_8e2,
            3.387_132_872_796_366_5,
        ];
        let below = [
            5.226_495_278_852_854e3,
            2.872_908_573_572_194_3e4,
            3.930_789_580_009_271e4,
            2.121_379_430_158_659_7e4,
            5.394_196_021_424_751e3,
            6.871_870_074_920_579e2,
            4.231_333_070_160_091e1,
            1.0,
        ];
        return q * polynomial(&above, r) / polynomial(&below, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-tail.ln()).sqrt();
    let value = if r <= 5.0 {
        let r = r - 1.6;
        let above = [
            7.745_450_142_783_414e-4,
            2.272_384_498_926_918_4e-2,
            2.417_807_251_774_506e-1,
            1.270_458_252_452_368_4,
            3.647_848_324_763_204_5,
            5.769_497_221_460_691,
            4.630_337_846_156_546,
            1.423_437_110_749_683_5,
        ];
        let below = [
            1.050_750_071_644_416_9e-9,
            5.475_938_084_995_345e-4,
            1.519_866_656_361_645_7e-2,
            1.481_039_764_274_800_8e-1,
            6.897_673_349_851e-1,
            1.676_384_830_183_803_8,
            2.053_191_626_637_759,
            1.0,
        ];
        polynomial(&above, r) / polynomial(&below, r)
    } else {
        let r = r - 5.0;
        let above = [
            2.010_334_399_292_288_1e-7,
            2.711_555_568_743_487_6e-5,
            1.242_660_947_388_078_4e-3,
            2.653_218_952_657_612_4e-2,
            2.965_605_718_285_048_7e-1,
            1.784_826_539_917_291_3,
            5.463_784_911_164_114,
            6.657_904_643_501_103,
        ];
        let below = [
            2.044_263_103_389_939_8e-15,
            1.421_511_758_316_446e-7,
            1.846_318_317_510_054_8e-5,
            7.868_691_311_456_133e-4,
            1.487_536_129_085_061_5e-2,
            1.369_298_809_227_358e-1,
            5.998_322_065_558_879e-1,
            1.0,
        ];
        polynomial(&above, r) / polynomial(&below, r)
    };
    if q < 0.0 { -value } else { value }
}

/// Returns P(T > t) of Student's t distribution.
pub fn t_sf(t: f64, df: f64) -> f64 {
    let half = 0.5 * t_p(t, df);
    if t >= 0.0 { half } else { 1.0 - half }
}

/// Returns P(T ≤ t) of Student's t distribution.
pub fn t_cdf(t: f64, df: f64) -> f64 {
    t_sf(-t, df)
}

/// Returns the two-sided p-value of Student's t distribution.
pub fn t_p(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let square = t * t;
    // The part that is small is computed from the small argument.
    if square < df {
        beta_parts(0.5, 0.5 * df, square / (df + square)).1
    } else {
        beta_parts(0.5 * df, 0.5, df / (df + square)).0
    }
}

/// Returns the quantile of Student's t distribution.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if p == 0.5 {
        return 0.0;
    }
    if p < 0.5 {
        return -t_quantile(1.0 - p, df);
    }
    let tail = 1.0 - p;
    upper_quantile(|t| t_sf(t, df) - tail, normal_quantile(p).max(0.1))
}

/// Returns P(X > x) of the chi-square distribution.
pub fn chi2_sf(x: f64, df: f64) -> f64 {
    gamma_parts(0.5 * df, 0.5 * x).1
}

/// Returns P(X ≤ x) of the chi-square distribution.
pub fn chi2_cdf(x: f64, df: f64) -> f64 {
    gamma_parts(0.5 * df, 0.5 * x).0
}

/// Returns the quantile of the chi-square distribution.
pub fn chi2_quantile(p: f64, df: f64) -> f64 {
    2.0 * gamma_quantile(p, 0.5 * df)
}

/// Returns P(F > f) of the F distribution.
pub fn f_sf(f: f64, df1: f64, df2: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    if f.is_infinite() {
        return 0.0;
    }
    beta_parts(0.5 * df2, 0.5 * df1, df2 / (df2 + df1 * f)).0
}

/// Returns the quantile of the F distribution.
pub fn f_quantile(p: f64, df1: f64, df2: f64) -> f64 {
    let tail = 1.0 - p;
    upper_quantile(|f| f_sf(f, df1, df2) - tail, 1.0)
}

/// Returns the quantile of the gamma distribution with this shape and scale 1.
pub fn gamma_quantile(p: f64, shape: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    // In the logarithm the function is smooth for every shape.
    let gap = |y: f64| {
        let (lower, upper) = gamma_parts(shape, y.exp());
        if p < 0.5 { lower - p } else { 1.0 - p - upper }
    };
    let start = if shape > 0.5 { shape.ln() } else { (p.ln() + ln_gamma(shape + 1.0)) / shape };
    let (mut low, mut high) = (start - 1.0, start + 1.0);
    for _ in 0..60 {
        if gap(low) <= 0.0 {
            break;
        }
        low -= (high - low).max(1.0);
    }
    for _ in 0..60 {
        if gap(high) >= 0.0 {
            break;
        }
        high += (high - low).max(1.0);
    }
    brent(gap, low, high, 1e-15).map_or(f64::NAN, f64::exp)
}

/// Returns the quantile of the beta distribution.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let gap = |x: f64| {
        let (lower, upper) = beta_parts(a, b, x);
        if p < 0.5 { lower - p } else { 1.0 - p - upper }
    };
    brent(gap, 0.0, 1.0, 1e-15).unwrap_or(f64::NAN)
}

/// Returns P(X ≥ k) of a binomial distribution.
pub fn binomial_sf(k: u64, n: u64, p: f64) -> f64 {
    match k {
        0 => 1.0,
        k if k > n => 0.0,
        k => beta_parts(k as f64, (n - k) as f64 + 1.0, p).0,
    }
}

/// Returns P(X = k) of a binomial distribution.
pub fn binomial_pmf(k: u64, n: u64, p: f64) -> f64 {
    if p <= 0.0 {
        return if k == 0 { 1.0 } else { 0.0 };
    }
    if p >= 1.0 {
        return if k == n { 1.0 } else { 0.0 };
    }
    (ln_choose(n, k) + k as f64 * p.ln() + (n.saturating_sub(k)) as f64 * (-p).ln_1p()).exp()
}

/// Returns P(K > x) of Kolmogorov's limit distribution.
pub fn kolmogorov_sf(x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x < 1.18 {
        // The theta series converges at once for small arguments.
        let factor = (2.0 * std::f64::consts::PI).sqrt() / x;
        let y = (-std::f64::consts::PI.powi(2) / (8.0 * x * x)).exp();
        return 1.0 - factor * (y + y.powi(9) + y.powi(25) + y.powi(49));
    }
    let y = (-2.0 * x * x).exp();
    (2.0 * (y - y.powi(4) + y.powi(9) - y.powi(16))).clamp(0.0, 1.0)
}

/// Returns P(T ≤ t) of the noncentral t distribution: algorithm AS 243 (Lenth 1989).
pub fn noncentral_t_cdf(t: f64, df: f64, delta: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - noncentral_t_cdf_positive(-t, df, -delta);
    }
    noncentral_t_cdf_positive(t, df, delta)
}

fn noncentral_t_cdf_positive(t: f64, df: f64, delta: f64) -> f64 {
    // Beyond this the series underflows: the normal approximation of Abramowitz & Stegun 26.7.10.
    if delta.abs() > 37.0 || df > 4e5 {
        let s = 1.0 / (4.0 * df);
        return normal_cdf((t * (1.0 - s) - delta) / (1.0 + t * t * 2.0 * s).sqrt());
    }
    let base = normal_cdf(-delta);
    if t == 0.0 {
        return base;
    }
    let x = t * t / (t * t + df);
    let lambda = delta * delta;
    let mut p = 0.5 * (-0.5 * lambda).exp();
    let mut q = (2.0 / std::f64::consts::PI).sqrt() * p * delta;
    let mut rest = 0.5 - p;
    let (mut a, b) = (0.5, 0.5 * df);
    let one_minus = df / (t * t + df);
    let rxb = one_minus.powf(b);
    let log_beta = ln_gamma(0.5) + ln_gamma(b) - ln_gamma(a + b);
    let mut x_odd = beta_parts(a, b, x).0;
    let mut g_odd = 2.0 * rxb * (a * x.ln() - log_beta).exp();
    let mut x_even = 1.0 - rxb;
    let mut g_even = b * x * rxb;
    let mut sum = p * x_odd + q * x_even;
    for n in 1..20_000 {
        a += 1.0;
        x_odd -= g_odd;
        x_even -= g_even;
        g_odd *= x * (a + b - 1.0) / a;
        g_even *= x * (a + b - 0.5) / (a + 0.5);
        p *= lambda / f64::from(2 * n);
        q *= lambda / f64::from(2 * n + 1);
        rest -= p;
        sum += p * x_odd + q * x_even;
        if (2.0 * rest * (x_odd - g_odd)).abs() < 1e-15 {
            break;
        }
    }
    (sum + base).clamp(0.0, 1.0)
}

/// Finds where a falling function that is positive at 0 crosses zero, from a guess.
fn upper_quantile(gap: impl Fn(f64) -> f64, guess: f64) -> f64 {
    let (mut low, mut high) = (0.0, guess);
    for _ in 0..1_100 {
        if gap(high) <= 0.0 {
            return brent(&gap, low, high, 1e-15).unwrap_or(f64::NAN);
        }
        low = high;
        high *= 2.0;
    }
    f64::INFINITY
}
