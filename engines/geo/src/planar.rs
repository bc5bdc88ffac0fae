//! Polygons in the plane of longitude and latitude, for the library `geo`.

use geo::{BooleanOps, Coord, LineString, MultiPolygon, Orient, Polygon, Rect, orient::Direction};

use crate::shape::Position;

/// Takes each longitude as near to the one before as it can be, so that edges take the shorter way; a ring may then
/// reach beyond 180 degrees.
pub(crate) fn unwrapped(ring: &[Position]) -> Vec<Position> {
    let mut last: Option<f64> = None;
    ring.iter()
        .map(|[lon, lat]| {
            let near = last.map_or(*lon, |last| last + muster_kernel_earth::wrap_longitude(lon - last));
            // Half a turn exactly keeps its sign, as 0 to 180 is no crossing.
            let near = if last.is_some_and(|last| (lon - last).abs() == 180.0) { *lon } else { near };
            last = Some(near);
            [near, *lat]
        })
        .collect()
}

/// Converts polygons, unwrapped, each shifted by whole turns to be as near to the longitude `near` as it can be.
pub(crate) fn to_geo(polygons: &[Vec<Vec<Position>>], near: f64) -> MultiPolygon {
    let convert = |rings: &Vec<Vec<Position>>| {
        let mut lines = rings.iter().map(|ring| {
            let ring = unwrapped(ring);
            let (low, high) = ring.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), [lon, _]| {
                (low.min(*lon), high.max(*lon))
            });
            let turns = ((near - f64::midpoint(low, high)) / 360.0).round() * 360.0;
            LineString(ring.into_iter().map(|[lon, lat]| Coord { x: lon + turns, y: lat }).collect())
        });
        let outer = lines.next().unwrap_or_else(|| LineString(Vec::new()));
        Polygon::new(outer, lines.collect())
    };
    MultiPolygon(polygons.iter().map(convert).collect())
}

/// Converts polygons back: outer rings counter-clockwise, cut at the antimeridian (RFC 7946, 3.1.9), with longitudes
/// within 180 degrees.
pub(crate) fn of_geo(polygons: MultiPolygon) -> Vec<Vec<Vec<Position>>> {
    let inside = |polygon: &Polygon| polygon.exterior().0.iter().all(|coord| coord.x.abs() <= 180.0);
    let mut cut: Vec<(f64, Polygon)> = Vec::new();
    for polygon in polygons {
        if inside(&polygon) {
            cut.push((0.0, polygon));
            continue;
        }
        for turns in [-360.0, 0.0, 360.0] {
            let window = Rect::new(Coord { x: turns - 180.0, y: -90.0 }, Coord { x: turns + 180.0, y: 90.0 });
            let parts = polygon.intersection(&window.to_polygon());
            cut.extend(parts.into_iter().map(|part| (turns, part)));
        }
    }
    cut.into_iter()
        .map(|(turns, polygon)| {
            let polygon = polygon.orient(Direction::Default);
            let ring = |line: &LineString| -> Vec<Position> {
                line.0.iter().map(|coord| [(coord.x - turns).clamp(-180.0, 180.0), coord.y]).collect()
            };
            std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(ring).collect()
        })
        .collect()
}
