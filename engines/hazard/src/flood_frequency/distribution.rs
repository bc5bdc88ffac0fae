//! Distributions of annual maxima: generalised extreme value and Gumbel by L-moments (Hosking and Wallis 1997,
//! appendix A), log-Pearson III by moments of the logarithms (Bulletin 17B, without regional skew).

use std::collections::BTreeMap;

use muster_kernel_numeric::dist::{gamma_quantile, normal_cdf, normal_pdf, normal_quantile};
use muster_kernel_numeric::lmoments::l_moments;
use muster_kernel_numeric::special::{gamma_function, gamma_parts, ln_gamma};

use crate::roots::bisect;

const EULER: f64 = 0.577_215_664_901_532_9;
/// Shapes nearer to zero than this are Gumbel's or the normal distribution.
const SMALL: f64 = 1e-6;
/// Shapes between which that of the generalised extreme value distribution is looked for.
const SHAPES: (f64, f64) = (-0.99, 20.0);

/// A family of distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Gev,
    Gumbel,
    LogPearson3,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Gev => "gev",
            Self::Gumbel => "gumbel",
            Self::LogPearson3 => "log-pearson3",
        }
    }
}

/// A fitted distribution. `shape` of the first is Hosking's k, which is -ξ.
#[derive(Debug, Clone, Copy)]
pub enum Fitted {
    Gev { location: f64, scale: f64, shape: f64 },
    Gumbel { location: f64, scale: f64 },
    LogPearson3 { mean: f64, deviation: f64, skew: f64 },
}

impl Fitted {
    /// Fits a distribution; `None` where the values do not allow it.
    pub fn fit(kind: Kind, values: &[f64]) -> Option<Self> {
        let fitted = match kind {
            Kind::Gev => gev(values)?,
            Kind::Gumbel => {
                let moments = l_moments(values)?;
                let scale = moments.l2 / std::f64::consts::LN_2;
                Self::Gumbel { location: moments.l1 - EULER * scale, scale }
            }
            Kind::LogPearson3 => log_pearson3(values)?,
        };
        fitted.parameters().values().all(|value| value.is_finite()).then_some(fitted)
    }

    pub fn parameters(&self) -> BTreeMap<String, f64> {
        let named: &[(&str, f64)] = match *self {
            Self::Gev { location, scale, shape } => &[("location", location), ("scale", scale), ("shape", shape)],
            Self::Gumbel { location, scale } => &[("location", location), ("scale", scale)],
            Self::LogPearson3 { mean, deviation, skew } => {
                &[("mean_log10", mean), ("deviation_log10", deviation), ("skew_log10", skew)]
            }
        };
        named.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    pub fn quantile(&self, p: f64) -> f64 {
        match *self {
            Self::Gev { location, scale, shape } => location + scale * reduced(-p.ln(), shape),
            Self::Gumbel { location, scale } => location - scale * (-p.ln()).ln(),
            Self::LogPearson3 { mean, deviation, skew } => 10_f64.powf(mean + deviation * frequency_factor(p, skew)),
        }
    }

    pub fn cdf(&self, x: f64) -> f64 {
        match *self {
            Self::Gev { location, scale, shape } => (-survival_rate((x - location) / scale, shape)).exp(),
            Self::Gumbel { location, scale } => (-(-(x - location) / scale).exp()).exp(),
            Self::LogPearson3 { .. } if x <= 0.0 => 0.0,
            Self::LogPearson3 { mean, deviation, skew } => pearson3_cdf((x.log10() - mean) / deviation, skew),
        }
    }

    /// Akaike's criterion; infinite where a value is impossible.
    pub fn aic(&self, values: &[f64]) -> f64 {
        let likelihood: f64 = values.iter().map(|x| self.ln_density(*x)).sum();
        let aic = 2.0 * self.parameters().len() as f64 - 2.0 * likelihood;
        if aic.is_nan() { f64::INFINITY } else { aic }
    }

    fn ln_density(&self, x: f64) -> f64 {
        match *self {
            Self::Gev { location, scale, shape } => {
                let rate = survival_rate((x - location) / scale, shape);
                if rate <= 0.0 { f64::NEG_INFINITY } else { (1.0 - shape) * rate.ln() - rate - scale.ln() }
            }
            Self::Gumbel { location, scale } => {
                let z = (x - location) / scale;
                -z - (-z).exp() - scale.ln()
            }
            Self::LogPearson3 { mean, deviation, skew } => {
                let z = (x.log10() - mean) / deviation;
                ln_pearson3_density(z, skew) - deviation.ln() - x.ln() - std::f64::consts::LN_10.ln()
            }
        }
    }
}

/// (1 - y^k) / k, or -ln y.
fn reduced(y: f64, shape: f64) -> f64 {
    if shape.abs() < SMALL { -y.ln() } else { (1.0 - y.powf(shape)) / shape }
}

/// The inverse: y of which `reduced` is `z`; 0 above the greatest value, infinite below the least.
fn survival_rate(z: f64, shape: f64) -> f64 {
    if shape.abs() < SMALL {
        return (-z).exp();
    }
    let base = 1.0 - shape * z;
    if base > 0.0 {
        base.powf(1.0 / shape)
    } else if shape > 0.0 {
        0.0
    } else {
        f64::INFINITY
    }
}

fn gev(values: &[f64]) -> Option<Fitted> {
    let moments = l_moments(values)?;
    // L-skewness falls as k grows; see equation A.53 of Hosking and Wallis.
    let skewness = |k: f64| {
        if k.abs() < SMALL {
            0.169_925_001_442_312_4
        } else {
            2.0 * (1.0 - 3_f64.powf(-k)) / (1.0 - 2_f64.powf(-k)) - 3.0
        }
    };
    if !(skewness(SHAPES.1)..skewness(SHAPES.0)).contains(&moments.t3) {
        return None;
    }
    let shape = bisect(SHAPES.0, SHAPES.1, |k| skewness(k) - moments.t3);
    if shape.abs() < SMALL {
        let scale = moments.l2 / std::f64::consts::LN_2;
        return Some(Fitted::Gev { location: moments.l1 - EULER * scale, scale, shape: 0.0 });
    }
    let gamma = gamma_function(1.0 + shape);
    let scale = moments.l2 * shape / ((1.0 - 2_f64.powf(-shape)) * gamma);
    Some(Fitted::Gev { location: moments.l1 - scale * (1.0 - gamma) / shape, scale, shape })
}

fn log_pearson3(values: &[f64]) -> Option<Fitted> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.log10()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let power = |exponent: i32| logs.iter().map(|x| (x - mean).powi(exponent)).sum::<f64>();
    let deviation = (power(2) / (n - 1.0)).sqrt();
    if deviation <= 1e-12 * mean.abs().max(1.0) {
        return None;
    }
    let skew = n * power(3) / ((n - 1.0) * (n - 2.0) * deviation.powi(3));
    Some(Fitted::LogPearson3 { mean, deviation, skew })
}

/// Standardised quantile of Pearson III.
fn frequency_factor(p: f64, skew: f64) -> f64 {
    if skew.abs() < SMALL {
        return normal_quantile(p);
    }
    let shape = 4.0 / (skew * skew);
    let quantile = |p: f64| (gamma_quantile(p, shape) - shape) / shape.sqrt();
    if skew > 0.0 { quantile(p) } else { -quantile(1.0 - p) }
}

fn pearson3_cdf(z: f64, skew: f64) -> f64 {
    if skew.abs() < SMALL {
        return normal_cdf(z);
    }
    let shape = 4.0 / (skew * skew);
    let (lower, upper) = gamma_parts(shape, shape + z * skew.signum() * shape.sqrt());
    if skew > 0.0 { lower } else { upper }
}

fn ln_pearson3_density(z: f64, skew: f64) -> f64 {
    if skew.abs() < SMALL {
        return normal_pdf(z).ln();
    }
    let shape = 4.0 / (skew * skew);
    let x = shape + z * skew.signum() * shape.sqrt();
    if x <= 0.0 { f64::NEG_INFINITY } else { (shape - 1.0) * x.ln() - x - ln_gamma(shape) + 0.5 * shape.ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantile_is_the_inverse_of_its_distribution() {
        let all = [
            Fitted::Gev { location: 100.0, scale: 20.0, shape: 0.1 },
            Fitted::Gev { location: 100.0, scale: 20.0, shape: -0.2 },
            Fitted::Gev { location: 100.0, scale: 20.0, shape: 0.0 },
            Fitted::Gumbel { location: 100.0, scale: 20.0 },
            Fitted::LogPearson3 { mean: 2.0, deviation: 0.2, skew: 0.5 },
            Fitted::LogPearson3 { mean: 2.0, deviation: 0.2, skew: -0.5 },
            Fitted::LogPearson3 { mean: 2.0, deviation: 0.2, skew: 0.0 },
        ];
        for fitted in all {
            for p in [0.01, 0.3, 0.5, 0.9, 0.999] {
                assert!((fitted.cdf(fitted.quantile(p)) - p).abs() < 1e-9, "{fitted:?} {p}");
            }
            let (p, step) = (0.6, 1e-4);
            let x = fitted.quantile(p);
            let slope = (fitted.cdf(x + step) - fitted.cdf(x - step)) / (2.0 * step);
            assert!((fitted.ln_density(x) - slope.ln()).abs() < 1e-5, "{fitted:?}");
        }
    }
}
