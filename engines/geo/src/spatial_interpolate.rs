//! q17: spatial interpolation of sensor readings.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;
use muster_kernel_numeric::nalgebra::{DMatrix, DVector};

use crate::bounds::{at_most, of_wire, position};
use crate::variogram::{Fitted, Model, fit};

const MAX_SAMPLES: usize = 500;
const MAX_TARGETS: usize = 20_000;
/// Samples times targets.
const MAX_DISTANCES: usize = 2_000_000;
/// A target this near to a sample has its value.
const SAME_PLACE_M: f64 = 1e-6;

/// A reading.
#[derive(Input)]
pub struct Sample {
    lat: f64,
    lon: f64,
    value: f64,
}

/// How values are estimated.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Weights of a power of the distance.
    Idw,
    /// Ordinary kriging.
    Kriging,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    samples: Vec<Sample>,
    targets: Vec<LatLon>,
    method: Method,
    power: f64,
    variogram: Model,
}

/// An estimate. The variance is that of kriging; for weights of the distance it is the weighted variance of the samples.
#[derive(Output)]
pub struct Estimate {
    value: f64,
    variance: f64,
}

/// The fitted variogram.
#[derive(Output)]
pub struct Variogram {
    nugget: f64,
    sill: f64,
    range_m: f64,
}

/// Output of the engine. The variogram is absent without kriging.
#[derive(Output)]
pub struct Output {
    estimates: Vec<Estimate>,
    loo_rmse: f64,
    variogram: Option<Variogram>,
}

/// Estimates values at the targets; the error is that of leaving out one sample after the other.
///
/// # Errors
/// Too few samples, a position out of range, a singular system, too large an input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    at_most(input.samples.len(), MAX_SAMPLES, "samples")?;
    at_most(input.targets.len(), MAX_TARGETS, "targets")?;
    at_most(input.samples.len().saturating_mul(input.targets.len()), MAX_DISTANCES, "pairs of sample and target")?;
    let (places, values) = samples(&input.samples, cx)?;
    let least = if input.method == Method::Kriging { 3 } else { 2 };
    if places.len() < least {
        let message =
            format!("{least} samples at different places at least are needed, and there are {}", places.len());
        return Err(Failure::no_answer(NoAnswer::TooFew, message));
    }
    let between = distances(&places, cx);
    match input.method {
        Method::Idw => Ok(idw(&input, &places, &values, &between)),
        Method::Kriging => kriging(&input, &places, &values, &between),
    }
}

/// Samples at one place become their mean.
fn samples(samples: &[Sample], cx: &Context) -> Result<(Vec<earth::LatLon>, Vec<f64>), Failure> {
    let mut places: Vec<(earth::LatLon, f64, f64)> = Vec::with_capacity(samples.len());
    for (index, sample) in samples.iter().enumerate() {
        let at = position(&["samples", &index.to_string()], sample.lat, sample.lon)?;
        match places.iter_mut().find(|(place, ..)| *place == at) {
            Some((_, sum, count)) => {
                *sum += sample.value;
                *count += 1.0;
            }
            None => places.push((at, sample.value, 1.0)),
        }
    }
    if places.len() < samples.len() {
        cx.warn(format!(
            "merged: {} samples are at the place of another one; their mean counts",
            samples.len() - places.len()
        ));
    }
    Ok(places.into_iter().map(|(at, sum, count)| (at, sum / count)).unzip())
}

fn distances(places: &[earth::LatLon], cx: &Context) -> DMatrix<f64> {
    let count = places.len();
    let mut between = DMatrix::zeros(count, count);
    for (row, from) in places.iter().enumerate() {
        cx.progress(row as u64, count as u64, "distances");
        for (column, to) in places.iter().enumerate().skip(row + 1) {
            let distance = earth::inverse(*from, *to).distance;
            for at in [(row, column), (column, row)] {
                if let Some(entry) = between.get_mut(at) {
                    *entry = distance;
                }
            }
        }
    }
    between
}

/// Estimate and weighted variance by weights of the distance.
fn weighted(pairs: impl Iterator<Item = (f64, f64)> + Clone, power: f64) -> Estimate {
    if let Some((_, value)) = pairs.clone().find(|(distance, _)| *distance < SAME_PLACE_M) {
        return Estimate { value, variance: 0.0 };
    }
    // In units of the nearest distance, so that powers stay in range.
    let unit = pairs.clone().map(|(distance, _)| distance).fold(f64::INFINITY, f64::min);
    let weight = |distance: f64| (distance / unit).powf(-power);
    let total: f64 = pairs.clone().map(|(distance, _)| weight(distance)).sum();
    let value = pairs.clone().map(|(distance, value)| weight(distance) * value).sum::<f64>() / total;
    let variance = pairs.map(|(distance, each)| weight(distance) * (each - value).powi(2)).sum::<f64>() / total;
    Estimate { value, variance }
}

fn idw(input: &Input, places: &[earth::LatLon], values: &[f64], between: &DMatrix<f64>) -> Output {
    let estimates = input.targets.iter().map(|target| {
        let target = of_wire(*target);
        let away: Vec<f64> = places.iter().map(|place| earth::inverse(target, *place).distance).collect();
        weighted(away.into_iter().zip(values.iter().copied()), input.power)
    });
    let estimates = estimates.collect();
    let errors = values.iter().enumerate().map(|(left_out, value)| {
        let row = between.row(left_out);
        let others = row.iter().copied().zip(values.iter().copied()).enumerate();
        let others = others.filter(|(index, _)| *index != left_out).map(|(_, pair)| pair);
        weighted(others, input.power).value - value
    });
    Output { estimates, loo_rmse: root_mean_square(errors, values.len()), variogram: None }
}

fn root_mean_square(errors: impl Iterator<Item = f64>, count: usize) -> f64 {
    (errors.map(|error| error * error).sum::<f64>() / count as f64).sqrt()
}

fn kriging(input: &Input, places: &[earth::LatLon], values: &[f64], between: &DMatrix<f64>) -> Result<Output, Failure> {
    let fitted = fit(input.variogram, between, values);
    let count = places.len();
    if fitted.sill <= 0.0 {
        // Equal values: any weights give them.
        let value = values.iter().sum::<f64>() / count as f64;
        let estimates = input.targets.iter().map(|_| Estimate { value, variance: 0.0 }).collect();
        return Ok(Output { estimates, loo_rmse: 0.0, variogram: Some(written(&fitted)) });
    }
    // Semivariances in units of the sill, bordered by ones.
    let system = DMatrix::from_fn(count + 1, count + 1, |row, column| match (row < count, column < count) {
        (true, true) if row == column => 0.0,
        (true, true) => fitted.at(between.get((row, column)).copied().unwrap_or(0.0)) / fitted.sill,
        (false, false) => 0.0,
        _ => 1.0,
    });
    let singular = || {
        Failure::no_answer(
            NoAnswer::Singular,
            "the system of kriging has no solution: samples are too near to one another for this variogram",
        )
    };
    let inverse = system.clone().try_inverse().ok_or_else(singular)?;
    let off = (&system * &inverse - DMatrix::identity(count + 1, count + 1)).amax();
    if off.is_nan() || off > 1e-6 {
        return Err(singular());
    }
    let data = DVector::from_iterator(count + 1, values.iter().copied().chain([0.0]));
    let mut estimates = Vec::with_capacity(input.targets.len());
    for target in &input.targets {
        let target = of_wire(*target);
        let away: Vec<f64> = places.iter().map(|place| earth::inverse(target, *place).distance).collect();
        if let Some((_, value)) = away.iter().zip(values).find(|(away, _)| **away < SAME_PLACE_M) {
            estimates.push(Estimate { value: *value, variance: 0.0 });
            continue;
        }
        let right =
            DVector::from_iterator(count + 1, away.iter().map(|away| fitted.at(*away) / fitted.sill).chain([1.0]));
        let weights = &inverse * &right;
        let value = weights.iter().zip(values).map(|(weight, value)| weight * value).sum();
        let variance = (weights.dot(&right) * fitted.sill).max(0.0);
        estimates.push(Estimate { value, variance });
    }
    // Errors of leaving one out, from the inverse of the whole (Dubrule 1983).
    let solved = &inverse * &data;
    let errors = (0..count).map(|index| {
        let (residual, own) =
            (solved.get(index).copied().unwrap_or(0.0), inverse.get((index, index)).copied().unwrap_or(0.0));
        if own == 0.0 { 0.0 } else { residual / own }
    });
    let loo_rmse = root_mean_square(errors, count);
    Ok(Output { estimates, loo_rmse, variogram: Some(written(&fitted)) })
}

fn written(fitted: &Fitted) -> Variogram {
    Variogram { nugget: fitted.nugget, sill: fitted.sill, range_m: fitted.range }
}
