//! The WGS84 ellipsoid: geodesics, local planes, grids and written coordinates; and the position of the sun.
//!
//! Latitudes and longitudes are in degrees, lengths in metres. Functions are total: coordinates out of range give a
//! defined, if useless, result and never a panic; callers check ranges first.

#![warn(missing_docs)]

mod geodesic;
mod mgrs;
mod plane;
pub mod solar;
mod tm;
mod written;

pub use geodesic::{
    AREA_M2, Leg, Ring, direct, distance_to_segment, interpolate, inverse, midpoint, ring_measure, waypoints,
};
pub use mgrs::{mgrs, parse_mgrs};
pub use plane::{EqualArea, Equidistant, box_area};
pub use tm::{Grid, Projected, grid, ungrid, utm_zone};
pub use written::{Notation, ddm, dms, parse};

/// Equatorial radius of WGS84, in metres.
pub const EQUATORIAL_RADIUS_M: f64 = 6_378_137.0;
/// Flattening of WGS84.
pub const FLATTENING: f64 = 1.0 / 298.257_223_563;

/// A position on the ellipsoid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatLon {
    /// Latitude in degrees, north positive.
    pub lat: f64,
    /// Longitude in degrees, east positive.
    pub lon: f64,
}

impl LatLon {
    /// Creates a position.
    pub const fn new(lat: f64, lon: f64) -> Self {
        Self { lat, lon }
    }

    /// Returns the direction of the position from the centre of a unit sphere.
    pub fn unit_vector(self) -> [f64; 3] {
        let (sin_lat, cos_lat) = self.lat.to_radians().sin_cos();
        let (sin_lon, cos_lon) = self.lon.to_radians().sin_cos();
        [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
    }

    /// Returns the position in space, in metres from the centre of the ellipsoid: through longitude 0, 90 and the pole.
    pub fn in_space(self) -> [f64; 3] {
        let e2 = FLATTENING * (2.0 - FLATTENING);
        let [x, y, z] = self.unit_vector();
        let radius = EQUATORIAL_RADIUS_M / (1.0 - e2 * z * z).sqrt();
        [radius * x, radius * y, radius * (1.0 - e2) * z]
    }
}

/// Returns the angle within [-180, 180).
pub fn wrap_longitude(lon: f64) -> f64 {
    if (-180.0..180.0).contains(&lon) { lon } else { (lon + 180.0).rem_euclid(360.0) - 180.0 }
}
