//! Geometries as sent and stored: those of GeoJSON (RFC 7946), and circles.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::point::Position;
use crate::polygon::Polygon;
use crate::shape::ShapePart;
use crate::{BBox, GeometryError, GeometryErrorKind, MAX_DISTANCE_M, Point, Shape};

/// Maximum number of positions in a geometry.
pub const MAX_VERTICES: usize = 10_000;

/// Maximum number of polygons or geometries in a geometry.
pub const MAX_MEMBERS: usize = 1_000;

/// A geometry. Deserialization checks its structure only; use [`Geometry::check`] or [`Geometry::shape`] to validate
/// it. It is tagged by its `type`, so only self-describing formats (JSON) can represent it.
#[derive(Debug, Clone, PartialEq)]
pub enum Geometry {
    /// A single position.
    Point(Point),
    /// Outer ring first, followed by holes. Rings may have either orientation.
    Polygon(Vec<Vec<Point>>),
    /// Several polygons, each as in `Polygon`.
    MultiPolygon(Vec<Vec<Vec<Point>>>),
    /// Several geometries; collections must not be nested.
    GeometryCollection(Vec<Geometry>),
    /// A circle, which GeoJSON does not define: `{"type":"Circle","center":[lon,lat],"radius_m":…}`.
    Circle {
        /// Centre of the circle.
        center: Point,
        /// Radius in metres, along great circles.
        radius_m: f64,
    },
}

impl Geometry {
    /// Validates the geometry: positions in range, rings closed and simple, holes inside, sizes within bounds.
    ///
    /// # Errors
    ///
    /// Returns the first problem and its path.
    pub fn check(&self) -> Result<(), GeometryError> {
        self.shape().map(drop)
    }

    /// Validates the geometry and converts it for fast queries. Edges take the shorter way around the globe; a ring
    /// around a pole encloses the nearer one.
    ///
    /// # Errors
    ///
    /// As for [`Geometry::check`].
    pub fn shape(&self) -> Result<Shape, GeometryError> {
        if self.vertices() > MAX_VERTICES {
            return Err(GeometryError::new("coordinates", GeometryErrorKind::TooManyVertices));
        }
        let mut parts = Vec::new();
        self.collect(&mut parts, &mut 0)?;
        Shape::of(parts).ok_or_else(|| GeometryError::new(self.place(), GeometryErrorKind::Empty))
    }

    /// Returns the bounding box (RFC 7946, 5), with west > east if it crosses the antimeridian.
    ///
    /// # Errors
    ///
    /// As for [`Geometry::check`].
    pub fn bbox(&self) -> Result<BBox, GeometryError> {
        Ok(self.shape()?.bbox())
    }

    /// Returns the number of positions.
    pub fn vertices(&self) -> usize {
        let polygon = |rings: &Vec<Vec<Point>>| rings.iter().map(Vec::len).sum::<usize>();
        match self {
            Self::Point(_) | Self::Circle { .. } => 1,
            Self::Polygon(rings) => polygon(rings),
            Self::MultiPolygon(polygons) => polygons.iter().map(polygon).sum(),
            Self::GeometryCollection(members) => members.iter().map(Self::vertices).sum(),
        }
    }

    const fn place(&self) -> &'static str {
        match self {
            Self::GeometryCollection(_) => "geometries",
            Self::Circle { .. } => "center",
            Self::Point(_) | Self::Polygon(_) | Self::MultiPolygon(_) => "coordinates",
        }
    }

    fn collect(&self, parts: &mut Vec<ShapePart>, compared: &mut usize) -> Result<(), GeometryError> {
        let bounded = |members: usize| match members {
            0..=MAX_MEMBERS => Ok(()),
            _ => Err(GeometryError::new(self.place(), GeometryErrorKind::TooManyMembers)),
        };
        match self {
            Self::Point(point) => {
                point.check()?;
                parts.push(ShapePart::Point(*point));
            }
            Self::Circle { center, radius_m } => {
                center.check().map_err(|error| GeometryError { at: "center".to_owned(), ..error })?;
                if !(*radius_m > 0.0 && *radius_m <= MAX_DISTANCE_M) {
                    return Err(GeometryError::new("radius_m", GeometryErrorKind::Radius(*radius_m)));
                }
                parts.push(ShapePart::circle(*center, *radius_m));
            }
            Self::Polygon(rings) => parts.push(ShapePart::Polygon(Polygon::new(rings, "coordinates", compared)?)),
            Self::MultiPolygon(polygons) => {
                bounded(polygons.len())?;
                for (n, rings) in polygons.iter().enumerate() {
                    let at = format!("coordinates[{n}]");
                    parts.push(ShapePart::Polygon(Polygon::new(rings, &at, compared)?));
                }
            }
            Self::GeometryCollection(members) => {
                bounded(members.len())?;
                for (n, member) in members.iter().enumerate() {
                    if matches!(member, Self::GeometryCollection(_)) {
                        return Err(GeometryError::new(format!("geometries[{n}]"), GeometryErrorKind::Nested));
                    }
                    let within =
                        |error: GeometryError| GeometryError::new(format!("geometries[{n}].{}", error.at), error.kind);
                    member.collect(parts, compared).map_err(within)?;
                }
            }
        }
        Ok(())
    }
}

/// JSON representation of a geometry. RFC 7946 has no processing model for other members; to ignore one, such as the
/// radius beside a point, would change what is meant.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum Object {
    Point {
        coordinates: Position,
        #[serde(default, skip_serializing)]
        bbox: IgnoredAny,
    },
    Polygon {
        coordinates: Vec<Vec<Position>>,
        #[serde(default, skip_serializing)]
        bbox: IgnoredAny,
    },
    MultiPolygon {
        coordinates: Vec<Vec<Vec<Position>>>,
        #[serde(default, skip_serializing)]
        bbox: IgnoredAny,
    },
    GeometryCollection {
        geometries: Vec<Geometry>,
        #[serde(default, skip_serializing)]
        bbox: IgnoredAny,
    },
    Circle {
        center: Position,
        radius_m: f64,
    },
}

fn objects(rings: &[Vec<Point>]) -> Vec<Vec<Position>> {
    rings.iter().map(|ring| ring.iter().copied().map(Position).collect()).collect()
}

fn points(rings: Vec<Vec<Position>>) -> Vec<Vec<Point>> {
    rings.into_iter().map(|ring| ring.into_iter().map(|Position(point)| point).collect()).collect()
}

impl Serialize for Geometry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bbox = IgnoredAny;
        let object = match self {
            Self::Point(point) => Object::Point { coordinates: Position(*point), bbox },
            Self::Polygon(rings) => Object::Polygon { coordinates: objects(rings), bbox },
            Self::MultiPolygon(polygons) => {
                Object::MultiPolygon { coordinates: polygons.iter().map(|rings| objects(rings)).collect(), bbox }
            }
            Self::GeometryCollection(members) => Object::GeometryCollection { geometries: members.clone(), bbox },
            Self::Circle { center, radius_m } => Object::Circle { center: Position(*center), radius_m: *radius_m },
        };
        object.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Geometry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Object::deserialize(deserializer)? {
            Object::Point { coordinates: Position(point), .. } => Self::Point(point),
            Object::Polygon { coordinates, .. } => Self::Polygon(points(coordinates)),
            Object::MultiPolygon { coordinates, .. } => {
                Self::MultiPolygon(coordinates.into_iter().map(points).collect())
            }
            Object::GeometryCollection { geometries, .. } => Self::GeometryCollection(geometries),
            Object::Circle { center: Position(center), radius_m } => Self::Circle { center, radius_m },
        })
    }
}
