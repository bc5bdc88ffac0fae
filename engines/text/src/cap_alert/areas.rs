//! Areas as GeoJSON.

use muster_cap::{Alert, Area, Circle};
use muster_kernel_earth::{LatLon, direct};
use serde_json::json;

use muster_engine::prelude::*;

/// Corners of a circle.
const CORNERS: usize = 64;

pub(super) fn none() -> Value {
    json!({ "type": "FeatureCollection", "features": [] })
}

/// Each area of each info that has shapes: a polygon, or several. Circles become polygons of 64 corners.
pub(super) fn collection(alert: &Alert) -> Value {
    let features: Vec<Value> = alert
        .infos
        .iter()
        .enumerate()
        .flat_map(|(info, of)| of.areas.iter().map(move |area| (info, area)))
        .filter_map(|(info, area)| feature(info, area))
        .collect();
    json!({ "type": "FeatureCollection", "features": features })
}

fn feature(info: usize, area: &Area) -> Option<Value> {
    let polygons = area.polygons.iter().map(|polygon| ring(polygon.0.iter().copied()));
    let circles = area.circles.iter().filter(|circle| circle.radius_km > 0.0).map(circle);
    let mut rings: Vec<Value> = polygons.chain(circles).collect();
    let geometry = match rings.len() {
        0 => {
            let circle = area.circles.first()?;
            json!({ "type": "Point", "coordinates": [circle.longitude, circle.latitude] })
        }
        1 => json!({ "type": "Polygon", "coordinates": [rings.pop()] }),
        _ => {
            json!({ "type": "MultiPolygon", "coordinates": rings.into_iter().map(|ring| json!([ring])).collect::<Vec<_>>() })
        }
    };
    Some(json!({
        "type": "Feature",
        "geometry": geometry,
        "properties": { "areaDesc": area.description, "info": info },
    }))
}

/// A ring anticlockwise, as GeoJSON has outer rings (RFC 7946, section 3.1.6).
fn ring(positions: impl Iterator<Item = (f64, f64)>) -> Value {
    let mut corners: Vec<[f64; 2]> = positions.map(|(lat, lon)| [lon, lat]).collect();
    let pairs = corners.iter().zip(corners.iter().skip(1));
    let doubled: f64 = pairs.map(|([x1, y1], [x2, y2])| (x2 - x1) * (y2 + y1)).sum();
    if doubled > 0.0 {
        corners.reverse();
    }
    json!(corners)
}

fn circle(circle: &Circle) -> Value {
    let centre = LatLon::new(circle.latitude, circle.longitude);
    let corner = |at: usize| {
        let azimuth = 360.0 * (at % CORNERS) as f64 / CORNERS as f64;
        let corner = direct(centre, azimuth, circle.radius_km * 1_000.0).0;
        (corner.lat, corner.lon)
    };
    ring((0..=CORNERS).map(corner))
}
