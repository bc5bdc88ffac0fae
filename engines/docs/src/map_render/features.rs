//! Features of GeoJSON (RFC 7946) as marks, lines and areas.

use muster_engine::prelude::*;

/// Most layers, features and positions of all layers, and nested collections.
const MAX_LAYERS: usize = 50;
const MAX_FEATURES: usize = 20_000;
const MAX_POSITIONS: usize = 200_000;
const MAX_DEPTH: usize = 8;

/// Longitude and latitude in degrees. Along a line longitudes are continuous, so they may leave ±180.
pub(super) type Position = [f64; 2];

/// What is drawn of a geometry.
pub(super) enum Part {
    Mark(Position),
    Line(Vec<Position>),
    /// Rings: the inside is what an odd number of them encloses.
    Area(Vec<Vec<Position>>),
}

impl Part {
    pub(super) fn lines(&self) -> Vec<&[Position]> {
        match self {
            Self::Mark(position) => vec![std::slice::from_ref(position)],
            Self::Line(line) => vec![line],
            Self::Area(rings) => rings.iter().map(Vec::as_slice).collect(),
        }
    }
}

pub(super) struct Feature {
    pub(super) parts: Vec<Part>,
    /// The number of the layer's `value_field`.
    pub(super) value: Option<f64>,
}

/// Reads the features of all layers: their data, and the field of their values.
///
/// # Errors
/// `Invalid` with the path of what is wrong, `TooLarge`.
pub(super) fn read(layers: &[(&Value, Option<&str>)]) -> Result<Vec<Vec<Feature>>, Failure> {
    if layers.len() > MAX_LAYERS {
        return Err(Failure::too_large(format!("layers: at most {MAX_LAYERS}")));
    }
    let (mut left, mut count) = (MAX_POSITIONS, 0);
    let mut read = Vec::new();
    for (at, (data, value_field)) in layers.iter().enumerate() {
        let members = data.get("features").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        count += members.len();
        if count > MAX_FEATURES {
            return Err(Failure::too_large(format!("layers: at most {MAX_FEATURES} features together")));
        }
        let mut features = Vec::new();
        for (nth, member) in members.iter().enumerate() {
            let mut parts = Vec::new();
            if let Some(geometry) = member.get("geometry").filter(|geometry| !geometry.is_null()) {
                let mut reader = Reader { parts: &mut parts, left: &mut left };
                reader.geometry(geometry, MAX_DEPTH).map_err(|problem| match problem {
                    Problem::Many => {
                        Failure::too_large(format!("layers: at most {MAX_POSITIONS} positions together: simplify them"))
                    }
                    Problem::Wrong(why) => {
                        let (at, nth) = (at.to_string(), nth.to_string());
                        Failure::invalid(&["layers", &at, "data", "features", &nth, "geometry"], why)
                    }
                })?;
            }
            let value = value_field.and_then(|field| member.get("properties")?.get(field)?.as_f64());
            features.push(Feature { parts, value });
        }
        read.push(features);
    }
    Ok(read)
}

enum Problem {
    Many,
    Wrong(&'static str),
}

struct Reader<'a> {
    parts: &'a mut Vec<Part>,
    left: &'a mut usize,
}

impl Reader<'_> {
    fn geometry(&mut self, value: &Value, depth: usize) -> Result<(), Problem> {
        let Some(depth) = depth.checked_sub(1) else { return Err(Problem::Wrong("is nested too deeply")) };
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "GeometryCollection" {
            return array(value.get("geometries"))?.iter().try_for_each(|member| self.geometry(member, depth));
        }
        let coordinates = value.get("coordinates");
        match kind {
            "Point" => self.mark(coordinates),
            "MultiPoint" => array(coordinates)?.iter().try_for_each(|position| self.mark(Some(position))),
            "LineString" => self.line(coordinates),
            "MultiLineString" => array(coordinates)?.iter().try_for_each(|line| self.line(Some(line))),
            "Polygon" => self.area(coordinates),
            "MultiPolygon" => array(coordinates)?.iter().try_for_each(|polygon| self.area(Some(polygon))),
            _ => Err(Problem::Wrong("has no type of a GeoJSON geometry, such as Polygon")),
        }
    }

    fn mark(&mut self, value: Option<&Value>) -> Result<(), Problem> {
        let position = self.position(value)?;
        self.parts.push(Part::Mark(position));
        Ok(())
    }

    fn line(&mut self, value: Option<&Value>) -> Result<(), Problem> {
        let line = self.positions(value, 2)?;
        self.parts.push(Part::Line(line));
        Ok(())
    }

    fn area(&mut self, value: Option<&Value>) -> Result<(), Problem> {
        let rings = array(value)?.iter().map(|ring| self.positions(Some(ring), 4)).collect::<Result<_, _>>()?;
        self.parts.push(Part::Area(rings));
        Ok(())
    }

    /// Positions whose longitudes go the shorter way round from one to the next.
    fn positions(&mut self, value: Option<&Value>, least: usize) -> Result<Vec<Position>, Problem> {
        let mut positions: Vec<Position> = Vec::new();
        for value in array(value)? {
            let [lon, lat] = self.position(Some(value))?;
            let lon =
                positions.last().map_or(lon, |[before, _]| before + muster_kernel_earth::wrap_longitude(lon - before));
            positions.push([lon, lat]);
        }
        if positions.len() < least {
            return Err(Problem::Wrong("has too few positions: a line has two, a ring four"));
        }
        Ok(positions)
    }

    fn position(&mut self, value: Option<&Value>) -> Result<Position, Problem> {
        *self.left = self.left.checked_sub(1).ok_or(Problem::Many)?;
        let numbers = array(value)?;
        let number = |at: usize| numbers.get(at).and_then(Value::as_f64);
        match (number(0), number(1)) {
            (Some(lon), Some(lat)) if lon.abs() <= 360.0 && lat.abs() <= 90.0 => Ok([lon, lat]),
            _ => Err(Problem::Wrong("has a position that is no [longitude, latitude] in degrees")),
        }
    }
}

fn array(value: Option<&Value>) -> Result<&[Value], Problem> {
    value.and_then(Value::as_array).map(Vec::as_slice).ok_or(Problem::Wrong("has no array where it needs one"))
}
