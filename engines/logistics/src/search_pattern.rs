//! q75: search pattern waypoints.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;
use serde_json::json;

use crate::bounds::positive;

/// Legs of a sector search: three triangles.
const SECTOR_LEGS: usize = 9;
const MAX_LEGS: usize = 2_000;
/// Largest extent of a pattern.
const MAX_EXTENT_M: f64 = 1e6;

/// A pattern.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
#[wire(case = "kebab")]
pub enum Pattern {
    /// Squares around the datum, growing.
    ExpandingSquare,
    /// Triangles through the datum.
    Sector,
    /// Long legs along the heading.
    ParallelTrack,
    /// Short legs across the heading.
    CreepingLine,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    pattern: Pattern,
    datum: LatLon,
    heading_deg: f64,
    track_spacing_m: f64,
    length_m: Option<f64>,
    width_m: Option<f64>,
    legs: usize,
    radius_m: Option<f64>,
    speed_km_h: f64,
}

/// A leg.
#[derive(Output)]
pub struct Leg {
    course_deg: f64,
    length_m: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    waypoints: Vec<LatLon>,
    legs: Vec<Leg>,
    total_length_m: f64,
    minutes: f64,
    geojson: Value,
}

/// Computes the waypoints of a pattern. Squares and sectors begin at the datum; the datum of sweeps is the corner of the
/// area at which the search begins, and the first waypoint lies half a spacing within. Legs are geodesics.
///
/// # Errors
/// A missing or too large size, a speed of 0, a sector search without radius.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    positive(&["speed"], input.speed_km_h)?;
    let datum = earth::LatLon::new(input.datum.lat, input.datum.lon);
    let (start, plan) = match input.pattern {
        Pattern::ExpandingSquare => (datum, square(&input)),
        Pattern::Sector => (datum, sector(&input)?),
        Pattern::ParallelTrack | Pattern::CreepingLine => sweeps(&input, datum)?,
    };
    let extent: f64 = plan.iter().map(|(_, length)| length).fold(0.0, |most: f64, length| most.max(*length));
    if extent > MAX_EXTENT_M {
        return Err(Failure::too_large(format!("a leg of {extent} m is longer than {MAX_EXTENT_M} m")));
    }
    let mut at = start;
    let mut waypoints = vec![at];
    for (course, length) in &plan {
        (at, _) = earth::direct(at, *course, *length);
        waypoints.push(at);
    }
    let total: f64 = plan.iter().map(|(_, length)| length).sum();
    let line: Vec<[f64; 2]> = waypoints.iter().map(|at| [at.lon, at.lat]).collect();
    let points = waypoints.iter().enumerate().map(|(index, at)| {
        json!({ "type": "Feature", "geometry": { "type": "Point", "coordinates": [at.lon, at.lat] }, "properties": { "waypoint": index } })
    });
    let track = json!({ "type": "Feature", "geometry": { "type": "LineString", "coordinates": line }, "properties": { "length": total } });
    let features: Vec<Value> = std::iter::once(track).chain(points).collect();
    Ok(Output {
        legs: plan.into_iter().map(|(course, length)| Leg { course_deg: course, length_m: length }).collect(),
        waypoints: waypoints.into_iter().map(|at| LatLon { lat: at.lat, lon: at.lon }).collect(),
        total_length_m: total,
        minutes: total / (input.speed_km_h * 1_000.0 / 60.0),
        geojson: json!({ "type": "FeatureCollection", "features": features }),
    })
}

/// Courses and lengths of legs.
type Plan = Vec<(f64, f64)>;

fn turned(heading: f64, by: f64) -> f64 {
    (heading + by).rem_euclid(360.0)
}

/// Legs of one, one, two, two, … spacings, each 90 degrees to the right of the one before.
fn square(input: &Input) -> Plan {
    (0..input.legs)
        .map(|leg| (turned(input.heading_deg, 90.0 * leg as f64), input.track_spacing_m * (leg / 2 + 1) as f64))
        .collect()
}

/// Nine legs of the radius: three triangles with 120 degrees to the right at each corner; legs three and four, and six and
/// seven, run straight on through the datum.
fn sector(input: &Input) -> Result<Plan, Failure> {
    let radius = input.radius_m.unwrap_or(0.0);
    positive(&["radius"], radius)?;
    let turns = [0.0, 120.0, 240.0, 240.0, 0.0, 120.0, 120.0, 240.0, 0.0];
    Ok(turns.into_iter().take(SECTOR_LEGS).map(|turn| (turned(input.heading_deg, turn), radius)).collect())
}

fn sweeps(input: &Input, corner: earth::LatLon) -> Result<(earth::LatLon, Plan), Failure> {
    let (length, width) = (input.length_m.unwrap_or(0.0), input.width_m.unwrap_or(0.0));
    positive(&["length"], length)?;
    positive(&["width"], width)?;
    let spacing = input.track_spacing_m;
    // Long legs run along the heading; those of a creeping line across it, while it advances along it.
    let along = input.pattern == Pattern::ParallelTrack;
    let (leg, advance) = if along { (length, width) } else { (width, length) };
    let count = (advance / spacing).ceil();
    if count > MAX_LEGS as f64 {
        return Err(Failure::too_large(format!("{count} sweeps are more than {MAX_LEGS}: the spacing is too small")));
    }
    if leg <= spacing {
        let name = if along { "length" } else { "width" };
        return Err(Failure::invalid(&[name], "must be more than the track spacing"));
    }
    let (ahead, right) = (input.heading_deg, turned(input.heading_deg, 90.0));
    let (course, side) = if along { (ahead, right) } else { (right, ahead) };
    let (start, _) = earth::direct(corner, course, spacing / 2.0);
    let (start, _) = earth::direct(start, side, spacing / 2.0);
    let mut plan = Plan::new();
    for sweep in 0..count as usize {
        let back = if sweep.is_multiple_of(2) { 0.0 } else { 180.0 };
        plan.push((turned(course, back), leg - spacing));
        if sweep + 1 < count as usize {
            plan.push((side, spacing));
        }
    }
    Ok((start, plan))
}
