//! Bounding boxes of longitude and latitude.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{GeometryError, GeometryErrorKind, Point};

/// A bounding box in degrees. If `west` > `east` it crosses the antimeridian (RFC 7946, 5.2). Serialized as an array
/// `[west, south, east, north]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BBox {
    /// Western longitude.
    pub west: f64,
    /// Southern latitude.
    pub south: f64,
    /// Eastern longitude; less than `west` if the box crosses the antimeridian.
    pub east: f64,
    /// Northern latitude.
    pub north: f64,
}

/// Least and greatest corners of a box that does not cross the antimeridian.
pub(crate) type Rect = ([f64; 2], [f64; 2]);

impl BBox {
    /// Creates a box.
    ///
    /// # Errors
    ///
    /// Fails if a longitude or latitude is out of range, or if `south` > `north`.
    pub fn new(west: f64, south: f64, east: f64, north: f64) -> Result<Self, GeometryError> {
        for corner in [Point::new(west, south), Point::new(east, north)] {
            corner.check().map_err(|error| GeometryError { at: "bbox".to_owned(), ..error })?;
        }
        if south > north {
            return Err(GeometryError::new("bbox", GeometryErrorKind::Box));
        }
        Ok(Self { west, south, east, north })
    }

    /// Parses `west,south,east,north`, as in a query string.
    ///
    /// # Errors
    ///
    /// As for [`BBox::new`]; or if the text is not four numbers.
    pub fn parse(text: &str) -> Result<Self, GeometryError> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        match numbers.as_deref() {
            Ok(&[west, south, east, north]) => Self::new(west, south, east, north),
            _ => Err(GeometryError::new("bbox", GeometryErrorKind::Box)),
        }
    }

    /// Returns `[west, south, east, north]`.
    pub const fn to_array(self) -> [f64; 4] {
        [self.west, self.south, self.east, self.north]
    }

    /// Returns whether the box crosses the antimeridian.
    pub fn crosses_antimeridian(&self) -> bool {
        self.west > self.east
    }

    /// Returns whether the point is inside the box or on its edge. At a pole all longitudes are the same place.
    pub fn contains(&self, point: &Point) -> bool {
        let at_pole = point.lat.abs() >= 90.0;
        let longitude = |lon: f64| self.parts().any(|([west, _], [east, _])| (west..=east).contains(&lon));
        let across = || point.lon.abs() >= 180.0 && longitude(-point.lon);
        (self.south..=self.north).contains(&point.lat) && (at_pole || longitude(point.lon) || across())
    }

    /// Returns whether the boxes share a point.
    pub fn intersects(&self, other: &Self) -> bool {
        let latitudes = self.south <= other.north && other.south <= self.north;
        let poles = [-90.0, 90.0]
            .iter()
            .any(|pole| (self.south..=self.north).contains(pole) && (other.south..=other.north).contains(pole));
        let longitudes = || {
            self.parts().any(|([west, _], [east, _])| {
                other.parts().any(|([from, _], [to, _])| {
                    let overlap = |by: f64| west <= to + by && from + by <= east;
                    overlap(0.0) || overlap(360.0) || overlap(-360.0)
                })
            })
        };
        latitudes && (poles || longitudes())
    }

    /// Splits the box at the antimeridian: one or two rectangles.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Rect> + use<> {
        let Self { west, south, east, north } = *self;
        let (first, second) = if west > east {
            (([west, south], [180.0, north]), Some(([-180.0, south], [east, north])))
        } else {
            (([west, south], [east, north]), None)
        };
        std::iter::once(first).chain(second)
    }

    /// Returns the narrowest box around all boxes; `None` if there are none.
    pub(crate) fn around(boxes: &[Self]) -> Option<Self> {
        let south = boxes.iter().map(|one| one.south).min_by(f64::total_cmp)?;
        let north = boxes.iter().map(|one| one.north).max_by(f64::total_cmp)?;
        let mut spans: Vec<(f64, f64)> =
            boxes.iter().flat_map(Self::parts).map(|([west, _], [east, _])| (west, east)).collect();
        spans.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (first, _) = *spans.first()?;
        // The result spans everything except the widest gap between the boxes.
        let (mut reach, mut widest, mut edges) = (f64::NEG_INFINITY, f64::NEG_INFINITY, (first, first));
        for &(west, east) in &spans {
            if reach > f64::NEG_INFINITY && west - reach > widest {
                (widest, edges) = (west - reach, (west, reach));
            }
            reach = reach.max(east);
        }
        if first + 360.0 - reach >= widest {
            (widest, edges) = (first + 360.0 - reach, (first, reach));
        }
        let (west, east) = if widest > 0.0 { edges } else { (-180.0, 180.0) };
        Some(Self { west, south, east, north })
    }
}

impl Serialize for BBox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_array().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BBox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [west, south, east, north] = Deserialize::deserialize(deserializer)?;
        Self::new(west, south, east, north).map_err(serde::de::Error::custom)
    }
}
