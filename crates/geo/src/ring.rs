//! A ring, unwrapped so that its longitudes do not jump at the antimeridian.

use std::cmp::Ordering;

use crate::plane::{Xy, on_segment, side};
use crate::{GeometryError, GeometryErrorKind, Point};

/// Location of a point relative to a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointLocation {
    Outside,
    Edge,
    Inside,
}

/// A closed line on the globe that does not intersect itself.
///
/// Its longitudes continue beyond ±180: each edge takes the shorter way around, so that 179 to -179 becomes 179 to 181.
/// Only an edge of exactly 360 degrees, from -180 to 180, is kept as it is: it occurs in the ring around the whole
/// globe.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ring {
    /// The last position equals the first, or is 360 degrees apart if the ring encircles a pole.
    pub points: Vec<Xy>,
    pub west: f64,
    pub east: f64,
    pub south: f64,
    pub north: f64,
    /// Latitude of the pole that the ring encircles: the nearer one, or the north pole if both are equally near.
    pub pole: Option<f64>,
}

impl Ring {
    /// Unwraps a ring.
    ///
    /// # Errors
    ///
    /// Fails if the ring does not have the form of RFC 7946, 3.1.6, or encloses nothing. Self-intersection is not
    /// checked.
    pub fn new(positions: &[Point], at: &str) -> Result<Self, GeometryError> {
        let kind = |kind| GeometryError::new(at, kind);
        for (n, position) in positions.iter().enumerate() {
            check_position(position, || format!("{at}[{n}]"))?;
        }
        if positions.len() < 4 {
            return Err(kind(GeometryErrorKind::TooShort(positions.len())));
        }
        if positions.first().map(Point::xy) != positions.last().map(Point::xy) {
            return Err(kind(GeometryErrorKind::NotClosed));
        }
        let mut raw: Vec<Xy> = positions.iter().map(Point::xy).collect();
        raw.dedup();
        if raw.len() < 4 {
            return Err(kind(GeometryErrorKind::Degenerate));
        }
        let unwrapping_turns = unwrapping_turns(&raw);
        let lifted = raw.iter().zip(&unwrapping_turns).map(|([lon, _], turn)| lon + 360.0 * turn);
        let least = lifted.min_by(f64::total_cmp).unwrap_or_default();
        // Each position is moved once, so that the result does not depend on the position at which the ring begins.
        let shift = ((least + 180.0) / 360.0).floor();
        let points: Vec<Xy> =
            raw.iter().zip(&unwrapping_turns).map(|(&[lon, lat], turn)| [lon + 360.0 * (turn - shift), lat]).collect();
        let least = |axis: fn(&Xy) -> f64| points.iter().map(axis).min_by(f64::total_cmp).unwrap_or_default();
        let most = |axis: fn(&Xy) -> f64| points.iter().map(axis).max_by(f64::total_cmp).unwrap_or_default();
        let (west, east, south, north) = (least(|xy| xy[0]), most(|xy| xy[0]), least(|xy| xy[1]), most(|xy| xy[1]));
        let around = unwrapping_turns.last().copied().unwrap_or_default();
        if around.abs() > 1.0 || east - west > 720.0 {
            return Err(kind(GeometryErrorKind::Winding));
        }
        let pole = (around != 0.0).then_some(if south + north >= 0.0 { 90.0 } else { -90.0 });
        Ok(Self { points, west, east, south, north, pole })
    }

    pub fn edges(&self) -> impl Iterator<Item = (Xy, Xy)> {
        self.points.iter().copied().zip(self.points.iter().skip(1).copied())
    }

    /// Locates a point with a longitude of -180 to 180 and a latitude of -90 to 90 degrees.
    pub fn place(&self, [lon, lat]: Xy) -> PointLocation {
        if lat.abs() >= 90.0 {
            let there = lat <= self.south || lat >= self.north;
            let reaches = there && (lat.total_cmp(&self.south).is_eq() || lat.total_cmp(&self.north).is_eq());
            return match self.pole {
                _ if reaches => PointLocation::Edge,
                Some(pole) if pole * lat > 0.0 => PointLocation::Inside,
                _ => PointLocation::Outside,
            };
        }
        match self.pole {
            Some(pole) => self.place_by_pole(pole, [lon, lat]),
            None => self.place_by_parallel([lon, lat]),
        }
    }

    /// Returns the equivalent longitudes of the point within the ring's range.
    fn copies(&self, lon: f64) -> impl Iterator<Item = f64> + use<> {
        let (west, east) = (self.west, self.east);
        [-360.0, 0.0, 360.0, 720.0].into_iter().map(move |by| lon + by).filter(move |lon| (west..=east).contains(lon))
    }

    fn place_by_parallel(&self, [lon, lat]: Xy) -> PointLocation {
        if lat < self.south || lat > self.north {
            return PointLocation::Outside;
        }
        for x in self.copies(lon) {
            let mut inside = false;
            for (a, b) in self.edges() {
                let ([_, from], [_, to]) = (a, b);
                if lat < from.min(to) || lat > from.max(to) {
                    continue;
                }
                if on_segment(a, b, [x, lat]) {
                    return PointLocation::Edge;
                }
                if (from > lat) != (to > lat) {
                    let left = if to > from { Ordering::Greater } else { Ordering::Less };
                    inside ^= side(a, b, [x, lat]) == left;
                }
            }
            if inside {
                return PointLocation::Inside;
            }
        }
        PointLocation::Outside
    }

    /// A point is inside if the path along its meridian to the pole crosses the ring an even number of times.
    fn place_by_pole(&self, pole: f64, [lon, lat]: Xy) -> PointLocation {
        let mut inside = true;
        for x in self.copies(lon) {
            for (a, b) in self.edges() {
                let ([from, _], [to, _]) = (a, b);
                if x < from.min(to) || x > from.max(to) {
                    continue;
                }
                if on_segment(a, b, [x, lat]) {
                    return PointLocation::Edge;
                }
                if (from > x) != (to > x) {
                    let poleward = if (to > from) == (pole > 0.0) { Ordering::Less } else { Ordering::Greater };
                    inside ^= side(a, b, [x, lat]) == poleward;
                }
            }
        }
        if inside { PointLocation::Inside } else { PointLocation::Outside }
    }
}

fn check_position(position: &Point, at: impl Fn() -> String) -> Result<(), GeometryError> {
    // Some producers write longitudes beyond 180 for rings that cross the antimeridian; one turn is sufficient for
    // that.
    if !(-360.0..=360.0).contains(&position.lon) {
        return Err(GeometryError::new(at(), GeometryErrorKind::Longitude(position.lon)));
    }
    match position.check_lat("") {
        Ok(()) => Ok(()),
        Err(error) => Err(GeometryError { at: at(), ..error }),
    }
}

/// Returns for each position the number of turns to add to its longitude, so that no edge is longer than half of the
/// globe.
fn unwrapping_turns(raw: &[Xy]) -> Vec<f64> {
    let mut turn = 0.0;
    let mut before: Option<f64> = None;
    raw.iter()
        .map(|&[lon, _]| {
            let step = before.map_or(0.0, |before| lon - before);
            if step.abs() > 180.0 && step.abs() != 360.0 {
                turn -= (step / 360.0).round();
            }
            before = Some(lon);
            turn
        })
        .collect()
}
