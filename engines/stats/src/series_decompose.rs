//! q92: seasonal decomposition.

use muster_engine::prelude::*;
use muster_kernel_numeric::summary;
use stlrs::Stl;

use crate::support::check_series;

const MAX_VALUES: usize = 50_000;
/// Window of the seasonal loess, in periods (statsmodels' default).
const SEASONAL: usize = 7;
/// Values times the longest window above which the loess is computed at every tenth of its window and interpolated, as
/// Cleveland's program does.
const EXACT_WORK: usize = 20_000_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    period: i64,
    robust: bool,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    trend: Vec<f64>,
    seasonal: Vec<f64>,
    remainder: Vec<f64>,
    trend_strength: f64,
    seasonal_strength: f64,
}

/// Decomposes the series.
///
/// # Errors
/// `Invalid` (a period longer than half of the series), `TooLarge`, `NoAnswer`.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 4, MAX_VALUES)?;
    let period = usize::try_from(input.period).unwrap_or(usize::MAX);
    let (trend, seasonal, remainder) = decompose(&input.values, period, input.robust)?;
    let strength = |component: &[f64]| {
        let both: Vec<f64> = component.iter().zip(&remainder).map(|(c, r)| c + r).collect();
        let (rest, whole) = (summary::variance(&remainder), summary::variance(&both));
        if whole > 0.0 { (1.0 - rest / whole).clamp(0.0, 1.0) } else { 0.0 }
    };
    Ok(Output { trend_strength: strength(&trend), seasonal_strength: strength(&seasonal), trend, seasonal, remainder })
}

/// Trend, season and remainder.
pub(crate) type Components = (Vec<f64>, Vec<f64>, Vec<f64>);

/// STL with the windows of statsmodels: season 7, trend the least odd number from 1.5·period/(1 − 1.5/7), low pass the
/// least odd number above the period.
///
/// # Errors
/// `Invalid` for a period below 2 or above half of the series.
pub(crate) fn decompose(values: &[f64], period: usize, robust: bool) -> Result<Components, Failure> {
    if period < 2 || values.len() / 2 < period {
        return Err(Failure::invalid(&["period"], "must be from 2 to half of the number of values"));
    }
    let odd = |n: usize| if n.is_multiple_of(2) { n + 1 } else { n };
    let trend = odd((1.5 * period as f64 / (1.0 - 1.5 / SEASONAL as f64)).ceil() as usize);
    let low_pass = odd(period + 1);
    let jump = |window: usize| if values.len() * trend > EXACT_WORK { window.div_ceil(10) } else { 1 };
    // The middle of the series is taken off first: the loess of large equal numbers loses digits.
    let middle = summary::mean(values);
    let centred: Vec<f64> = values.iter().map(|x| x - middle).collect();
    let (inner, outer) = if robust { (2, 15) } else { (5, 0) };
    let fit = Stl::params()
        .seasonal_length(SEASONAL)
        .trend_length(trend)
        .low_pass_length(low_pass)
        .seasonal_jump(1)
        .trend_jump(jump(trend))
        .low_pass_jump(jump(low_pass))
        .seasonal_degree(1)
        .trend_degree(1)
        .low_pass_degree(1)
        .inner_loops(inner)
        .outer_loops(outer)
        .fit(&centred, period)
        .map_err(|error| Failure::invalid(&["values"], error.to_string()))?;
    let trend = fit.trend().iter().map(|t| t + middle).collect();
    Ok((trend, fit.seasonal().to_vec(), fit.remainder().to_vec()))
}
