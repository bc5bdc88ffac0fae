//! q3: geodesic area, perimeter and centroid.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::to_wire;
use crate::planar::unwrapped;
use crate::shape::{Geometry, Position, latlon, measure, middle};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    geometry: Value,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    area_m2: f64,
    perimeter_m: f64,
    centroid: LatLon,
    bbox: Bbox,
    compactness: f64,
}

/// Measures polygons. The perimeter is that of the outer rings.
///
/// # Errors
/// What is no polygon.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    let polygons = Geometry::polygons_of_field(&["geometry"], &input.geometry)?;
    let (area, perimeter) = measure(&polygons);
    let compactness = if perimeter > 0.0 { 4.0 * std::f64::consts::PI * area / (perimeter * perimeter) } else { 0.0 };
    Ok(Output {
        area_m2: area,
        perimeter_m: perimeter,
        centroid: to_wire(centroid(&polygons)),
        bbox: bbox(&polygons),
        compactness,
    })
}

/// Centroid in the equal-area plane around the middle of the box. Polygons without an area have the mean of their
/// positions.
fn centroid(polygons: &[Vec<Vec<Position>>]) -> earth::LatLon {
    let positions: Vec<Position> = polygons.iter().flatten().flatten().copied().collect();
    let plane = earth::EqualArea::new(middle(&positions));
    let (mut area, mut moment) = (0.0, [0.0; 2]);
    for rings in polygons {
        for (index, ring) in rings.iter().enumerate() {
            let ring: Vec<[f64; 2]> = ring.iter().map(|position| plane.project(latlon(*position))).collect();
            let (mut twice, mut first) = (0.0, [0.0; 2]);
            for ([x0, y0], [x1, y1]) in ring.iter().zip(ring.iter().skip(1)) {
                let cross = x0 * y1 - x1 * y0;
                twice += cross;
                first[0] += (x0 + x1) * cross;
                first[1] += (y0 + y1) * cross;
            }
            // Outer rings count positively, holes negatively, whatever their orientation.
            let sign = if (index == 0) == (twice >= 0.0) { 1.0 } else { -1.0 };
            area += sign * twice / 2.0;
            moment[0] += sign * first[0] / 6.0;
            moment[1] += sign * first[1] / 6.0;
        }
    }
    if area > 1e-9 {
        return plane.unproject([moment[0] / area, moment[1] / area]);
    }
    let mean = |at: fn(&[f64; 2]) -> f64| {
        let values = positions.iter().map(|position| at(&plane.project(latlon(*position))));
        values.sum::<f64>() / positions.len().max(1) as f64
    };
    plane.unproject([mean(|[x, _]| *x), mean(|[_, y]| *y)])
}

/// Box around the positions; west is greater than east if it crosses the antimeridian, and a ring around a pole reaches
/// to it.
fn bbox(polygons: &[Vec<Vec<Position>>]) -> Bbox {
    let (mut south, mut north) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut spans: Vec<(f64, f64)> = Vec::new();
    let mut crosses = false;
    for ring in polygons.iter().filter_map(|rings| rings.first()) {
        let ring = unwrapped(ring);
        let (mut west, mut east) = (f64::INFINITY, f64::NEG_INFINITY);
        for [lon, lat] in &ring {
            (west, east) = (west.min(*lon), east.max(*lon));
            (south, north) = (south.min(*lat), north.max(*lat));
        }
        if let (Some([start, _]), Some([end, lat])) = (ring.first(), ring.last())
            && (end - start).abs() > 180.0
        {
            (west, east) = (-180.0, 180.0);
            if *lat >= 0.0 { north = 90.0 } else { south = -90.0 }
        }
        crosses |= west < -180.0 || east > 180.0;
        spans.push((west, east));
    }
    let west = spans.iter().map(|(west, _)| *west).fold(f64::INFINITY, f64::min);
    let east = spans.iter().map(|(_, east)| *east).fold(f64::NEG_INFINITY, f64::max);
    let (west, east) = if crosses { around(spans) } else { (west, east) };
    Bbox { west, south, east, north }
}

/// Smallest arc of longitudes that holds all spans.
fn around(spans: Vec<(f64, f64)>) -> (f64, f64) {
    let mut spans: Vec<(f64, f64)> = spans
        .into_iter()
        .map(|(west, east)| {
            let start = earth::wrap_longitude(west);
            (start, start + (east - west))
        })
        .collect();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let Some(&(first, _)) = spans.first() else { return (-180.0, 180.0) };
    // The largest gap between the end of what came before and the next start.
    let (mut reached, mut gap, mut west, mut east) = (f64::NEG_INFINITY, f64::NEG_INFINITY, first, first);
    for (index, (start, end)) in spans.iter().enumerate() {
        if index > 0 && start - reached > gap {
            (gap, west, east) = (start - reached, *start, reached);
        }
        reached = reached.max(*end);
    }
    if first + 360.0 - reached > gap {
        (gap, west, east) = (first + 360.0 - reached, first, reached);
    }
    if gap <= 0.0 {
        return (-180.0, 180.0);
    }
    (earth::wrap_longitude(west), earth::wrap_longitude(east))
}
