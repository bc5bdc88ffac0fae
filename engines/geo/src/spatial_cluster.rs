//! q14: spatial clustering of reports.

use std::collections::VecDeque;

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::{at_most, position, to_wire};
use crate::near::Near;
use crate::shape::{Geometry, Position, lonlat};

const MAX_POINTS: usize = 5_000;
/// Largest radius in metres, a quarter of the way around the earth.
const MAX_RADIUS_M: f64 = 1e7;

/// A report.
#[derive(Input)]
pub struct Point {
    id: String,
    lat: f64,
    lon: f64,
    weight: Option<f64>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    points: Vec<Point>,
    radius_m: f64,
    min_points: usize,
}

/// A cluster.
#[derive(Output)]
pub struct Cluster {
    id: usize,
    members: Vec<String>,
    centre: LatLon,
    radius_m: f64,
    hull: Value,
    weight: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    clusters: Vec<Cluster>,
    noise: Vec<String>,
}

/// Clusters by density (DBSCAN): a point with `min_points` points within the radius, itself among them, is a core; what
/// cores reach is a cluster. Clusters are numbered by their first cores, and a point between two joins the first.
///
/// # Errors
/// A position out of range, a negative weight, too many points, too large a radius.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    at_most(input.points.len(), MAX_POINTS, "points")?;
    if input.radius_m > MAX_RADIUS_M {
        return Err(Failure::invalid(&["radius"], format!("must be at most {MAX_RADIUS_M} m")));
    }
    let mut positions = Vec::with_capacity(input.points.len());
    for (index, point) in input.points.iter().enumerate() {
        let index = index.to_string();
        positions.push(position(&["points", &index], point.lat, point.lon)?);
        if point.weight.is_some_and(|weight| weight < 0.0) {
            return Err(Failure::invalid(&["points", &index, "weight"], "must not be negative"));
        }
    }
    let labels = dbscan(&positions, input.radius_m, input.min_points);
    let count = labels.iter().flatten().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut noise = Vec::new();
    for ((index, label), point) in labels.iter().enumerate().zip(&input.points) {
        match label.and_then(|label| members.get_mut(label)) {
            Some(list) => list.push(index),
            None => noise.push(point.id.clone()),
        }
    }
    let clusters =
        members.into_iter().enumerate().map(|(id, members)| cluster(id, &members, &positions, &input.points));
    Ok(Output { clusters: clusters.collect(), noise })
}

/// Returns the cluster of each position; `None` for noise.
fn dbscan(positions: &[earth::LatLon], radius: f64, least: usize) -> Vec<Option<usize>> {
    let near = Near::new(positions);
    let mut labels: Vec<Option<usize>> = vec![None; positions.len()];
    let mut visited = vec![false; positions.len()];
    let mut count = 0;
    for start in 0..positions.len() {
        let mut queue = VecDeque::from([start]);
        let mut opened = false;
        while let Some(index) = queue.pop_front() {
            let (Some(at), Some(seen)) = (positions.get(index), visited.get_mut(index)) else { continue };
            if *seen {
                continue;
            }
            // A start that is no core stays open to a later cluster.
            let neighbours = near.within(*at, radius);
            if neighbours.len() < least {
                if opened {
                    *seen = true;
                }
                continue;
            }
            *seen = true;
            opened = true;
            for neighbour in neighbours {
                if let Some(label) = labels.get_mut(neighbour)
                    && label.is_none()
                {
                    *label = Some(count);
                    queue.push_back(neighbour);
                }
            }
        }
        count += usize::from(opened);
    }
    labels
}

fn cluster(id: usize, members: &[usize], positions: &[earth::LatLon], points: &[Point]) -> Cluster {
    let members: Vec<(earth::LatLon, &Point)> =
        members.iter().filter_map(|index| Some((*positions.get(*index)?, points.get(*index)?))).collect();
    let weight = |point: &Point| point.weight.unwrap_or(1.0);
    let total: f64 = members.iter().map(|(_, point)| weight(point)).sum();
    let mut mean = [0.0; 3];
    for (at, point) in &members {
        // Without any weight all count the same.
        let share = if total > 0.0 { weight(point) } else { 1.0 };
        for (sum, part) in mean.iter_mut().zip(at.unit_vector()) {
            *sum += share * part;
        }
    }
    let centre =
        earth::LatLon::new(mean[2].atan2(mean[0].hypot(mean[1])).to_degrees(), mean[1].atan2(mean[0]).to_degrees());
    let radius = members.iter().map(|(at, _)| earth::inverse(centre, *at).distance).fold(0.0, f64::max);
    Cluster {
        id,
        members: members.iter().map(|(_, point)| point.id.clone()).collect(),
        centre: to_wire(centre),
        radius_m: radius,
        hull: hull(centre, members.iter().map(|(at, _)| *at)).to_json(),
        weight: total,
    }
}

/// Convex hull in the equidistant plane around the centre: a polygon, or a line or point if there is no area.
fn hull(centre: earth::LatLon, members: impl Iterator<Item = earth::LatLon>) -> Geometry {
    let plane = earth::Equidistant::new(centre);
    let mut points: Vec<([f64; 2], Position)> = members.map(|at| (plane.project(at), lonlat(at))).collect();
    points.sort_by(|(one, _), (other, _)| one[0].total_cmp(&other[0]).then(one[1].total_cmp(&other[1])));
    points.dedup_by(|(_, one), (_, other)| one == other);
    // Andrew's monotone chain: below from left to right, above back.
    let half = |points: &mut dyn Iterator<Item = &([f64; 2], Position)>| {
        let mut chain: Vec<([f64; 2], Position)> = Vec::new();
        for point in points {
            while let [.., (a, _), (b, _)] = chain.as_slice()
                && (b[0] - a[0]) * (point.0[1] - a[1]) - (b[1] - a[1]) * (point.0[0] - a[0]) <= 0.0
            {
                chain.pop();
            }
            chain.push(*point);
        }
        chain.pop();
        chain
    };
    let mut ring: Vec<Position> = half(&mut points.iter()).into_iter().map(|(_, at)| at).collect();
    ring.extend(half(&mut points.iter().rev()).into_iter().map(|(_, at)| at));
    match (ring.as_slice(), points.first()) {
        ([], Some((_, at))) => Geometry::Point(*at),
        ([one, other], _) => Geometry::LineString(vec![*one, *other]),
        ([first, ..], _) => {
            let first = *first;
            ring.push(first);
            Geometry::Polygon(vec![ring])
        }
        ([], None) => Geometry::MultiPoint(Vec::new()),
    }
}
