//! Local planes: azimuthal equidistant and equal-area.

use crate::{EQUATORIAL_RADIUS_M, FLATTENING, LatLon, direct, inverse};

/// Azimuthal equidistant plane of the ellipsoid: distance and azimuth from the centre are those of the geodesic
/// (Snyder 1987, chapter 25, with the exact geodesic).
#[derive(Debug, Clone, Copy)]
pub struct Equidistant {
    centre: LatLon,
}

impl Equidistant {
    /// Creates the plane around a position.
    pub const fn new(centre: LatLon) -> Self {
        Self { centre }
    }

    /// Returns easting and northing in metres.
    pub fn project(&self, position: LatLon) -> [f64; 2] {
        let leg = inverse(self.centre, position);
        let (sin, cos) = leg.azimuth_start.to_radians().sin_cos();
        [leg.distance * sin, leg.distance * cos]
    }

    /// Returns the position at an easting and northing.
    pub fn unproject(&self, [x, y]: [f64; 2]) -> LatLon {
        direct(self.centre, x.atan2(y).to_degrees(), x.hypot(y)).0
    }
}

/// Lambert azimuthal equal-area plane of the ellipsoid (Snyder 1987, chapter 24), oblique aspect.
#[derive(Debug, Clone, Copy)]
pub struct EqualArea {
    lon: f64,
    sin_beta: f64,
    cos_beta: f64,
    radius: f64,
    scale: f64,
}

const E2: f64 = FLATTENING * (2.0 - FLATTENING);

/// `q` of Snyder (3-12).
fn q(sin_lat: f64) -> f64 {
    let e = E2.sqrt();
    let es = e * sin_lat;
    (1.0 - E2) * (sin_lat / (1.0 - es * es) + es.atanh() / e)
}

/// Returns the area in square metres between two parallels and two meridians that are `width` degrees apart.
pub fn box_area(south: f64, north: f64, width: f64) -> f64 {
    let part = |lat: f64| q(lat.to_radians().sin());
    EQUATORIAL_RADIUS_M * EQUATORIAL_RADIUS_M / 2.0 * width.to_radians() * (part(north) - part(south))
}

impl EqualArea {
    /// Creates the plane around a position. At a pole the scale along axes is that of the sphere of equal area.
    pub fn new(centre: LatLon) -> Self {
        let radius = EQUATORIAL_RADIUS_M * (q(1.0) / 2.0).sqrt();
        let (sin_lat, cos_lat) = centre.lat.to_radians().sin_cos();
        let sin_beta = (q(sin_lat) / q(1.0)).clamp(-1.0, 1.0);
        let cos_beta = (1.0 - sin_beta * sin_beta).sqrt();
        let m = cos_lat / (1.0 - E2 * sin_lat * sin_lat).sqrt();
        let scale = if cos_beta > 1e-9 { EQUATORIAL_RADIUS_M * m / (radius * cos_beta) } else { 1.0 };
        Self { lon: centre.lon, sin_beta, cos_beta, radius, scale }
    }

    /// Returns easting and northing in metres.
    pub fn project(&self, position: LatLon) -> [f64; 2] {
        let sin_beta = (q(position.lat.to_radians().sin()) / q(1.0)).clamp(-1.0, 1.0);
        let cos_beta = (1.0 - sin_beta * sin_beta).sqrt();
        let (sin_lon, cos_lon) = (position.lon - self.lon).to_radians().sin_cos();
        let along = 1.0 + self.sin_beta * sin_beta + self.cos_beta * cos_beta * cos_lon;
        // The antipode of the centre is a circle; any of its positions will do.
        let b = self.radius * (2.0 / along.max(1e-12)).sqrt();
        [
            b * self.scale * cos_beta * sin_lon,
            b / self.scale * (self.cos_beta * sin_beta - self.sin_beta * cos_beta * cos_lon),
        ]
    }

    /// Returns the position at an easting and northing.
    pub fn unproject(&self, [x, y]: [f64; 2]) -> LatLon {
        let (u, v) = (x / self.scale, y * self.scale);
        let rho = u.hypot(v);
        let (sin_c, cos_c) = (2.0 * (rho / (2.0 * self.radius)).clamp(-1.0, 1.0).asin()).sin_cos();
        let (s, t) = if rho > 0.0 { (u / rho, v / rho) } else { (0.0, 0.0) };
        let sin_beta = (cos_c * self.sin_beta + t * sin_c * self.cos_beta).clamp(-1.0, 1.0);
        let lon = (s * sin_c).atan2(self.cos_beta * cos_c - self.sin_beta * sin_c * t);
        // Newton's iteration of Snyder (3-16), from the authalic latitude.
        let target = sin_beta * q(1.0);
        let mut lat = sin_beta.asin();
        for _ in 0..8 {
            let (sin, cos) = lat.sin_cos();
            if cos < 1e-9 {
                break;
            }
            let w = 1.0 - E2 * sin * sin;
            let step = w * w / (2.0 * cos * (1.0 - E2)) * (target - q(sin));
            lat = (lat + step).clamp(-std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2);
            if step.abs() < 1e-15 {
                break;
            }
        }
        LatLon::new(lat.to_degrees(), crate::wrap_longitude(self.lon + lon.to_degrees()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ring_measure;

    /// pyproj 3.7.2 (PROJ 9.5.1): `+proj=laea +lat_0=40 +lon_0=-100 +ellps=WGS84` of 30 N 110 W, and `+proj=aeqd`.
    #[test]
    fn planes_agree_with_proj() {
        let centre = LatLon::new(40.0, -100.0);
        let position = LatLon::new(30.0, -110.0);
        for (found, expected) in
            [(EqualArea::new(centre).project(position), LAEA), (Equidistant::new(centre).project(position), AEQD)]
        {
            assert!((found[0] - expected[0]).abs() < 1e-3 && (found[1] - expected[1]).abs() < 1e-3, "{found:?}");
        }
    }

    const LAEA: [f64; 2] = [-965_914.616_238_862_3, -1_056_842.300_192_973_3];
    const AEQD: [f64; 2] = [-968_118.598_072_519_8, -1_058_755.515_597_196];

    #[test]
    fn all_boxes_together_are_the_ellipsoid() {
        let whole = box_area(-90.0, 10.0, 360.0) + box_area(10.0, 90.0, 360.0);
        assert!((whole / crate::AREA_M2 - 1.0).abs() < 1e-12, "{whole}");
    }

    proptest! {
        #[test]
        fn planes_are_inverted(lat in -89.0..89.0, lon in -180.0..180.0, x in -2e6..2e6, y in -2e6..2e6) {
            let centre = LatLon::new(lat, lon);
            let (area, distance) = (EqualArea::new(centre), Equidistant::new(centre));
            let position = area.unproject([x, y]);
            let again = area.project(position);
            prop_assert!((again[0] - x).abs() < 1e-4 && (again[1] - y).abs() < 1e-4, "{again:?}");
            let again = distance.project(distance.unproject([x, y]));
            prop_assert!((again[0] - x).abs() < 1e-6 && (again[1] - y).abs() < 1e-6, "{again:?}");
        }

        #[test]
        fn areas_are_kept(lat in -80.0..80.0, lon in -180.0..180.0, x in -1e5..1e5, y in -1e5..1e5) {
            let plane = EqualArea::new(LatLon::new(lat, lon));
            let corners = [[x, y], [x + 100.0, y], [x + 100.0, y + 100.0], [x, y + 100.0]];
            let ring: Vec<_> = corners.into_iter().map(|corner| plane.unproject(corner)).collect();
            prop_assert!((ring_measure(&ring).area - 10_000.0).abs() < 0.5);
        }
    }
}
