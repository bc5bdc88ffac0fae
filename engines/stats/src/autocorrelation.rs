//! q99: autocorrelation and stationarity.

use muster_engine::prelude::*;
use muster_kernel_numeric::spectrum::autocovariance_sums;
use muster_kernel_numeric::{dist, summary};

use crate::stationarity::{adf, kpss};
use crate::support::{check_series, finite};

const MAX_VALUES: usize = 20_000;
const MAX_LAGS: usize = 2_000;
/// Level of the verdict.
const LEVEL: f64 = 0.05;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    lags: i64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    acf: Vec<f64>,
    pacf: Vec<f64>,
    bound: f64,
    ljung_box: Option<Test>,
    adf: Option<LagTest>,
    kpss: Option<Test>,
    verdict: String,
}

#[derive(Output)]
pub(crate) struct Test {
    pub(crate) statistic: f64,
    pub(crate) p: f64,
}

#[derive(Output)]
pub(crate) struct LagTest {
    pub(crate) statistic: f64,
    pub(crate) p: f64,
    pub(crate) lags: i64,
}

/// Describes the memory of the series.
///
/// # Errors
/// `TooLarge`, `Invalid`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 6, MAX_VALUES)?;
    let n = input.values.len();
    let mean = summary::mean(&input.values);
    let centred: Vec<f64> = input.values.iter().map(|x| x - mean).collect();
    let largest = input.values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if centred.iter().all(|x| x.abs() <= largest * 1e-13) {
        return Err(Failure::no_answer(NoAnswer::Singular, "the values do not vary"));
    }
    let asked = usize::try_from(input.lags).unwrap_or(usize::MAX).max(1);
    let lags = asked.min(n - 1).min(MAX_LAGS);
    if lags < asked {
        cx.warn(format!("lags: {lags} is the most for this series"));
    }
    let sums = autocovariance_sums(&centred, lags + 1);
    let whole = sums.first().copied().unwrap_or(1.0);
    let mut acf: Vec<f64> = sums.iter().map(|s| s / whole).collect();
    if let Some(first) = acf.first_mut() {
        *first = 1.0;
    }
    let size = n as f64;
    let q = size * (size + 2.0) * summary::sum(acf.iter().enumerate().skip(1).map(|(k, r)| r * r / (size - k as f64)));
    let ljung_box = finite(q).map(|statistic| Test { statistic, p: dist::chi2_sf(statistic, lags as f64) });
    let pacf = durbin_levinson(&acf);
    let (adf, kpss) = (adf(&input.values), kpss(&centred));
    if adf.is_none() {
        cx.warn("adf: the series is too short or too regular for the test");
    }
    let verdict = verdict(ljung_box.as_ref(), adf.as_ref(), kpss.as_ref()).to_owned();
    Ok(Output { acf, pacf, bound: dist::normal_quantile(0.975) / size.sqrt(), ljung_box, adf, kpss, verdict })
}

/// Partial autocorrelations; the recursion ends where the series is predicted without error.
fn durbin_levinson(acf: &[f64]) -> Vec<f64> {
    let mut out = vec![1.0];
    let mut phi: Vec<f64> = Vec::new();
    let mut variance = 1.0;
    for k in 1..acf.len() {
        let at = |lag: usize| acf.get(lag).copied().unwrap_or(0.0);
        let known: f64 = phi.iter().enumerate().map(|(j, f)| f * at(k - j - 1)).sum();
        if variance < 1e-12 {
            out.push(0.0);
            continue;
        }
        let last = ((at(k) - known) / variance).clamp(-1.0, 1.0);
        let next: Vec<f64> = phi.iter().zip(phi.iter().rev()).map(|(f, g)| f - last * g).chain([last]).collect();
        phi = next;
        variance *= 1.0 - last * last;
        out.push(last);
    }
    out
}

fn verdict(ljung_box: Option<&Test>, adf: Option<&LagTest>, kpss: Option<&Test>) -> &'static str {
    let memory = ljung_box.is_some_and(|t| t.p < LEVEL);
    let unit_root = adf.map(|t| t.p >= LEVEL);
    let moves = kpss.is_some_and(|t| t.p < LEVEL);
    match (memory, unit_root, moves) {
        (false, _, false) => "white-noise",
        (_, Some(true), true) => "needs-differencing",
        (_, Some(false), true) => "difference-or-trend-stationary",
        (true, Some(true), false) => "inconclusive",
        (true, _, false) => "stationary-with-memory",
        (_, _, true) => "needs-differencing",
    }
}
