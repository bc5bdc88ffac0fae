//! Projections of WGS 84 (Snyder 1987), and the view: which part of the plane is drawn at what scale.

use muster_engine::prelude::*;
use muster_kernel_earth::{EQUATORIAL_RADIUS_M, EqualArea, FLATTENING, LatLon as Place};

use super::features::Position;

/// Beyond this latitude Mercator's map grows without bound.
const MERCATOR_LATITUDE: f64 = 85.0;
/// Places along an edge of the box at which its extent is looked for.
const EDGE: i32 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
pub(super) enum Projection {
    Mercator,
    Equirectangular,
    LambertAzimuthal,
}

impl Projection {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Mercator => "Mercator",
            Self::Equirectangular => "equirectangular",
            Self::LambertAzimuthal => "Lambert azimuthal equal-area",
        }
    }

    /// Whether meridians are vertical lines: the map repeats itself every 360 degrees.
    pub(super) const fn is_cylindrical(self) -> bool {
        !matches!(self, Self::LambertAzimuthal)
    }

    /// The largest box that can be drawn.
    pub(super) fn clamped(self, area: Bbox) -> Bbox {
        let most = if self == Self::Mercator { MERCATOR_LATITUDE } else { 90.0 };
        Bbox { south: area.south.clamp(-most, most), north: area.north.clamp(-most, most), ..area }
    }
}

/// The map of a box, whose east may be above 180 so that it is above its west.
pub(super) struct View {
    projection: Projection,
    centre: Position,
    plane: EqualArea,
    /// Metres east and north on the plane of the left top pixel, and metres of the plane in a pixel.
    left: f64,
    top: f64,
    per_pixel: f64,
    /// Pixels of the frame: its left top corner, and its size.
    pub(super) frame: [f64; 4],
}

impl View {
    pub(super) fn new(projection: Projection, area: Bbox, frame: [f64; 4]) -> Self {
        let centre = [(area.west + area.east) / 2.0, (area.south + area.north) / 2.0];
        let plane = EqualArea::new(Place::new(centre[1], muster_kernel_earth::wrap_longitude(centre[0])));
        let [x, y, width, height] = frame;
        let mut view = Self { projection, centre, plane, left: 0.0, top: 0.0, per_pixel: 1.0, frame };
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for step in 0..=EDGE {
            let share = f64::from(step) / f64::from(EDGE);
            let lon = area.west + (area.east - area.west) * share;
            let lat = area.south + (area.north - area.south) * share;
            for place in [[lon, area.south], [lon, area.north], [area.west, lat], [area.east, lat], centre] {
                let [east, north] = view.plane_of(place);
                low = [low[0].min(east), low[1].min(north)];
                high = [high[0].max(east), high[1].max(north)];
            }
        }
        view.per_pixel = f64::max((high[0] - low[0]) / width, (high[1] - low[1]) / height).max(1e-6);
        view.left = (low[0] + high[0]) / 2.0 - (x + width / 2.0) * view.per_pixel;
        view.top = (low[1] + high[1]) / 2.0 + (y + height / 2.0) * view.per_pixel;
        view
    }

    /// Metres east and north on the plane.
    fn plane_of(&self, [lon, lat]: Position) -> Position {
        let east = (lon - self.centre[0]).to_radians();
        match self.projection {
            Projection::Mercator => {
                let lat = lat.clamp(-MERCATOR_LATITUDE, MERCATOR_LATITUDE).to_radians();
                let e = eccentricity();
                let sine = libm::sin(lat);
                // Snyder (7-6) and (7-7).
                let north = libm::atanh(sine) - e * libm::atanh(e * sine);
                [EQUATORIAL_RADIUS_M * east, EQUATORIAL_RADIUS_M * north]
            }
            Projection::Equirectangular => {
                // True at the centre in both directions: its radii of curvature.
                let sine = libm::sin(self.centre[1].to_radians());
                let w = (1.0 - (eccentricity() * sine) * (eccentricity() * sine)).sqrt();
                let parallel = EQUATORIAL_RADIUS_M / w * libm::cos(self.centre[1].to_radians());
                let meridian = EQUATORIAL_RADIUS_M * (1.0 - FLATTENING) * (1.0 - FLATTENING) / (w * w * w);
                [parallel * east, meridian * (lat - self.centre[1]).to_radians()]
            }
            Projection::LambertAzimuthal => {
                self.plane.project(Place::new(lat, muster_kernel_earth::wrap_longitude(lon)))
            }
        }
    }

    /// Pixels from the left top.
    pub(super) fn pixel(&self, position: Position) -> Position {
        let [east, north] = self.plane_of(position);
        [(east - self.left) / self.per_pixel, (self.top - north) / self.per_pixel]
    }

    /// Metres on the ground of a pixel at the centre.
    pub(super) fn scale(&self) -> f64 {
        let stretch = match self.projection {
            Projection::Mercator => {
                let lat = self.centre[1].to_radians();
                let e = eccentricity() * libm::sin(lat);
                // Snyder (7-8).
                (1.0 - e * e).sqrt() / libm::cos(lat)
            }
            _ => 1.0,
        };
        self.per_pixel / stretch
    }

    /// Whether a position lies where the plane shows it: the far side of the globe has no place on an azimuthal map.
    pub(super) fn shows(&self, [lon, lat]: Position) -> bool {
        if self.projection.is_cylindrical() {
            return true;
        }
        let (a, b) = (self.centre[1].to_radians(), lat.to_radians());
        let turn = libm::cos((lon - self.centre[0]).to_radians());
        libm::sin(a) * libm::sin(b) + libm::cos(a) * libm::cos(b) * turn > -0.98
    }

    /// Turns of 360 degrees at which longitudes of this range lie in the frame.
    pub(super) fn turns(&self, (west, east): (f64, f64)) -> Vec<f64> {
        if !self.projection.is_cylindrical() {
            return vec![0.0];
        }
        let [x, _, width, _] = self.frame;
        let inside = |turn: &f64| {
            let [left, right] = [west, east].map(|lon| self.pixel([lon + turn, 0.0])[0]);
            right >= x && left <= x + width
        };
        (-2..=2).map(|turn| f64::from(turn) * 360.0).filter(inside).collect()
    }
}

fn eccentricity() -> f64 {
    (FLATTENING * (2.0 - FLATTENING)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Snyder 1987, page 267: Mercator of the Clarke ellipsoid; here of WGS 84 by pyproj 3.7 (`+proj=merc`): 35° N, 75° W of
    /// a central meridian of 180° is 11,688,546.53 m east, 4,139,372.76 m north.
    #[test]
    fn mercator_is_that_of_another_implementation() {
        let area = Bbox { west: 179.0, south: -1.0, east: 181.0, north: 1.0 };
        let view = View::new(Projection::Mercator, area, [0.0, 0.0, 100.0, 100.0]);
        let [east, north] = view.plane_of([285.0, 35.0]);
        assert!((east - 11_688_546.53).abs() < 0.01 && (north - 4_139_372.76).abs() < 0.01, "{east} {north}");
    }

    #[test]
    fn a_pixel_at_the_centre_is_as_long_as_the_scale_says() {
        for projection in [Projection::Mercator, Projection::Equirectangular, Projection::LambertAzimuthal] {
            let area = Bbox { west: 9.9, south: 59.9, east: 10.1, north: 60.1 };
            let view = View::new(projection, area, [0.0, 0.0, 500.0, 500.0]);
            let [x, y] = view.pixel([10.0, 60.0]);
            let [right, _] = view.pixel([10.001, 60.0]);
            let [_, above] = view.pixel([10.0, 60.001]);
            let leg = |to| muster_kernel_earth::inverse(Place::new(60.0, 10.0), to).distance / view.scale();
            assert!(((right - x) - leg(Place::new(60.0, 10.001))).abs() < 0.001, "{projection:?}");
            assert!(((y - above) - leg(Place::new(60.001, 10.0))).abs() < 0.01, "{projection:?}");
        }
    }
}
