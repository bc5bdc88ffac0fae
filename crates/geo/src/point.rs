//! A point, serialized as a GeoJSON object, or as a position inside other geometries.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{GeometryError, GeometryErrorKind};

/// A position on WGS 84. Serialized as GeoJSON's `{"type":"Point","coordinates":[lon,lat,alt?]}`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Degrees east.
    pub lon: f64,
    /// Degrees north.
    pub lat: f64,
    /// Height above the ellipsoid in metres. Stored, but not used in any computation.
    pub alt: Option<f64>,
}

impl Point {
    /// Creates a point without altitude.
    pub const fn new(lon: f64, lat: f64) -> Self {
        Self { lon, lat, alt: None }
    }

    /// Validates the position.
    ///
    /// # Errors
    ///
    /// Fails if the longitude is outside -180 to 180, the latitude is outside -90 to 90, or a number is not finite.
    pub fn check(&self) -> Result<(), GeometryError> {
        if !(-180.0..=180.0).contains(&self.lon) {
            return Err(GeometryError::new("coordinates", GeometryErrorKind::Longitude(self.lon)));
        }
        self.check_lat("coordinates")
    }

    pub(crate) fn check_lat(&self, at: &str) -> Result<(), GeometryError> {
        if !(-90.0..=90.0).contains(&self.lat) {
            return Err(GeometryError::new(at, GeometryErrorKind::Latitude(self.lat)));
        }
        match self.alt {
            Some(alt) if !alt.is_finite() => Err(GeometryError::new(at, GeometryErrorKind::Altitude(alt))),
            _ => Ok(()),
        }
    }

    pub(crate) const fn xy(&self) -> [f64; 2] {
        [self.lon, self.lat]
    }
}

/// A GeoJSON position: an array. Elements after the altitude are ignored (RFC 7946, 3.1.1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position(pub Point);

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.alt {
            None => (self.0.lon, self.0.lat).serialize(serializer),
            Some(alt) => (self.0.lon, self.0.lat, alt).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Position;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a position: [longitude, latitude] or [longitude, latitude, altitude]")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Position, A::Error> {
                let missing = |len| serde::de::Error::invalid_length(len, &Self);
                let lon = seq.next_element()?.ok_or_else(|| missing(0))?;
                let lat = seq.next_element()?.ok_or_else(|| missing(1))?;
                let alt = seq.next_element()?;
                while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(Position(Point { lon, lat, alt }))
            }
        }
        deserializer.deserialize_seq(Visitor)
    }
}

/// JSON representation of a point. RFC 7946 has no processing model for other members; to ignore one, such as a radius,
/// would change what is meant.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum Object {
    Point {
        coordinates: Position,
        #[serde(default, skip_serializing)]
        bbox: IgnoredAny,
    },
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Object::Point { coordinates: Position(*self), bbox: IgnoredAny }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object::Point { coordinates: Position(point), .. } = Object::deserialize(deserializer)?;
        Ok(point)
    }
}
