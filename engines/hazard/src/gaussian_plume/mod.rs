//! q37: plume of a steady release.

mod sigma;

use std::f64::consts::PI;

use muster_engine::prelude::*;
use muster_kernel_earth as earth;
use serde_json::json;

use crate::roots::bisect;
use sigma::{Solar, Stability, Terrain, sigmas, stability};

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    rate_g_s: f64,
    height_m: f64,
    wind_speed_m_s: f64,
    wind_from_deg: f64,
    stability: Option<Stability>,
    solar: Option<Solar>,
    terrain: Terrain,
    source: LatLon,
    thresholds_ug_m3: Vec<f64>,
    mixing_height_m: Option<f64>,
}

/// Output of the engine. The footprint is where the lowest threshold is reached on the ground.
#[derive(Debug, Output)]
pub struct Output {
    stability: String,
    max_concentration_ug_m3: f64,
    distance_of_max_m: f64,
    threshold_distances: Vec<ThresholdDistance>,
    footprint: Option<Value>,
    centreline: Vec<Concentration>,
}

/// Greatest distance at which a threshold is reached; 0 if it is nowhere.
#[derive(Debug, Clone, Output)]
pub struct ThresholdDistance {
    threshold_ug_m3: f64,
    distance_m: f64,
}

/// Concentration on the ground under the axis of the plume.
#[derive(Debug, Clone, Output)]
pub struct Concentration {
    distance_m: f64,
    concentration_ug_m3: f64,
}

/// Distances in m that are computed; Briggs' curves stand for 100 m to 10 km.
const NEAR: f64 = 10.0;
const FAR: f64 = 100_000.0;
const CURVES: std::ops::RangeInclusive<f64> = 100.0..=10_000.0;
const STEPS: usize = 400;
const CENTRELINE: [f64; 9] = [100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0, 50_000.0];
const MAX_THRESHOLDS: usize = 50;
/// Distances at which the edge of the footprint is drawn.
const EDGE: usize = 40;
/// Reflections between the ground and the top of the mixed layer.
const REFLECTIONS: i32 = 20;

/// A plume in SI units.
struct Plume {
    rate: f64,
    height: f64,
    wind: f64,
    mixing: Option<f64>,
    stability: Stability,
    terrain: Terrain,
}

impl Plume {
    /// Concentration in µg/m³ on the ground under the axis.
    fn concentration(&self, x: f64) -> f64 {
        let (across, up) = sigmas(self.stability, self.terrain, x);
        let term = |height: f64| (-height * height / (2.0 * up * up)).exp();
        let vertical = match self.mixing {
            // Well mixed: the sum over reflections is that of an even column.
            Some(mixing) if up > 1.6 * mixing => (2.0 * PI).sqrt() * up / (2.0 * mixing),
            Some(mixing) => (-REFLECTIONS..=REFLECTIONS).map(|n| term(self.height + 2.0 * f64::from(n) * mixing)).sum(),
            None => term(self.height),
        };
        self.rate * 1e6 / (PI * self.wind * across * up) * vertical
    }

    /// Half the width in m of the area with a concentration.
    fn half_width(&self, x: f64, threshold: f64) -> f64 {
        let (across, _) = sigmas(self.stability, self.terrain, x);
        across * (2.0 * (self.concentration(x) / threshold).max(1.0).ln()).sqrt()
    }

    /// Distance and value of the greatest concentration.
    fn greatest(&self) -> (f64, f64) {
        let best =
            (0..=STEPS).map(distance).max_by(|one, two| self.concentration(*one).total_cmp(&self.concentration(*two)));
        let best = best.unwrap_or(NEAR);
        let step = (FAR / NEAR).powf(1.0 / STEPS as f64);
        let (mut low, mut high) = ((best / step).max(NEAR), (best * step).min(FAR));
        // Golden section; the concentration has one maximum along the axis.
        let golden = (5_f64.sqrt() - 1.0) / 2.0;
        for _ in 0..100 {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            if self.concentration(left) >= self.concentration(right) {
                high = right;
            } else {
                low = left;
            }
        }
        let middle = (low + high) / 2.0;
        if self.concentration(middle) >= self.concentration(best) {
            (middle, self.concentration(middle))
        } else {
            (best, self.concentration(best))
        }
    }

    /// Distances between which a threshold is reached, around that of the greatest concentration.
    fn reach(&self, threshold: f64, peak: (f64, f64)) -> Option<(f64, f64)> {
        if peak.1 < threshold {
            return None;
        }
        let over = |x: f64| self.concentration(x) - threshold;
        let first = if over(NEAR) >= 0.0 { NEAR } else { bisect(NEAR, peak.0, over) };
        let last = if over(FAR) >= 0.0 { FAR } else { bisect(peak.0, FAR, over) };
        Some((first, last))
    }
}

/// A distance of those that are tried, spaced evenly in its logarithm.
fn distance(step: usize) -> f64 {
    NEAR * (FAR / NEAR).powf(step as f64 / STEPS as f64)
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let stability = match (input.stability, input.solar) {
        (Some(stability), _) => stability,
        (None, Some(solar)) => stability(input.wind_speed_m_s, solar),
        (None, None) => {
            cx.warn("assumed: neither stability nor solar is given, so the air is taken as neutral (D)");
            Stability::D
        }
    };
    let plume = Plume {
        rate: input.rate_g_s,
        height: input.height_m,
        wind: input.wind_speed_m_s,
        mixing: input.mixing_height_m,
        stability,
        terrain: input.terrain,
    };
    let peak = plume.greatest();
    cx.assume("steady release and wind, level ground that reflects, no deposition, no reaction, no plume rise");
    if !CURVES.contains(&peak.0) {
        cx.warn("extrapolated: the greatest concentration lies outside of 100 m to 10 km, for which the spread was measured");
    }
    let distance_of = |threshold: &f64| {
        let reach = plume.reach(*threshold, peak);
        if reach.is_some_and(|(_, last)| last >= FAR) {
            cx.warn(format!("extrapolated: {threshold} µg/m³ is reached beyond {FAR} m"));
        }
        ThresholdDistance { threshold_ug_m3: *threshold, distance_m: reach.map_or(0.0, |(_, last)| last) }
    };
    let lowest = input.thresholds_ug_m3.iter().copied().reduce(f64::min);
    let footprint = lowest.and_then(|threshold| Some((threshold, plume.reach(threshold, peak)?)));
    let at = |distance: f64| Concentration { distance_m: distance, concentration_ug_m3: plume.concentration(distance) };
    Ok(Output {
        stability: muster_engine::wire::Words::word(&stability).to_owned(),
        max_concentration_ug_m3: peak.1,
        distance_of_max_m: peak.0,
        threshold_distances: input.thresholds_ug_m3.iter().map(distance_of).collect(),
        footprint: footprint.map(|(threshold, reach)| outline(&plume, threshold, reach, &input)),
        centreline: CENTRELINE.into_iter().map(at).collect(),
    })
}

fn check(input: &Input) -> Result<(), Failure> {
    for (name, value, least, most) in [
        ("rate", Some(input.rate_g_s), 0.0, 1e9),
        ("height", Some(input.height_m), 0.0, 1000.0),
        ("wind_speed", Some(input.wind_speed_m_s), 0.5, 100.0),
        ("mixing_height", input.mixing_height_m, 10.0, 10_000.0),
    ] {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            return Err(Failure::invalid(&[name], format!("must be from {least} to {most}")));
        }
    }
    if input.mixing_height_m.is_some_and(|mixing| mixing < input.height_m) {
        return Err(Failure::invalid(&["mixing_height"], "must be at least height: above it nothing comes down"));
    }
    if input.thresholds_ug_m3.len() > MAX_THRESHOLDS {
        return Err(Failure::too_large(format!("at most {MAX_THRESHOLDS} thresholds")));
    }
    if let Some(at) = input.thresholds_ug_m3.iter().position(|threshold| !(*threshold > 0.0 && *threshold <= 1e15)) {
        return Err(Failure::invalid(&["thresholds", &at.to_string()], "must be above 0, at most 1e15"));
    }
    Ok(())
}

/// Polygon of the area in which a threshold is reached, counter-clockwise.
fn outline(plume: &Plume, threshold: f64, (first, last): (f64, f64), input: &Input) -> Value {
    let source = earth::LatLon::new(input.source.lat, input.source.lon);
    let downwind = (input.wind_from_deg + 180.0).rem_euclid(360.0);
    let mut left = Vec::with_capacity(EDGE + 1);
    let mut right = Vec::with_capacity(EDGE + 1);
    for step in 0..=EDGE {
        let x = first * (last / first).powf(step as f64 / EDGE as f64);
        let (axis, azimuth) = earth::direct(source, downwind, x);
        let width = plume.half_width(x, threshold);
        left.push(earth::direct(axis, azimuth - 90.0, width).0);
        right.push(earth::direct(axis, azimuth + 90.0, width).0);
    }
    left.reverse();
    let ring: Vec<Value> = right.iter().chain(&left).chain(right.first()).map(|at| json!([at.lon, at.lat])).collect();
    json!({ "type": "Polygon", "coordinates": [ring] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plume(height: f64) -> Plume {
        Plume { rate: 100.0, height, wind: 4.0, mixing: None, stability: Stability::D, terrain: Terrain::Rural }
    }

    #[test]
    fn twice_the_release_is_twice_the_concentration() {
        let double = Plume { rate: 200.0, ..plume(50.0) };
        assert!((double.concentration(700.0) / plume(50.0).concentration(700.0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_reach_of_a_threshold_has_its_concentration() {
        let plume = plume(50.0);
        let peak = plume.greatest();
        let (first, last) = plume.reach(500.0, peak).unwrap();
        assert!(first < peak.0 && peak.0 < last);
        for x in [first, last] {
            assert!((plume.concentration(x) - 500.0).abs() < 1e-6);
            assert!(plume.half_width(x, 500.0) < 0.1);
        }
        assert_eq!(plume.reach(peak.1 * 1.01, peak), None);
    }

    #[test]
    fn reflections_pass_into_an_even_column() {
        let plume = Plume { mixing: Some(200.0), ..plume(50.0) };
        let x = bisect(1000.0, FAR, |x| sigmas(Stability::D, Terrain::Rural, x).1 - 320.0);
        let (before, after) = (plume.concentration(x * 0.999), plume.concentration(x * 1.001));
        assert!((before / after - 1.0).abs() < 5e-3, "{before} {after}");
    }
}
