//! Geometries as they are sent and stored: GeoJSON's (RFC 7946), and a circle.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::point::Position;
use crate::polygon::Polygon;
use crate::shape::Part;
use crate::{BBox, GeometryError, HALF_AROUND_M, Point, Shape, Wrong};

/// Positions of a geometry, all together.
pub const MAX_VERTICES: usize = 10_000;

/// Polygons or geometries of one geometry.
pub const MAX_MEMBERS: usize = 1_000;

/// A geometry. Reading one from JSON looks at its form only: [`Geometry::check`] or [`Geometry::shape`] at the rest. It
/// is told apart by its `type`, so only self-describing encodings (JSON) can hold it.
#[derive(Debug, Clone, PartialEq)]
pub enum Geometry {
    Point(Point),
    /// The outer ring first, then holes. Either may go either way round.
    Polygon(Vec<Vec<Point>>),
    MultiPolygon(Vec<Vec<Vec<Point>>>),
    GeometryCollection(Vec<Geometry>),
    /// Not GeoJSON's: `{"type":"Circle","center":[lon,lat],"radius_m":…}`.
    Circle {
        center: Point,
        radius_m: f64,
    },
}

impl Geometry {
    /// Whether it is one: positions in range, rings closed and simple, holes inside, not too large.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn check(&self) -> Result<(), GeometryError> {
        self.shape().map(drop)
    }

    /// Checks it and makes it ready to be asked. An edge goes the shorter way around the globe; a ring around a pole
    /// encloses the nearer one.
    ///
    /// # Errors
    /// As [`Geometry::check`].
    pub fn shape(&self) -> Result<Shape, GeometryError> {
        if self.vertices() > MAX_VERTICES {
            return Err(GeometryError::new("coordinates", Wrong::TooManyVertices));
        }
        let mut parts = Vec::new();
        self.collect(&mut parts)?;
        Shape::of(parts).ok_or_else(|| GeometryError::new(self.place(), Wrong::Empty))
    }

    /// The box around it (RFC 7946, 5): west > east where it crosses the antimeridian.
    ///
    /// # Errors
    /// As [`Geometry::check`].
    pub fn bbox(&self) -> Result<BBox, GeometryError> {
        Ok(self.shape()?.bbox())
    }

    /// How many positions it has.
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

    fn collect(&self, parts: &mut Vec<Part>) -> Result<(), GeometryError> {
        let bounded = |members: usize| match members {
            0..=MAX_MEMBERS => Ok(()),
            _ => Err(GeometryError::new(self.place(), Wrong::TooManyMembers)),
        };
        match self {
            Self::Point(point) => {
                point.check()?;
                parts.push(Part::Point(*point));
            }
            Self::Circle { center, radius_m } => {
                center.check().map_err(|error| GeometryError { at: "center".to_owned(), ..error })?;
                if !(*radius_m > 0.0 && *radius_m <= HALF_AROUND_M) {
                    return Err(GeometryError::new("radius_m", Wrong::Radius(*radius_m)));
                }
                parts.push(Part::circle(*center, *radius_m));
            }
            Self::Polygon(rings) => parts.push(Part::Polygon(Polygon::new(rings, "coordinates")?)),
            Self::MultiPolygon(polygons) => {
                bounded(polygons.len())?;
                for (n, rings) in polygons.iter().enumerate() {
                    parts.push(Part::Polygon(Polygon::new(rings, &format!("coordinates[{n}]"))?));
                }
            }
            Self::GeometryCollection(members) => {
                bounded(members.len())?;
                for (n, member) in members.iter().enumerate() {
                    if matches!(member, Self::GeometryCollection(_)) {
                        return Err(GeometryError::new(format!("geometries[{n}]"), Wrong::Nested));
                    }
                    let within =
                        |error: GeometryError| GeometryError::new(format!("geometries[{n}].{}", error.at), error.wrong);
                    member.collect(parts).map_err(within)?;
                }
            }
        }
        Ok(())
    }
}

/// The JSON of a geometry.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type")]
enum Object {
    Point { coordinates: Position },
    Polygon { coordinates: Vec<Vec<Position>> },
    MultiPolygon { coordinates: Vec<Vec<Vec<Position>>> },
    GeometryCollection { geometries: Vec<Geometry> },
    Circle { center: Position, radius_m: f64 },
}

fn objects(rings: &[Vec<Point>]) -> Vec<Vec<Position>> {
    rings.iter().map(|ring| ring.iter().copied().map(Position).collect()).collect()
}

fn points(rings: Vec<Vec<Position>>) -> Vec<Vec<Point>> {
    rings.into_iter().map(|ring| ring.into_iter().map(|Position(point)| point).collect()).collect()
}

impl Serialize for Geometry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = match self {
            Self::Point(point) => Object::Point { coordinates: Position(*point) },
            Self::Polygon(rings) => Object::Polygon { coordinates: objects(rings) },
            Self::MultiPolygon(polygons) => {
                Object::MultiPolygon { coordinates: polygons.iter().map(|rings| objects(rings)).collect() }
            }
            Self::GeometryCollection(members) => Object::GeometryCollection { geometries: members.clone() },
            Self::Circle { center, radius_m } => Object::Circle { center: Position(*center), radius_m: *radius_m },
        };
        object.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Geometry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Object::deserialize(deserializer)? {
            Object::Point { coordinates: Position(point) } => Self::Point(point),
            Object::Polygon { coordinates } => Self::Polygon(points(coordinates)),
            Object::MultiPolygon { coordinates } => Self::MultiPolygon(coordinates.into_iter().map(points).collect()),
            Object::GeometryCollection { geometries } => Self::GeometryCollection(geometries),
            Object::Circle { center: Position(center), radius_m } => Self::Circle { center, radius_m },
        })
    }
}
