//! q1: geodesic distance and bearing.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::{at_most, of_wire, to_wire};

const MAX_POINTS: usize = 50_000;

/// Names of the 16 points of the compass.
const COMPASS: [&str; 16] =
    ["N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW"];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    from: LatLon,
    to: Vec<LatLon>,
}

/// The way to one point.
#[derive(Output)]
pub struct Leg {
    distance_m: f64,
    azimuth_start_deg: f64,
    azimuth_end_deg: f64,
    compass: &'static str,
    midpoint: LatLon,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    legs: Vec<Leg>,
}

/// Returns the shortest way from one point to each of others.
///
/// # Errors
/// Too many points.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    at_most(input.to.len(), MAX_POINTS, "points")?;
    let from = of_wire(input.from);
    let legs = input.to.into_iter().map(|to| {
        let to = of_wire(to);
        let leg = earth::inverse(from, to);
        Leg {
            distance_m: leg.distance,
            azimuth_start_deg: leg.azimuth_start,
            azimuth_end_deg: leg.azimuth_end,
            compass: compass(leg.azimuth_start),
            midpoint: to_wire(earth::midpoint(from, to)),
        }
    });
    Ok(Output { legs: legs.collect() })
}

/// Returns the nearest of the 16 points of the compass.
fn compass(azimuth: f64) -> &'static str {
    let index = (azimuth.rem_euclid(360.0) / 22.5).round() as usize % COMPASS.len();
    COMPASS.get(index).copied().unwrap_or("N")
}
