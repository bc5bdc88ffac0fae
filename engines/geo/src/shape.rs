//! Geometries of GeoJSON (RFC 7946), read from and written to JSON.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;
use serde_json::json;

/// Longitude and latitude.
pub(crate) type Position = [f64; 2];

/// Most positions of a geometry.
pub(crate) const MAX_POSITIONS: usize = 50_000;
/// Most nested collections.
const MAX_DEPTH: usize = 8;

/// A geometry. Rings are closed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Geometry {
    Point(Position),
    MultiPoint(Vec<Position>),
    LineString(Vec<Position>),
    MultiLineString(Vec<Vec<Position>>),
    Polygon(Vec<Vec<Position>>),
    MultiPolygon(Vec<Vec<Vec<Position>>>),
    Collection(Vec<Self>),
}

/// A problem of a geometry: path within it, and what is wrong.
type Problem = (Vec<String>, String);

fn problem<T>(at: &[&str], message: &str) -> Result<T, Problem> {
    Err((at.iter().map(|&part| part.to_owned()).collect(), message.to_owned()))
}

fn within<T>(result: Result<T, Problem>, part: impl ToString) -> Result<T, Problem> {
    result.map_err(|(mut path, message)| {
        path.insert(0, part.to_string());
        (path, message)
    })
}

impl Geometry {
    /// Reads the geometry of the field `field`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(crate) fn of_field(field: &[&str], value: &Value) -> Result<Self, Failure> {
        let read = Self::read(value, MAX_DEPTH).and_then(|shape| match shape.positions().len() {
            0 => problem(&[], "is empty: it needs a position at least"),
            _ => Ok(shape),
        });
        let shape = read.map_err(|(path, message)| {
            let loc: Vec<&str> = field.iter().copied().chain(path.iter().map(String::as_str)).collect();
            Failure::invalid(&loc, message)
        })?;
        let count = shape.positions().len();
        if count > MAX_POSITIONS {
            return Err(Failure::too_large(format!(
                "a geometry may have {MAX_POSITIONS} positions, and this has {count}"
            )));
        }
        Ok(shape)
    }

    /// Reads a geometry, which may be empty, or that of a feature.
    pub(crate) fn read(value: &Value, depth: usize) -> Result<Self, Problem> {
        let Some(kind) = value.get("type").and_then(Value::as_str) else {
            return problem(&["type"], "is missing: a GeoJSON geometry has one, such as Polygon");
        };
        if depth == 0 {
            return problem(&[], "is nested too deeply");
        }
        if kind == "Feature" {
            let geometry = value.get("geometry").unwrap_or(&Value::Null);
            return within(Self::read(geometry, depth - 1), "geometry");
        }
        if kind == "GeometryCollection" {
            let Some(members) = value.get("geometries").and_then(Value::as_array) else {
                return problem(&["geometries"], "must be an array");
            };
            let read = members.iter().enumerate().map(|(at, member)| within(Self::read(member, depth - 1), at));
            return within(read.collect::<Result<_, _>>().map(Self::Collection), "geometries");
        }
        let coordinates = value.get("coordinates").unwrap_or(&Value::Null);
        let shape = match kind {
            "Point" => position(coordinates).map(Self::Point),
            "MultiPoint" => list(coordinates, position).map(Self::MultiPoint),
            "LineString" => line(coordinates).map(Self::LineString),
            "MultiLineString" => list(coordinates, line).map(Self::MultiLineString),
            "Polygon" => list(coordinates, ring).map(Self::Polygon),
            "MultiPolygon" => list(coordinates, |polygon| list(polygon, ring)).map(Self::MultiPolygon),
            _ => return problem(&["type"], "is no type of a GeoJSON geometry"),
        };
        within(shape, "coordinates")
    }

    /// Returns all positions.
    pub(crate) fn positions(&self) -> Vec<Position> {
        match self {
            Self::Point(position) => vec![*position],
            Self::MultiPoint(positions) | Self::LineString(positions) => positions.clone(),
            Self::MultiLineString(lines) | Self::Polygon(lines) => lines.concat(),
            Self::MultiPolygon(polygons) => polygons.iter().flatten().flatten().copied().collect(),
            Self::Collection(members) => members.iter().flat_map(Self::positions).collect(),
        }
    }

    /// Returns the polygons: `None` if the geometry has anything else.
    pub(crate) fn polygons(&self) -> Option<Vec<Vec<Vec<Position>>>> {
        match self {
            Self::Polygon(rings) => Some(vec![rings.clone()]),
            Self::MultiPolygon(polygons) => Some(polygons.clone()),
            Self::Collection(members) => {
                let polygons: Option<Vec<_>> = members.iter().map(Self::polygons).collect();
                polygons.map(|polygons| polygons.concat())
            }
            _ => None,
        }
    }

    /// Reads the polygons of the field `field`.
    ///
    /// # Errors
    /// As for `of_field`, and for a geometry with points or lines.
    pub(crate) fn polygons_of_field(field: &[&str], value: &Value) -> Result<Vec<Vec<Vec<Position>>>, Failure> {
        let shape = Self::of_field(field, value)?;
        shape.polygons().ok_or_else(|| Failure::invalid(field, "must be a Polygon or MultiPolygon"))
    }

    /// Applies a function to all positions.
    pub(crate) fn map(&self, f: &impl Fn(Position) -> Position) -> Self {
        let line = |positions: &[Position]| positions.iter().map(|position| f(*position)).collect::<Vec<_>>();
        let lines = |lines: &[Vec<Position>]| lines.iter().map(|positions| line(positions)).collect::<Vec<_>>();
        match self {
            Self::Point(position) => Self::Point(f(*position)),
            Self::MultiPoint(positions) => Self::MultiPoint(line(positions)),
            Self::LineString(positions) => Self::LineString(line(positions)),
            Self::MultiLineString(all) => Self::MultiLineString(lines(all)),
            Self::Polygon(rings) => Self::Polygon(lines(rings)),
            Self::MultiPolygon(polygons) => Self::MultiPolygon(polygons.iter().map(|rings| lines(rings)).collect()),
            Self::Collection(members) => Self::Collection(members.iter().map(|member| member.map(f)).collect()),
        }
    }

    /// Writes the geometry.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Point(position) => json!({ "coordinates": position, "type": "Point" }),
            Self::MultiPoint(positions) => json!({ "coordinates": positions, "type": "MultiPoint" }),
            Self::LineString(positions) => json!({ "coordinates": positions, "type": "LineString" }),
            Self::MultiLineString(lines) => json!({ "coordinates": lines, "type": "MultiLineString" }),
            Self::Polygon(rings) => json!({ "coordinates": rings, "type": "Polygon" }),
            Self::MultiPolygon(polygons) => json!({ "coordinates": polygons, "type": "MultiPolygon" }),
            Self::Collection(members) => {
                let members: Vec<Value> = members.iter().map(Self::to_json).collect();
                json!({ "geometries": members, "type": "GeometryCollection" })
            }
        }
    }

    /// Returns polygons as one geometry: a Polygon if there is one, else a MultiPolygon.
    pub(crate) fn of_polygons(mut polygons: Vec<Vec<Vec<Position>>>) -> Self {
        if polygons.len() == 1
            && let Some(polygon) = polygons.pop()
        {
            return Self::Polygon(polygon);
        }
        Self::MultiPolygon(polygons)
    }
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> Result<T, Problem>) -> Result<Vec<T>, Problem> {
    let Some(items) = value.as_array() else { return problem(&[], "must be an array") };
    items.iter().enumerate().map(|(at, item)| within(read(item), at)).collect()
}

fn position(value: &Value) -> Result<Position, Problem> {
    let numbers: Option<Vec<f64>> = value.as_array().and_then(|items| items.iter().map(Value::as_f64).collect());
    let Some([lon, lat, ..]) = numbers.as_deref() else {
        return problem(&[], "must be a position: [longitude, latitude]");
    };
    if lat.abs() > 90.0 {
        return problem(&["1"], "must be a latitude between -90 and 90; the longitude comes first");
    }
    if lon.abs() > 180.0 {
        return problem(&["0"], "must be a longitude between -180 and 180");
    }
    Ok([*lon, *lat])
}

fn line(value: &Value) -> Result<Vec<Position>, Problem> {
    let positions = list(value, position)?;
    if positions.len() < 2 {
        return problem(&[], "must have two positions at least");
    }
    Ok(positions)
}

fn ring(value: &Value) -> Result<Vec<Position>, Problem> {
    let positions = list(value, position)?;
    if positions.len() < 4 {
        return problem(&[], "must have four positions at least, the last one as the first");
    }
    if positions.first() != positions.last() {
        return problem(&[], "must be closed: the last position as the first");
    }
    Ok(positions)
}

/// Returns a position in the kernel's type.
pub(crate) fn latlon([lon, lat]: Position) -> earth::LatLon {
    earth::LatLon::new(lat, lon)
}

/// Returns a position of the kernel as in GeoJSON.
pub(crate) fn lonlat(position: earth::LatLon) -> Position {
    [position.lon, position.lat]
}

/// Returns the area of polygons with their holes in square metres, and the length of their outer rings in metres. Edges
/// are geodesics.
pub(crate) fn measure(polygons: &[Vec<Vec<Position>>]) -> (f64, f64) {
    let (mut area, mut perimeter) = (0.0, 0.0);
    for rings in polygons {
        for (index, ring) in rings.iter().enumerate() {
            let ring: Vec<_> = ring.iter().copied().map(latlon).collect();
            let measure = earth::ring_measure(&ring);
            if index == 0 {
                area += measure.area.abs();
                perimeter += measure.perimeter;
            } else {
                area -= measure.area.abs();
            }
        }
    }
    (area.max(0.0), perimeter)
}

/// Returns the middle of the box around positions, each taken as near the first one as it can be.
pub(crate) fn middle(positions: &[Position]) -> earth::LatLon {
    let Some([first, _]) = positions.first() else { return earth::LatLon::new(0.0, 0.0) };
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for [lon, lat] in positions {
        let near = first + earth::wrap_longitude(lon - first);
        for (at, value) in [near, *lat].into_iter().enumerate() {
            if let (Some(low), Some(high)) = (low.get_mut(at), high.get_mut(at)) {
                *low = low.min(value);
                *high = high.max(value);
            }
        }
    }
    earth::LatLon::new((low[1] + high[1]) / 2.0, earth::wrap_longitude((low[0] + high[0]) / 2.0))
}
