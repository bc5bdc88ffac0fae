//! q15: nearest features.

use muster_engine::prelude::*;

use crate::bounds::{at_most, position};
use crate::near::Near;

const MAX_ORIGINS: usize = 5_000;
const MAX_TARGETS: usize = 50_000;
const MAX_RESULTS: usize = 100_000;
/// Distances that are computed; targets far apart need few for each origin.
const MAX_GEODESICS: usize = 5_000_000;
/// Length of roads over that of the straight way (Boscoe et al. 2012: 1.4 in towns, less between them).
const DETOUR: f64 = 1.3;

/// Where one starts.
#[derive(Input)]
pub struct Origin {
    id: String,
    lat: f64,
    lon: f64,
}

/// Where one may go.
#[derive(Input)]
pub struct Target {
    id: String,
    lat: f64,
    lon: f64,
    #[expect(dead_code, reason = "agents bind lists of shelters as they are")]
    capacity: Option<f64>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    origins: Vec<Origin>,
    targets: Vec<Target>,
    k: usize,
    max_distance_m: Option<f64>,
    speed_km_h: f64,
}

/// A target of an origin.
#[derive(Output)]
pub struct Found {
    origin: String,
    target: String,
    rank: usize,
    distance_m: f64,
    azimuth_deg: f64,
    minutes: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    results: Vec<Found>,
    unserved: Vec<String>,
}

/// Finds the nearest targets of each origin. Distances are geodesic; minutes assume roads 1.3 times as long.
///
/// # Errors
/// A position out of range, a speed of 0, too large an input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    at_most(input.origins.len(), MAX_ORIGINS, "origins")?;
    at_most(input.targets.len(), MAX_TARGETS, "targets")?;
    at_most(input.origins.len().saturating_mul(input.k.min(input.targets.len())), MAX_RESULTS, "results")?;
    if input.speed_km_h <= 0.0 {
        return Err(Failure::invalid(&["speed"], "must be positive"));
    }
    cx.assume(format!("roads are {DETOUR} times as long as the geodesic"));
    let targets = input.targets.iter().enumerate();
    let targets = targets.map(|(index, target)| position(&["targets", &index.to_string()], target.lat, target.lon));
    let targets = targets.collect::<Result<Vec<_>, Failure>>()?;
    let near = Near::new(&targets);
    let (mut results, mut unserved) = (Vec::new(), Vec::new());
    for (index, origin) in input.origins.iter().enumerate() {
        let at = position(&["origins", &index.to_string()], origin.lat, origin.lon)?;
        let found = near.nearest(at, input.k, input.max_distance_m.unwrap_or(f64::INFINITY));
        if near.geodesics() > MAX_GEODESICS {
            return Err(Failure::too_large(format!(
                "more than {MAX_GEODESICS} distances would be computed, since many targets are equally near: thin them out, or \
                 give fewer origins"
            )));
        }
        if found.is_empty() {
            unserved.push(origin.id.clone());
        }
        for (rank, (target, leg)) in (1..).zip(found) {
            results.push(Found {
                origin: origin.id.clone(),
                target: input.targets.get(target).map(|target| target.id.clone()).unwrap_or_default(),
                rank,
                distance_m: leg.distance,
                azimuth_deg: leg.azimuth_start,
                minutes: leg.distance * DETOUR / (input.speed_km_h * 1_000.0 / 60.0),
            });
        }
    }
    Ok(Output { results, unserved })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Each origin has to be compared with each of them, however they are indexed.
    #[test]
    fn many_targets_in_one_place_are_refused() {
        let rows = |count: usize| -> Vec<Value> {
            (0..count).map(|id| json!({ "id": id.to_string(), "lat": 1.0, "lon": 2.0 })).collect()
        };
        let run = |origins: usize, targets: usize| {
            crate::FAMILY.run(15, json!({ "origins": rows(origins), "targets": rows(targets) }), &Context::default())
        };
        assert!(run(10, 100).is_ok());
        assert!(matches!(run(200, 30_000), Err(Failure::TooLarge { .. })));
    }
}
