//! Distances on the globe.

use crate::{BBox, Point};

/// Mean radius of the Earth in metres: IUGG's R1 = (2a + b) / 3 of the WGS 84 ellipsoid (Moritz, Geodetic Reference
/// System 1980). A great circle on this sphere is within 0.56 % of the geodesic.
pub const EARTH_RADIUS_M: f64 = 6_371_008.8;

/// Half of the Earth's circumference in metres: the largest possible distance.
pub const MAX_DISTANCE_M: f64 = EARTH_RADIUS_M * std::f64::consts::PI;

/// Returns the great-circle distance in metres, by the haversine formula (Sinnott, Sky and Telescope 68, 1984).
pub fn distance_m(one: &Point, other: &Point) -> f64 {
    let (lat1, lat2) = (one.lat.to_radians(), other.lat.to_radians());
    let half_lat = ((other.lat - one.lat) / 2.0).to_radians().sin();
    let half_lon = ((other.lon - one.lon) / 2.0).to_radians().sin();
    let hav = half_lat * half_lat + lat1.cos() * lat2.cos() * half_lon * half_lon;
    2.0 * EARTH_RADIUS_M * hav.sqrt().atan2((1.0 - hav).max(0.0).sqrt())
}

/// Returns the smallest box around a circle, enlarged by a tolerance for rounding so that it contains the whole circle.
pub(crate) fn circle_box(centre: &Point, radius_m: f64) -> BBox {
    const SLACK: f64 = 1e-9;
    let angle = (radius_m / EARTH_RADIUS_M).to_degrees() + SLACK;
    let (south, north) = (centre.lat - angle, centre.lat + angle);
    if south <= -90.0 || north >= 90.0 {
        return BBox { west: -180.0, south: south.max(-90.0), east: 180.0, north: north.min(90.0) };
    }
    // The meridian that is tangent to the circle: a right spherical triangle with the pole.
    let wide = (angle.to_radians().sin() / centre.lat.to_radians().cos()).min(1.0).asin().to_degrees() + SLACK;
    let (west, east) = (centre.lon - wide, centre.lon + wide);
    let west = if west < -180.0 { west + 360.0 } else { west };
    let east = if east > 180.0 { east - 360.0 } else { east };
    BBox { west, south, east, north }
}

/// Returns the least distance in metres from a point to a box that does not cross the antimeridian.
pub(crate) fn distance_to_rect_m(point: &Point, low: [f64; 2], high: [f64; 2]) -> f64 {
    let ([west, south], [east, north]) = (low, high);
    let inside = (west..=east).contains(&point.lon);
    if inside {
        return distance_m(point, &Point::new(point.lon, point.lat.clamp(south, north)));
    }
    // Along a meridian, the cosine of the distance is that of the latitude's difference from `foot`, scaled.
    let on_meridian = |lon: f64| {
        let (lat, apart) = (point.lat.to_radians(), (lon - point.lon).to_radians());
        let foot = lat.sin().atan2(lat.cos() * apart.cos()).to_degrees();
        let at = |lat: f64| distance_m(point, &Point::new(lon, lat));
        let ends = at(south).min(at(north));
        if (south..=north).contains(&foot) { ends.min(at(foot)) } else { ends }
    };
    on_meridian(west).min(on_meridian(east))
}
