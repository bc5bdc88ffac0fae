//! q5: distance buffer and evacuation ring.

use geo::algorithm::buffer::{BufferStyle, LineCap, LineJoin};
use geo::{Buffer, Coord, GeometryCollection, LineString, MultiPolygon, Orient, Point, Polygon, orient::Direction};
use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::at_most;
use crate::planar::of_geo;
use crate::shape::{Geometry, Position, latlon, lonlat, measure, middle};

const MAX_DISTANCES: usize = 50;
/// Positions of geometries that are not a single point.
const MAX_POSITIONS: usize = 5_000;
/// Largest radius around a point.
const MAX_CIRCLE_M: f64 = 9_000_000.0;
/// Largest reach from the centre of the plane, where its scale is off by 1.2 percent.
const MAX_PLANE_M: f64 = 1_700_000.0;
const PLANE_WARNING_M: f64 = 500_000.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    geometry: Value,
    distances_m: Vec<f64>,
    segments: usize,
}

/// The buffer at one distance.
#[derive(Output)]
pub struct Ring {
    distance_m: f64,
    geometry: Value,
    area_m2: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    rings: Vec<Ring>,
}

/// Buffers a geometry at each distance: a point by a polygon of geodesic radii, anything else in the equidistant plane
/// around its middle.
///
/// # Errors
/// A distance of 0 or one that is too large, too large a geometry.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let shape = Geometry::of_field(&["geometry"], &input.geometry)?;
    at_most(input.distances_m.len(), MAX_DISTANCES, "distances")?;
    let positions = shape.positions();
    at_most(positions.len(), MAX_POSITIONS, "positions")?;
    let centre = middle(&positions);
    let extent =
        positions.iter().map(|position| earth::inverse(centre, latlon(*position)).distance).fold(0.0, f64::max);
    let point = match &shape {
        Geometry::Point(position) => Some(latlon(*position)),
        _ => None,
    };
    let mut rings = Vec::with_capacity(input.distances_m.len());
    for (index, &distance) in input.distances_m.iter().enumerate() {
        let most = if point.is_some() { MAX_CIRCLE_M } else { MAX_PLANE_M - extent };
        if distance <= 0.0 || distance > most {
            let message = if most > 0.0 {
                format!("must be above 0 and, for this geometry, at most {most:.0} m")
            } else {
                format!("cannot be met: the geometry reaches {extent:.0} m from its middle, more than {MAX_PLANE_M} m")
            };
            return Err(Failure::invalid(&["distances", &index.to_string()], message));
        }
        if point.is_none() && extent + distance > PLANE_WARNING_M {
            cx.warn(format!(
                "distorted: the plane of this buffer reaches {:.0} km; distances across are off by up to {:.2} %",
                (extent + distance) / 1e3,
                distortion(extent + distance)
            ));
        }
        rings.push(match point {
            Some(point) => circle(point, distance, input.segments),
            None => buffer(&shape, centre, distance, input.segments),
        });
    }
    Ok(Output { rings })
}

/// Percent by which lengths across the radius are too long at a distance from the centre.
fn distortion(distance: f64) -> f64 {
    let angle = distance / earth::EQUATORIAL_RADIUS_M;
    (angle / angle.sin() - 1.0) * 100.0
}

fn circle(centre: earth::LatLon, distance: f64, segments: usize) -> Ring {
    let step = 360.0 / segments as f64;
    // Counter-clockwise.
    let vertices: Vec<earth::LatLon> =
        (0..segments).map(|n| earth::direct(centre, -step * n as f64, distance).0).collect();
    let measured = earth::ring_measure(&vertices).area;
    let area = if measured < 0.0 { earth::AREA_M2 + measured } else { measured };
    let mut ring: Vec<Coord> = Vec::with_capacity(segments + 4);
    for vertex in vertices.iter().chain(vertices.first()) {
        let last = ring.last().map_or(centre.lon, |last| last.x);
        ring.push(Coord { x: last + earth::wrap_longitude(vertex.lon - last), y: vertex.lat });
    }
    if let (Some(first), Some(last)) = (ring.first().copied(), ring.last().copied())
        && (last.x - first.x).abs() > 180.0
    {
        // The pole is inside: in the plane of longitudes the ring goes along it.
        let pole = if centre.lat >= 0.0 { 90.0 } else { -90.0 };
        ring.extend([Coord { x: last.x, y: pole }, Coord { x: first.x, y: pole }]);
    }
    let polygons = of_geo(MultiPolygon(vec![Polygon::new(LineString(ring), Vec::new())]));
    Ring { distance_m: distance, geometry: Geometry::of_polygons(polygons).to_json(), area_m2: area }
}

fn buffer(shape: &Geometry, centre: earth::LatLon, distance: f64, segments: usize) -> Ring {
    let plane = earth::Equidistant::new(centre);
    let local = to_geo(&shape.map(&|position| plane.project(latlon(position))));
    let angle = std::f64::consts::TAU / segments as f64;
    let style = BufferStyle::new(distance).line_join(LineJoin::Round(angle)).line_cap(LineCap::Round(angle));
    let buffered = local.buffer_with_style(style).orient(Direction::Default);
    let ring = |line: &LineString| -> Vec<Position> {
        let mut ring: Vec<Position> = line.0.iter().map(|at| lonlat(plane.unproject([at.x, at.y]))).collect();
        // Both ends are the same position, to the last bit.
        if let (Some(first), Some(last)) = (ring.first().copied(), ring.last_mut()) {
            *last = first;
        }
        ring
    };
    let polygons: Vec<Vec<Vec<Position>>> = buffered
        .iter()
        .map(|polygon| std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(ring).collect())
        .collect();
    let (area, _) = measure(&polygons);
    let polygons = of_geo(crate::planar::to_geo(&polygons, centre.lon));
    Ring { distance_m: distance, geometry: Geometry::of_polygons(polygons).to_json(), area_m2: area }
}

/// Converts a geometry of the plane.
fn to_geo(shape: &Geometry) -> geo::Geometry {
    let line = |positions: &Vec<Position>| LineString(positions.iter().map(|[x, y]| Coord { x: *x, y: *y }).collect());
    let polygon = |rings: &Vec<Vec<Position>>| {
        let mut rings = rings.iter().map(line);
        let outer = rings.next().unwrap_or_else(|| LineString(Vec::new()));
        Polygon::new(outer, rings.collect())
    };
    match shape {
        Geometry::Point([x, y]) => Point::new(*x, *y).into(),
        Geometry::MultiPoint(points) => {
            geo::MultiPoint(points.iter().map(|[x, y]| Point::new(*x, *y)).collect()).into()
        }
        Geometry::LineString(positions) => line(positions).into(),
        Geometry::MultiLineString(lines) => geo::MultiLineString(lines.iter().map(line).collect()).into(),
        Geometry::Polygon(rings) => polygon(rings).into(),
        Geometry::MultiPolygon(polygons) => MultiPolygon(polygons.iter().map(polygon).collect()).into(),
        Geometry::Collection(members) => {
            geo::Geometry::GeometryCollection(GeometryCollection(members.iter().map(to_geo).collect()))
        }
    }
}
