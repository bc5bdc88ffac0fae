//! q93: forecast of a series.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::sample::Sampler;
use muster_kernel_numeric::summary;

use crate::forecast_models::{Fitted, Kind};
use crate::support::{check_series, finite};

const MAX_VALUES: usize = 5_000;
/// Most simulated futures, most simulated values, and fewest futures; and the seed of their errors.
const PATHS: usize = 1_000;
const MAX_DRAWS: usize = 100_000;
const MIN_PATHS: usize = 200;
const SEED: i64 = 1;
/// Most ends of the training data that are tried to compare methods.
const ORIGINS: usize = 3;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    horizon: i64,
    period: i64,
    method: Method,
    confidence: f64,
}

/// Methods.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Method {
    /// The one with the least error on the end of the series.
    Auto,
    /// Simple exponential smoothing.
    Ses,
    /// With a trend.
    Holt,
    /// With a trend that fades.
    Damped,
    /// With a trend and a season.
    HoltWinters,
    /// Theta with θ = 2.
    Theta,
    /// The last season again.
    SeasonalNaive,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    forecast: Vec<Point>,
    method: String,
    parameters: BTreeMap<String, f64>,
    mase: Option<f64>,
    smape: Option<f64>,
    fitted: Vec<f64>,
}

#[derive(Output)]
struct Point {
    step: i64,
    mean: f64,
    low: f64,
    high: f64,
}

/// Forecasts the series.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` (`too_few` for the method).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 3, MAX_VALUES)?;
    let n = input.values.len();
    let horizon = input.horizon.clamp(1, 1_000) as usize;
    let asked = usize::try_from(input.period).unwrap_or(usize::MAX).max(1);
    let period = if asked > 1 && n < 2 * asked {
        cx.warn("period: the series is shorter than two periods, so it is forecast without season");
        1
    } else {
        asked
    };
    let candidates: Vec<Kind> = match input.method {
        Method::Auto => vec![Kind::SeasonalNaive, Kind::Ses, Kind::Holt, Kind::Damped, Kind::Theta, Kind::HoltWinters],
        Method::Ses => vec![Kind::Ses],
        Method::Holt => vec![Kind::Holt],
        Method::Damped => vec![Kind::Damped],
        Method::HoltWinters => vec![Kind::HoltWinters],
        Method::Theta => vec![Kind::Theta],
        Method::SeasonalNaive => vec![Kind::SeasonalNaive],
    };
    let possible: Vec<Kind> = candidates.into_iter().filter(|kind| n >= kind.least(period)).collect();
    if possible.is_empty() {
        let problem = "the method needs more values; holt-winters needs two periods of at least two values";
        return Err(Failure::no_answer(NoAnswer::TooFew, problem));
    }
    let total = possible.len() as u64 + 1;
    let mut scored = Vec::new();
    for (done, kind) in possible.iter().enumerate() {
        cx.progress(done as u64, total, "comparing methods");
        scored.push((*kind, score(*kind, &input.values, period, horizon)));
    }
    // The first of equal errors is the simplest method; without any error simple smoothing.
    let best = scored.iter().filter_map(|(kind, s)| s.map(|s| (*kind, s.0))).min_by(|a, b| a.1.total_cmp(&b.1));
    let fallback = possible.iter().find(|kind| **kind == Kind::Ses).or(possible.first());
    let Some(kind) = best.map(|(kind, _)| kind).or(fallback.copied()) else {
        return Err(Failure::internal("no method is left"));
    };
    let errors = scored.iter().find(|(k, _)| *k == kind).and_then(|(_, s)| *s);
    if errors.is_none() {
        cx.warn("the series is too short to hold back values, so there are no mase and smape");
    }
    let model = Fitted::of(kind, &input.values, period);
    let mean = model.path(horizon, &mut || 0.0);
    let forecast = intervals(&model, &mean, input.confidence);
    if !forecast.iter().all(|p| p.mean.is_finite() && p.low.is_finite() && p.high.is_finite()) {
        return Err(Failure::no_answer(NoAnswer::NotConverged, "the forecast is not a number of double precision"));
    }
    Ok(Output {
        forecast,
        method: kind.name().to_owned(),
        parameters: model.parameters().into_iter().filter(|(_, v)| v.is_finite()).collect(),
        mase: errors.and_then(|(mase, _)| finite(mase)),
        smape: errors.and_then(|(_, smape)| finite(smape)),
        fitted: model.fitted().iter().copied().filter(|x| x.is_finite()).collect(),
    })
}

/// Mean MASE and sMAPE (a share, 0 to 2) of forecasts from up to three earlier ends of the series.
fn score(kind: Kind, values: &[f64], period: usize, horizon: usize) -> Option<(f64, f64)> {
    let n = values.len();
    let reach = horizon.min((n / 5).max(1)).max(if period > 1 { period.min(horizon) } else { 1 });
    let (mut mase, mut smape, mut count) = (0.0, 0.0, 0.0);
    for origin in 1..=ORIGINS {
        let Some(end) = n.checked_sub(origin * reach) else { break };
        if end < kind.least(period).max(2 * period).max(4) {
            break;
        }
        let (past, rest) = values.split_at(end);
        let forecast = Fitted::of(kind, past, period).path(reach, &mut || 0.0);
        let scale = naive_error(past, period);
        let pairs = || rest.iter().take(reach).zip(&forecast);
        let errors: f64 = pairs().map(|(y, f)| (y - f).abs()).sum::<f64>() / reach as f64;
        mase += errors / scale;
        let share =
            |y: f64, f: f64| if y.abs() + f.abs() > 0.0 { 2.0 * (y - f).abs() / (y.abs() + f.abs()) } else { 0.0 };
        smape += pairs().map(|(y, f)| share(*y, *f)).sum::<f64>() / reach as f64;
        count += 1.0;
    }
    (count > 0.0).then(|| (mase / count, smape / count))
}

/// Mean absolute error of the seasonal naive forecast within the past; of a series that it meets exactly, the largest
/// value, so that the ratio stays a number.
fn naive_error(past: &[f64], period: usize) -> f64 {
    let n = past.len().saturating_sub(period).max(1) as f64;
    let error = past.iter().zip(past.iter().skip(period)).map(|(a, b)| (b - a).abs()).sum::<f64>() / n;
    if error > 0.0 {
        return error;
    }
    let largest = past.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if largest > 0.0 { largest } else { 1.0 }
}

/// Bounds from simulated futures, whose errors are drawn from the residuals.
fn intervals(model: &Fitted, mean: &[f64], confidence: f64) -> Vec<Point> {
    let residuals = model.residuals();
    let centre = summary::mean(&residuals);
    let mut sampler = Sampler::new(SEED);
    let paths = PATHS.min(MAX_DRAWS / mean.len().max(1)).max(MIN_PATHS);
    let mut futures = vec![Vec::with_capacity(paths); mean.len()];
    for _ in 0..paths {
        let mut draw = || residuals.get(sampler.index(residuals.len())).map_or(0.0, |e| e - centre);
        for (all, value) in futures.iter_mut().zip(model.path(mean.len(), &mut draw)) {
            all.push(value);
        }
    }
    let tail = (1.0 - confidence) / 2.0;
    let point = |(at, (mean, mut all)): (usize, (&f64, Vec<f64>))| {
        all.sort_by(f64::total_cmp);
        let low = summary::quantile_sorted(&all, tail).min(*mean);
        let high = summary::quantile_sorted(&all, 1.0 - tail).max(*mean);
        Point { step: at as i64 + 1, mean: *mean, low, high }
    };
    mean.iter().zip(futures).enumerate().map(point).collect()
}
