//! A ring, laid out so that it does not jump at the antimeridian.

use std::cmp::Ordering;

use crate::plane::{Xy, on_segment, side};
use crate::{GeometryError, Point, Wrong};

/// How a point lies to a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Outside,
    Edge,
    Inside,
}

/// A closed line on the globe that does not return to where it was before its end.
///
/// Its longitudes run on over ±180: an edge goes the shorter way around, so that 179 to -179 is 179 to 181. Only an edge
/// of exactly 360 degrees, from -180 to 180, is taken as it stands: the whole globe has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ring {
    /// The last one is the first again; 360 degrees on where the ring goes around a pole.
    pub points: Vec<Xy>,
    pub west: f64,
    pub east: f64,
    pub south: f64,
    pub north: f64,
    /// The pole that it goes around, as a latitude: the nearer one, the north's where both are as near.
    pub pole: Option<f64>,
}

impl Ring {
    /// # Errors
    /// The ring has not the form of RFC 7946, 3.1.6, or encloses nothing. Whether it crosses itself is not looked at.
    pub fn new(positions: &[Point], at: &str) -> Result<Self, GeometryError> {
        let wrong = |wrong| GeometryError::new(at, wrong);
        for (n, position) in positions.iter().enumerate() {
            check_position(position, || format!("{at}[{n}]"))?;
        }
        if positions.len() < 4 {
            return Err(wrong(Wrong::TooShort(positions.len())));
        }
        if positions.first().map(Point::xy) != positions.last().map(Point::xy) {
            return Err(wrong(Wrong::Open));
        }
        let mut raw: Vec<Xy> = positions.iter().map(Point::xy).collect();
        raw.dedup();
        if raw.len() < 4 {
            return Err(wrong(Wrong::Flat));
        }
        let turns = turns(&raw);
        let lifted = raw.iter().zip(&turns).map(|([lon, _], turn)| lon + 360.0 * turn);
        let least = lifted.min_by(f64::total_cmp).unwrap_or_default();
        // Each is moved once, so that a ring lies at the same place whichever of its positions it begins with.
        let home = ((least + 180.0) / 360.0).floor();
        let points: Vec<Xy> =
            raw.iter().zip(&turns).map(|(&[lon, lat], turn)| [lon + 360.0 * (turn - home), lat]).collect();
        let least = |axis: fn(&Xy) -> f64| points.iter().map(axis).min_by(f64::total_cmp).unwrap_or_default();
        let most = |axis: fn(&Xy) -> f64| points.iter().map(axis).max_by(f64::total_cmp).unwrap_or_default();
        let (west, east, south, north) = (least(|xy| xy[0]), most(|xy| xy[0]), least(|xy| xy[1]), most(|xy| xy[1]));
        let around = turns.last().copied().unwrap_or_default();
        if around.abs() > 1.0 || east - west > 720.0 {
            return Err(wrong(Wrong::Winding));
        }
        let pole = (around != 0.0).then_some(if south + north >= 0.0 { 90.0 } else { -90.0 });
        Ok(Self { points, west, east, south, north, pole })
    }

    pub fn edges(&self) -> impl Iterator<Item = (Xy, Xy)> {
        self.points.iter().copied().zip(self.points.iter().skip(1).copied())
    }

    /// Where a point of -180 to 180 and -90 to 90 degrees lies.
    pub fn place(&self, [lon, lat]: Xy) -> Place {
        if lat.abs() >= 90.0 {
            let there = lat <= self.south || lat >= self.north;
            let reaches = there && (lat.total_cmp(&self.south).is_eq() || lat.total_cmp(&self.north).is_eq());
            return match self.pole {
                _ if reaches => Place::Edge,
                Some(pole) if pole * lat > 0.0 => Place::Inside,
                _ => Place::Outside,
            };
        }
        match self.pole {
            Some(pole) => self.place_by_pole(pole, [lon, lat]),
            None => self.place_by_parallel([lon, lat]),
        }
    }

    /// The point's longitudes that the ring may reach.
    fn copies(&self, lon: f64) -> impl Iterator<Item = f64> + use<> {
        let (west, east) = (self.west, self.east);
        [-360.0, 0.0, 360.0, 720.0].into_iter().map(move |by| lon + by).filter(move |lon| (west..=east).contains(lon))
    }

    fn place_by_parallel(&self, [lon, lat]: Xy) -> Place {
        if lat < self.south || lat > self.north {
            return Place::Outside;
        }
        for x in self.copies(lon) {
            let mut inside = false;
            for (a, b) in self.edges() {
                let ([_, from], [_, to]) = (a, b);
                if lat < from.min(to) || lat > from.max(to) {
                    continue;
                }
                if on_segment(a, b, [x, lat]) {
                    return Place::Edge;
                }
                if (from > lat) != (to > lat) {
                    let left = if to > from { Ordering::Greater } else { Ordering::Less };
                    inside ^= side(a, b, [x, lat]) == left;
                }
            }
            if inside {
                return Place::Inside;
            }
        }
        Place::Outside
    }

    /// Inside is what reaches the pole along its meridian without crossing the ring, or by crossing it twice.
    fn place_by_pole(&self, pole: f64, [lon, lat]: Xy) -> Place {
        let mut inside = true;
        for x in self.copies(lon) {
            for (a, b) in self.edges() {
                let ([from, _], [to, _]) = (a, b);
                if x < from.min(to) || x > from.max(to) {
                    continue;
                }
                if on_segment(a, b, [x, lat]) {
                    return Place::Edge;
                }
                if (from > x) != (to > x) {
                    let poleward = if (to > from) == (pole > 0.0) { Ordering::Less } else { Ordering::Greater };
                    inside ^= side(a, b, [x, lat]) == poleward;
                }
            }
        }
        if inside { Place::Inside } else { Place::Outside }
    }
}

fn check_position(position: &Point, at: impl Fn() -> String) -> Result<(), GeometryError> {
    // Beyond 180 is how some write a ring that crosses the antimeridian; once around is enough for that.
    if !(-360.0..=360.0).contains(&position.lon) {
        return Err(GeometryError::new(at(), Wrong::Longitude(position.lon)));
    }
    match position.check_lat("") {
        Ok(()) => Ok(()),
        Err(error) => Err(GeometryError { at: at(), ..error }),
    }
}

/// For each position how many turns its longitude is moved on by, so that no edge is longer than half around.
fn turns(raw: &[Xy]) -> Vec<f64> {
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
