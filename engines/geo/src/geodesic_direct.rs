//! q2: destination and waypoints along a geodesic.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::{of_wire, to_wire};

/// 50 times around the earth.
const MAX_DISTANCE_M: f64 = 2e9;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    start: LatLon,
    azimuth_deg: f64,
    distance_m: f64,
    waypoints: usize,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    destination: LatLon,
    azimuth_end_deg: f64,
    waypoints: Vec<LatLon>,
}

/// Follows a geodesic. The end is not among the waypoints.
///
/// # Errors
/// A distance beyond 50 times the earth's circumference.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    if input.distance_m > MAX_DISTANCE_M {
        return Err(Failure::invalid(&["distance"], format!("must be at most {MAX_DISTANCE_M} m")));
    }
    let start = of_wire(input.start);
    let (destination, azimuth) = earth::direct(start, input.azimuth_deg, input.distance_m);
    let waypoints = earth::waypoints(start, input.azimuth_deg, input.distance_m, input.waypoints);
    Ok(Output {
        destination: to_wire(destination),
        azimuth_end_deg: azimuth,
        waypoints: waypoints.into_iter().map(to_wire).collect(),
    })
}
