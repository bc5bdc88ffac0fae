//! q38: blast of an explosion on the ground.

use std::sync::LazyLock;

use muster_engine::prelude::*;
use muster_kernel_earth as earth;
use serde_json::json;

use crate::roots::bisect;
use crate::table::{number, rows};

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    mass_kg: f64,
    tnt_equivalence: f64,
    distances_m: Vec<f64>,
    burst: Burst,
    source: Option<LatLon>,
}

/// Where the charge explodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Burst {
    Hemispherical,
    Spherical,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    points: Vec<Point>,
    rings: Vec<Ring>,
    fireball: Fireball,
    geometry: Option<Value>,
}

/// The blast at a distance.
#[derive(Debug, Clone, Output)]
pub struct Point {
    distance_m: f64,
    overpressure_kpa: f64,
    arrival_ms: f64,
}

/// Radius within which an effect is expected.
#[derive(Debug, Clone, Output)]
pub struct Ring {
    effect: &'static str,
    overpressure_kpa: f64,
    radius_m: f64,
}

/// Fireball of a vessel with as much fuel.
#[derive(Debug, Clone, Output)]
pub struct Fireball {
    diameter_m: f64,
    duration_s: f64,
}

/// A polynomial in the logarithm of the scaled distance, up to a scaled distance in m/kg^(1/3).
struct Piece {
    quantity: &'static str,
    upto: f64,
    coefficients: Vec<f64>,
}

static PIECES: LazyLock<Vec<Piece>> = LazyLock::new(|| {
    let piece = |row: Vec<&'static str>| Piece {
        quantity: row.first().copied().unwrap_or_default(),
        upto: number(&row, 2),
        coefficients: (3..9).map(|at| number(&row, at)).collect(),
    };
    rows(include_str!("../data/airblast.csv")).map(piece).collect()
});

/// Scaled distances for which the pressure was fitted.
const PRESSURE: (f64, f64) = (0.2, 198.5);
/// Scaled distance up to which the arrival was fitted; beyond, the wave travels with the speed of sound.
const ARRIVAL: f64 = 40.0;
const SOUND: f64 = 340.29;
/// A charge on the ground acts like this many times its mass in free air.
const REFLECTION: f64 = 1.8;
/// Overpressure in kPa (1 psi = 6.895 kPa) and its effect.
const EFFECTS: [(f64, &str); 7] = [
    (68.95, "10 psi: probable total destruction of buildings"),
    (34.47, "5 psi: nearly complete destruction of houses; eardrums rupture"),
    (20.68, "3 psi: steel-frame buildings distorted, serious injuries"),
    (13.79, "2 psi: partial collapse of walls and roofs of houses"),
    (6.895, "1 psi: partial demolition of houses, made uninhabitable; skin cut by glass"),
    (3.447, "0.5 psi: windows shattered, some frames damaged"),
    (1.034, "0.15 psi: typical pressure of glass breakage"),
];
const MAX_MASS: f64 = 1e9;
const MAX_DISTANCES: usize = 1_000;
const CORNERS: usize = 72;

fn polynomial(quantity: &str, z: f64) -> f64 {
    let of_it = || PIECES.iter().filter(|piece| piece.quantity == quantity);
    let Some(piece) = of_it().find(|piece| z <= piece.upto).or_else(|| of_it().next_back()) else { return f64::NAN };
    let x = z.ln();
    piece.coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient).exp()
}

/// Overpressure in kPa at a scaled distance.
fn overpressure(z: f64) -> f64 {
    polynomial("pressure", z)
}

/// Arrival in ms for one kilogram.
fn arrival(z: f64) -> f64 {
    if z <= ARRIVAL {
        polynomial("arrival", z)
    } else {
        polynomial("arrival", ARRIVAL) + (z - ARRIVAL) / SOUND * 1000.0
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let charge = input.mass_kg * input.tnt_equivalence;
    if !(charge > 0.0 && charge <= MAX_MASS && input.mass_kg <= MAX_MASS) {
        return Err(Failure::invalid(
            &["mass"],
            format!("with tnt_equivalence it must be above 0, at most {MAX_MASS} kg"),
        ));
    }
    if input.distances_m.len() > MAX_DISTANCES {
        return Err(Failure::too_large(format!("at most {MAX_DISTANCES} distances")));
    }
    if let Some(at) = input.distances_m.iter().position(|distance| !(*distance > 0.0 && *distance <= 1e7)) {
        return Err(Failure::invalid(&["distances", &at.to_string()], "must be above 0, at most 10000000 m"));
    }
    let charge = match input.burst {
        Burst::Hemispherical => charge,
        Burst::Spherical => {
            cx.assume(format!("in free air the charge acts like {REFLECTION} times less of it on the ground"));
            charge / REFLECTION
        }
    };
    let scale = charge.cbrt();
    let mut points = Vec::new();
    for distance in &input.distances_m {
        let z = distance / scale;
        if !(PRESSURE.0..=PRESSURE.1).contains(&z) {
            cx.warn(format!(
                "outside: {distance} m is {z:.3} m/kg^(1/3), and the curves stand for 0.2 to 198.5; left out"
            ));
            continue;
        }
        if z > ARRIVAL {
            cx.warn(format!(
                "extrapolated: beyond 40 m/kg^(1/3) the wave is taken at the speed of sound ({distance} m)"
            ));
        }
        points.push(Point { distance_m: *distance, overpressure_kpa: overpressure(z), arrival_ms: arrival(z) * scale });
    }
    cx.warn("unreviewed: the effects of the rings are from one source");
    let rings: Vec<Ring> = EFFECTS.iter().map(|(pressure, effect)| ring(*pressure, effect, scale)).collect();
    let geometry = input.source.map(|source| circles(source, &rings));
    Ok(Output { points, fireball: fireball(input.mass_kg), geometry, rings })
}

fn ring(pressure: f64, effect: &'static str, scale: f64) -> Ring {
    let z = bisect(PRESSURE.0, PRESSURE.1, |z| overpressure(z) - pressure);
    Ring { effect, overpressure_kpa: pressure, radius_m: z * scale }
}

/// Diameter and duration by the mass of fuel (CCPS 1999).
fn fireball(mass: f64) -> Fireball {
    let duration = if mass < 30_000.0 { 0.45 * mass.cbrt() } else { 2.6 * mass.powf(1.0 / 6.0) };
    Fireball { diameter_m: 5.8 * mass.cbrt(), duration_s: duration }
}

fn circles(source: LatLon, rings: &[Ring]) -> Value {
    let centre = earth::LatLon::new(source.lat, source.lon);
    let feature = |ring: &Ring| {
        let corner = |at: usize| {
            // Counter-clockwise, and the last corner is the first.
            let azimuth = 360.0 - 360.0 * (at % CORNERS) as f64 / CORNERS as f64;
            let (at, _) = earth::direct(centre, azimuth, ring.radius_m);
            json!([at.lon, at.lat])
        };
        let corners: Vec<Value> = (0..=CORNERS).map(corner).collect();
        json!({
            "type": "Feature",
            "geometry": { "type": "Polygon", "coordinates": [corners] },
            "properties": { "effect": ring.effect, "overpressure_kpa": ring.overpressure_kpa, "radius_m": ring.radius_m },
        })
    };
    json!({ "type": "FeatureCollection", "features": rings.iter().map(feature).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_falls_and_arrival_rises_with_distance() {
        assert!(PIECES.iter().all(|piece| piece.coefficients.iter().all(|value| value.is_finite())));
        let steps: Vec<f64> = (0..2000).map(|step| 0.2 * (990.0_f64).powf(f64::from(step) / 2000.0)).collect();
        for pair in steps.windows(2) {
            // Where two pieces meet, at 23.8, the published curves step up by less than one percent.
            assert!(overpressure(pair[1]) < 1.01 * overpressure(pair[0]), "{pair:?}");
            assert!(arrival(pair[1]) > arrival(pair[0]), "{pair:?}");
        }
    }

    #[test]
    fn the_pieces_meet() {
        for (quantity, at) in [("pressure", 2.9), ("pressure", 23.8), ("arrival", 1.5)] {
            let (before, after) = (polynomial(quantity, at), polynomial(quantity, at * (1.0 + 1e-9)));
            assert!((before / after - 1.0).abs() < 0.01, "{quantity} {at}: {before} {after}");
        }
    }

    #[test]
    fn a_ring_has_its_pressure() {
        for (pressure, effect) in EFFECTS {
            let ring = ring(pressure, effect, 10.0);
            assert!((overpressure(ring.radius_m / 10.0) - pressure).abs() < 1e-6);
        }
    }
}
