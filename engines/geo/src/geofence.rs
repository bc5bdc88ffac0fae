//! q6: geofence membership and crossing events.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::{at_most, position};
use crate::planar::unwrapped;
use crate::shape::{Geometry, Position, latlon};

const MAX_ZONES: usize = 2_000;
const MAX_POSITIONS: usize = 20_000;
/// Positions times border edges.
const MAX_STEPS: usize = 100_000_000;
/// Edges whose distance is computed exactly, for each position.
const EXACT_EDGES: usize = 12;
const MAX_EVENTS: usize = 50_000;
/// Zones of all positions together that are listed.
const MAX_LISTED: usize = 1_000_000;

/// A zone.
#[derive(Input)]
pub struct ZoneInput {
    id: String,
    geometry: Value,
}

/// A position of something, at a time.
#[derive(Input)]
pub struct Fix {
    id: String,
    lat: f64,
    lon: f64,
    time: Option<Timestamp>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    zones: Vec<ZoneInput>,
    positions: Vec<Fix>,
    min_dwell_s: f64,
}

/// Where a position lies.
#[derive(Output)]
pub struct Membership {
    id: String,
    zones: Vec<String>,
    nearest_zone: String,
    border_distance_m: f64,
}

/// Kind of an event.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It came into the zone.
    Enter,
    /// It left the zone.
    Exit,
    /// It has been in the zone for the least time.
    Dwell,
}

/// An event of one track and zone.
#[derive(Output)]
pub struct Event {
    id: String,
    zone: String,
    kind: Kind,
    time: Timestamp,
    dwell_s: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    membership: Vec<Membership>,
    events: Vec<Event>,
}

/// A zone with its borders.
struct Zone {
    id: String,
    polygons: Vec<Vec<Vec<Position>>>,
}

/// An edge of a border: zone, ends, and their directions from the centre of the earth.
struct Edge {
    zone: usize,
    ends: [earth::LatLon; 2],
    chord: [[f64; 3]; 2],
}

/// Finds the zones of each position, the nearest border, and what happens between positions of one id that carry times.
///
/// # Errors
/// No zone, a zone that is no polygon, an id of zones that occurs twice, a position out of range, too large an input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let zones = zones(&input.zones)?;
    at_most(input.positions.len(), MAX_POSITIONS, "positions")?;
    let edges: Vec<Edge> = zones.iter().enumerate().flat_map(|(index, zone)| border(index, zone)).collect();
    if edges.len().saturating_mul(input.positions.len()) > MAX_STEPS {
        return Err(Failure::too_large(format!("positions times edges of zones may be at most {MAX_STEPS}")));
    }
    let mut membership = Vec::with_capacity(input.positions.len());
    let mut listed = 0_usize;
    for (index, fix) in input.positions.iter().enumerate() {
        let at = position(&["positions", &index.to_string()], fix.lat, fix.lon)?;
        let (nearest, distance) = nearest_border(&edges, at);
        let within: Vec<String> =
            zones.iter().filter(|zone| zone.contains([fix.lon, fix.lat])).map(|zone| zone.id.clone()).collect();
        listed = listed.saturating_add(within.len());
        if listed > MAX_LISTED {
            return Err(Failure::too_large(format!(
                "more than {MAX_LISTED} zones of positions would be listed: give fewer positions, or zones that overlap less"
            )));
        }
        membership.push(Membership {
            id: fix.id.clone(),
            zones: within,
            nearest_zone: zones.get(nearest).map(|zone| zone.id.clone()).unwrap_or_default(),
            border_distance_m: distance,
        });
    }
    let events = events(&zones, &input, cx)?;
    Ok(Output { membership, events })
}

fn zones(inputs: &[ZoneInput]) -> Result<Vec<Zone>, Failure> {
    at_most(inputs.len(), MAX_ZONES, "zones")?;
    if inputs.is_empty() {
        return Err(Failure::invalid(&["zones"], "is empty: a zone at least is needed"));
    }
    let mut zones: Vec<Zone> = Vec::with_capacity(inputs.len());
    for (index, zone) in inputs.iter().enumerate() {
        let index = index.to_string();
        if zones.iter().any(|other| other.id == zone.id) {
            return Err(Failure::invalid(&["zones", &index, "id"], "occurs twice"));
        }
        let polygons = Geometry::polygons_of_field(&["zones", &index, "geometry"], &zone.geometry)?;
        zones.push(Zone { id: zone.id.clone(), polygons });
    }
    Ok(zones)
}

impl Zone {
    /// Whether a position lies within; edges are straight in longitude and latitude.
    fn contains(&self, at: Position) -> bool {
        self.polygons.iter().any(|rings| rings.iter().filter(|ring| ring_contains(ring, at)).count() % 2 == 1)
    }

    fn rings(&self) -> impl Iterator<Item = &Vec<Position>> {
        self.polygons.iter().flatten()
    }
}

/// Even-odd rule, with edges that take the shorter way around the globe.
fn ring_contains(ring: &[Position], [lon, lat]: Position) -> bool {
    let mut inside = false;
    for ([x0, y0], [x1, y1]) in ring.iter().zip(ring.iter().skip(1)) {
        let near = earth::wrap_longitude(x0 - lon);
        let (x0, x1) = (near, near + shorter(x1 - x0));
        if (*y0 > lat) != (*y1 > lat) && x0 + (lat - y0) / (y1 - y0) * (x1 - x0) > 0.0 {
            inside = !inside;
        }
    }
    inside
}

/// A difference of longitudes the shorter way; half a turn keeps its sign.
fn shorter(difference: f64) -> f64 {
    if difference.abs() <= 180.0 { difference } else { earth::wrap_longitude(difference) }
}

fn border(zone: usize, of: &Zone) -> Vec<Edge> {
    let edges = of.rings().flat_map(|ring| ring.iter().zip(ring.iter().skip(1)));
    edges
        .map(|(from, to)| {
            let ends = [latlon(*from), latlon(*to)];
            Edge { zone, ends, chord: ends.map(earth::LatLon::unit_vector) }
        })
        .collect()
}

/// Returns the zone of the nearest border and its distance in metres.
fn nearest_border(edges: &[Edge], at: earth::LatLon) -> (usize, f64) {
    let from = at.unit_vector();
    // The few edges that are nearest on a sphere, nearest first.
    let mut near: Vec<(f64, usize)> = Vec::with_capacity(EXACT_EDGES + 1);
    for (index, edge) in edges.iter().enumerate() {
        let distance = chord_distance(from, edge.chord);
        if near.len() < EXACT_EDGES || near.last().is_some_and(|(last, _)| distance < *last) {
            let place = near.partition_point(|(other, _)| *other <= distance);
            near.insert(place, (distance, index));
            near.truncate(EXACT_EDGES);
        }
    }
    let exact = near.iter().filter_map(|(_, index)| edges.get(*index)).map(|edge| {
        let [start, end] = edge.ends;
        (edge.zone, earth::distance_to_segment(at, start, end))
    });
    exact.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default()
}

/// Squared distance to the direction of the nearest position of a chord.
fn chord_distance(from: [f64; 3], [a, b]: [[f64; 3]; 2]) -> f64 {
    let dot = |one: [f64; 3], other: [f64; 3]| one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
    let along = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    let to = [from[0] - a[0], from[1] - a[1], from[2] - a[2]];
    let length = dot(along, along);
    let t = if length > 0.0 { (dot(to, along) / length).clamp(0.0, 1.0) } else { 0.0 };
    let foot = [a[0] + t * along[0], a[1] + t * along[1], a[2] + t * along[2]];
    let norm = dot(foot, foot).sqrt();
    let away = [from[0] - foot[0] / norm, from[1] - foot[1] / norm, from[2] - foot[2] / norm];
    dot(away, away)
}

/// Events of all tracks, by time, then by id and zone in the order of the input.
fn events(zones: &[Zone], input: &Input, cx: &Context) -> Result<Vec<Event>, Failure> {
    let mut tracks: BTreeMap<&str, Vec<(Timestamp, Position)>> = BTreeMap::new();
    for fix in &input.positions {
        if let Some(time) = fix.time {
            tracks.entry(&fix.id).or_default().push((time, [fix.lon, fix.lat]));
        }
    }
    let mut events = Vec::new();
    for (id, fixes) in &mut tracks {
        fixes.sort_by_key(|(time, _)| *time);
        for zone in zones {
            events.extend(track_events(id, zone, fixes, input.min_dwell_s)?);
            if events.len() > MAX_EVENTS {
                return Err(Failure::too_large(format!(
                    "more than {MAX_EVENTS} events: give fewer positions or zones"
                )));
            }
        }
    }
    let untimed = input.positions.iter().filter(|fix| fix.time.is_none()).count();
    if untimed > 0 && !tracks.is_empty() {
        cx.warn(format!("untimed: {untimed} positions carry no time and cause no events"));
    }
    events.sort_by_key(|event| event.time);
    Ok(events)
}

/// Follows one track through one zone.
fn track_events(id: &str, zone: &Zone, fixes: &[(Timestamp, Position)], min_dwell: f64) -> Result<Vec<Event>, Failure> {
    // Changes of state, in order: time, whether inside from then on.
    let mut changes: Vec<(Timestamp, bool)> = Vec::new();
    let Some(&(start, first)) = fixes.first() else { return Ok(Vec::new()) };
    let mut inside = zone.contains(first);
    let begins_inside = inside;
    for ((from_time, from), (to_time, to)) in fixes.iter().zip(fixes.iter().skip(1)) {
        for (share, now) in transitions(zone, *from, *to) {
            if now != inside {
                let seconds = (to_time.duration_since(*from_time)).as_secs_f64() * share;
                let nanoseconds = (seconds * 1e9).round() as i64;
                let offset = jiff::SignedDuration::from_nanos(nanoseconds);
                let time = from_time.checked_add(offset).map_err(Failure::internal)?;
                changes.push((time, now));
                inside = now;
            }
        }
    }
    let end = fixes.last().map_or(start, |(time, _)| *time);
    let event =
        |kind, time: Timestamp, dwell| Event { id: id.to_owned(), zone: zone.id.clone(), kind, time, dwell_s: dwell };
    let mut events = Vec::new();
    let mut entered = begins_inside.then_some(start);
    let stay = |entered: Timestamp, left: Timestamp, events: &mut Vec<Event>| -> Result<f64, Failure> {
        let length = left.duration_since(entered).as_secs_f64();
        if min_dwell > 0.0 && length >= min_dwell {
            let offset = jiff::SignedDuration::from_nanos((min_dwell * 1e9).round() as i64);
            events.push(event(Kind::Dwell, entered.checked_add(offset).map_err(Failure::internal)?, length));
        }
        Ok(length)
    };
    for (time, now) in changes {
        match (now, entered) {
            (true, None) => {
                events.push(event(Kind::Enter, time, 0.0));
                entered = Some(time);
            }
            (false, Some(since)) => {
                let length = stay(since, time, &mut events)?;
                events.push(event(Kind::Exit, time, length));
                entered = None;
            }
            _ => {}
        }
    }
    if let Some(since) = entered {
        stay(since, end, &mut events)?;
    }
    Ok(events)
}

/// Returns the shares of the way at which the state may change, with the state after each.
fn transitions(zone: &Zone, from: Position, to: Position) -> Vec<(f64, bool)> {
    let [_, y0] = from;
    let (dx, dy) = (shorter(to[0] - from[0]), to[1] - y0);
    let mut shares = Vec::new();
    for ring in zone.rings() {
        let ring = unwrapped(ring);
        for ([ax, ay], [bx, by]) in ring.iter().zip(ring.iter().skip(1)) {
            let near = earth::wrap_longitude(ax - from[0]);
            let (ex, ey) = (bx - ax, by - ay);
            let cross = dx * ey - dy * ex;
            if cross == 0.0 {
                continue;
            }
            let t = (near * ey - (ay - y0) * ex) / cross;
            let u = (near * dy - (ay - y0) * dx) / cross;
            if (0.0..=1.0).contains(&t) && (0.0..=1.0).contains(&u) {
                shares.push(t);
            }
        }
    }
    shares.push(1.0);
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    let at = |share: f64| [earth::wrap_longitude(from[0] + dx * share), y0 + dy * share];
    let nexts = shares.iter().skip(1).copied().chain([1.0]);
    let mut found = vec![(0.0, zone.contains(at(shares.first().copied().unwrap_or(1.0) / 2.0)))];
    found.extend(shares.iter().zip(nexts).map(|(share, next)| {
        let state = if *share >= 1.0 { zone.contains(to) } else { zone.contains(at(f64::midpoint(*share, next))) };
        (*share, state)
    }));
    found
}
