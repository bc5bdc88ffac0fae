//! q11: GeoJSON validation and repair.

use geo::Validation;
use muster_engine::prelude::*;
use serde_json::json;

use crate::planar::{of_geo, to_geo, unwrapped};
use crate::shape::{Geometry, Position};

const MAX_PROBLEMS: usize = 1_000;
const MAX_POSITIONS: usize = 50_000;
/// Topology compares pairs of edges.
const MAX_TOPOLOGY_POSITIONS: usize = 5_000;
const MAX_DEPTH: usize = 16;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    geojson: Value,
    repair: bool,
}

/// A problem. `path` is a JSON pointer.
#[derive(Output, Debug, Clone, PartialEq)]
pub struct ProblemFound {
    path: String,
    code: &'static str,
    message: String,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    valid: bool,
    problems: Vec<ProblemFound>,
    repaired: Option<Value>,
}

/// Problems so far, and what they are found in.
struct Check {
    problems: Vec<ProblemFound>,
    positions: usize,
}

/// Checks a GeoJSON object against RFC 7946 and repairs what can be: open rings, repeated positions, orientation, rings
/// that cross themselves, edges over the antimeridian. `repaired` is absent where the structure is beyond repair.
///
/// # Errors
/// Too many positions.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    let mut check = Check { problems: Vec::new(), positions: 0 };
    let repaired = check.object(&input.geojson, "", 0);
    if check.positions > MAX_POSITIONS {
        return Err(Failure::too_large(format!(
            "at most {MAX_POSITIONS} positions are taken, and there are {}",
            check.positions
        )));
    }
    Ok(Output {
        valid: check.problems.is_empty(),
        problems: check.problems,
        repaired: repaired.filter(|_| input.repair),
    })
}

impl Check {
    fn add(&mut self, path: &str, code: &'static str, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(ProblemFound { path: path.to_owned(), code, message: message.into() });
        }
    }

    /// Checks any object and returns it repaired; `None` if it cannot be.
    fn object(&mut self, value: &Value, path: &str, depth: usize) -> Option<Value> {
        let Some(members) = value.as_object() else {
            self.add(path, "not_an_object", "must be an object with a type");
            return None;
        };
        if depth > MAX_DEPTH {
            self.add(path, "too_deep", format!("is nested more than {MAX_DEPTH} deep"));
            return None;
        }
        if members.contains_key("crs") {
            self.add(&format!("{path}/crs"), "crs", "was removed from GeoJSON: coordinates are WGS 84 (RFC 7946, 4)");
        }
        let mut repaired = members.clone();
        repaired.remove("crs");
        match members.get("type").and_then(Value::as_str) {
            Some("FeatureCollection") => {
                let features = self.list(members, "features", path, depth, Self::feature)?;
                repaired.insert("features".to_owned(), features);
            }
            Some("Feature") => return self.feature(value, path, depth),
            Some("GeometryCollection") => {
                let nested = members.get("geometries").and_then(Value::as_array).into_iter().flatten();
                if nested.clone().any(|member| member.get("type").is_some_and(|kind| kind == "GeometryCollection")) {
                    self.add(
                        path,
                        "nested_collection",
                        "has a GeometryCollection in it, which should be avoided (3.1.8)",
                    );
                }
                let geometries = self.list(members, "geometries", path, depth, Self::object)?;
                repaired.insert("geometries".to_owned(), geometries);
            }
            Some("Point" | "MultiPoint" | "LineString" | "MultiLineString" | "Polygon" | "MultiPolygon") => {
                return self.geometry(repaired, path);
            }
            Some(kind) => {
                self.add(&format!("{path}/type"), "unknown_type", format!("is {kind}, which is no type of GeoJSON"));
                return None;
            }
            None => {
                self.add(&format!("{path}/type"), "missing_type", "must be one of the nine types of GeoJSON");
                return None;
            }
        }
        Some(Value::Object(repaired))
    }

    fn list(
        &mut self,
        members: &Map<String, Value>,
        name: &str,
        path: &str,
        depth: usize,
        check: fn(&mut Self, &Value, &str, usize) -> Option<Value>,
    ) -> Option<Value> {
        let path = format!("{path}/{name}");
        let Some(items) = members.get(name).and_then(Value::as_array) else {
            self.add(&path, "missing_member", "must be an array");
            return None;
        };
        let mut repaired = Some(Vec::with_capacity(items.len()));
        for (index, item) in items.iter().enumerate() {
            let item = check(self, item, &format!("{path}/{index}"), depth + 1);
            repaired = repaired.zip(item).map(|(mut items, item)| {
                items.push(item);
                items
            });
        }
        repaired.map(Value::Array)
    }

    fn feature(&mut self, value: &Value, path: &str, depth: usize) -> Option<Value> {
        if value.get("type").is_none_or(|kind| kind != "Feature") {
            self.add(&format!("{path}/type"), "not_a_feature", "must be Feature");
        }
        let mut repaired = value.as_object()?.clone();
        repaired.insert("type".to_owned(), "Feature".into());
        match value.get("properties") {
            Some(Value::Object(_) | Value::Null) => {}
            other => {
                let (code, message) = match other {
                    None => ("missing_member", "is missing: a feature has properties, or null"),
                    Some(_) => ("wrong_member", "must be an object or null"),
                };
                self.add(&format!("{path}/properties"), code, message);
                repaired.insert("properties".to_owned(), Value::Null);
            }
        }
        if value.get("id").is_some_and(|id| !id.is_string() && !id.is_number()) {
            self.add(&format!("{path}/id"), "wrong_member", "must be a string or a number");
            repaired.remove("id");
        }
        match value.get("geometry") {
            None => {
                self.add(
                    &format!("{path}/geometry"),
                    "missing_member",
                    "is missing: a feature has a geometry, or null",
                );
                repaired.insert("geometry".to_owned(), Value::Null);
            }
            Some(Value::Null) => {}
            Some(geometry) => {
                let geometry = self.object(geometry, &format!("{path}/geometry"), depth + 1)?;
                repaired.insert("geometry".to_owned(), geometry);
            }
        }
        Some(Value::Object(repaired))
    }

    /// Checks a geometry with coordinates. Its other members stay.
    fn geometry(&mut self, mut members: Map<String, Value>, path: &str) -> Option<Value> {
        let kind = members.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let at = format!("{path}/coordinates");
        let coordinates = members.get("coordinates").cloned().unwrap_or(Value::Null);
        let levels = match kind.as_str() {
            "Point" => 0,
            "MultiPoint" | "LineString" => 1,
            "MultiLineString" | "Polygon" => 2,
            _ => 3,
        };
        let (is_line, is_ring) = (kind.ends_with("LineString"), kind.ends_with("Polygon"));
        let mut coordinates = self.coordinates(&coordinates, levels, &at, is_line, is_ring)?;
        if is_ring {
            coordinates = self.polygons(coordinates, &kind, &at)?;
        } else if is_line && crosses_antimeridian(&coordinates) {
            self.add(&at, "antimeridian", "has an edge over the antimeridian, which should be cut there (3.1.9)");
        }
        let kind = if kind == "Polygon" && depth_of(&coordinates) == 4 { "MultiPolygon" } else { &kind };
        members.insert("type".to_owned(), kind.into());
        members.insert("coordinates".to_owned(), coordinates);
        Some(Value::Object(members))
    }

    /// Checks nested arrays of positions; lines and rings are the lowest arrays.
    fn coordinates(&mut self, value: &Value, levels: usize, path: &str, is_line: bool, is_ring: bool) -> Option<Value> {
        if levels == 0 {
            return self.position(value, path);
        }
        let Some(items) = value.as_array() else {
            self.add(path, "not_an_array", "must be an array");
            return None;
        };
        let mut repaired = Some(Vec::with_capacity(items.len()));
        for (index, item) in items.iter().enumerate() {
            let item = self.coordinates(item, levels - 1, &format!("{path}/{index}"), is_line, is_ring);
            repaired = repaired.zip(item).map(|(mut items, item)| {
                items.push(item);
                items
            });
        }
        let mut items = repaired?;
        if levels == 1 && (is_line || is_ring) {
            let before = items.len();
            items.dedup();
            if items.len() < before {
                self.add(path, "repeated_position", "has the same position twice in a row");
            }
            if is_ring && items.first() != items.last() {
                self.add(path, "open_ring", "must end with its first position (3.1.6)");
                items.extend(items.first().cloned());
            }
            let least = if is_ring { 4 } else { 2 };
            if items.len() < least {
                self.add(path, "too_few_positions", format!("must have {least} different positions at least"));
                return None;
            }
        }
        Some(Value::Array(items))
    }

    fn position(&mut self, value: &Value, path: &str) -> Option<Value> {
        self.positions += 1;
        let numbers: Option<Vec<f64>> = value.as_array().and_then(|items| items.iter().map(Value::as_f64).collect());
        let Some([lon, lat, ..]) = numbers.as_deref() else {
            self.add(path, "not_a_position", "must be [longitude, latitude] or [longitude, latitude, altitude]");
            return None;
        };
        let (lon, lat) = (*lon, *lat);
        if numbers.as_ref().is_some_and(|numbers| numbers.len() > 3) {
            self.add(path, "long_position", "has more than three numbers (3.1.1)");
        }
        if lat.abs() > 90.0 {
            let hint = if lon.abs() <= 90.0 && lat.abs() <= 180.0 { ": is the latitude first?" } else { "" };
            self.add(path, "latitude_range", format!("has the latitude {lat}, which is not within -90 and 90{hint}"));
            return None;
        }
        let mut items: Vec<Value> = value.as_array()?.iter().take(3).cloned().collect();
        if lon.abs() > 180.0 {
            self.add(path, "longitude_range", format!("has the longitude {lon}, which is not within -180 and 180"));
            if let Some(first) = items.first_mut() {
                *first = json!(muster_kernel_earth::wrap_longitude(lon));
            }
        }
        Some(Value::Array(items))
    }

    /// Checks rings together: topology, orientation, antimeridian. Returns repaired coordinates, with the depth of a
    /// MultiPolygon if one polygon became several.
    fn polygons(&mut self, coordinates: Value, kind: &str, path: &str) -> Option<Value> {
        let shape = Geometry::read(&json!({ "type": kind, "coordinates": coordinates }), 2).ok()?;
        let polygons = shape.polygons()?;
        let before = self.problems.len();
        let at = |index: usize| if kind == "Polygon" { path.to_owned() } else { format!("{path}/{index}") };
        let mut broken = false;
        for (index, rings) in polygons.iter().enumerate() {
            if rings.iter().any(|ring| unwrapped(ring).iter().any(|[lon, _]| lon.abs() > 180.0)) {
                self.add(&at(index), "antimeridian", "crosses the antimeridian and should be cut there (3.1.9)");
                broken = true;
            }
            for (number, ring) in rings.iter().enumerate() {
                if (signed_area(ring) > 0.0) != (number == 0) {
                    let should = if number == 0 { "counter-clockwise" } else { "clockwise" };
                    self.add(&format!("{}/{number}", at(index)), "orientation", format!("should run {should} (3.1.6)"));
                }
            }
        }
        let planar = to_geo(&polygons, 0.0);
        if shape.positions().len() > MAX_TOPOLOGY_POSITIONS {
            self.add(
                path,
                "not_checked",
                format!("has more than {MAX_TOPOLOGY_POSITIONS} positions: its topology was not checked"),
            );
        } else {
            for error in planar.validation_errors() {
                self.add(path, "topology", error.to_string());
                broken = true;
            }
        }
        if self.problems.len() == before {
            return Some(coordinates);
        }
        if !broken {
            return Some(oriented(coordinates, kind));
        }
        // A union with nothing dissolves crossings by the even-odd rule's plain parts.
        let repaired = of_geo(repaired(&planar));
        if repaired.is_empty() {
            return None;
        }
        Some(match Geometry::of_polygons(repaired) {
            Geometry::Polygon(rings) if kind == "Polygon" => json!(rings),
            Geometry::Polygon(rings) => json!([rings]),
            other => other.to_json().get("coordinates").cloned().unwrap_or(Value::Null),
        })
    }
}

/// Even-odd interpretation of all rings.
fn repaired(polygons: &geo::MultiPolygon) -> geo::MultiPolygon {
    use geo::BooleanOps;
    let nothing = geo::MultiPolygon(Vec::new());
    polygons.boolean_op_with_fill_rule(&nothing, geo::OpType::Union, geo::bool_ops::FillRule::EvenOdd)
}

/// Turns rings round where needed; altitudes stay with their positions.
fn oriented(coordinates: Value, kind: &str) -> Value {
    let polygon = |rings: Value| -> Value {
        let Value::Array(rings) = rings else { return rings };
        let ring = |(number, ring): (usize, Value)| {
            let positions: Vec<Position> = serde_json::from_value(flat(&ring)).unwrap_or_default();
            let Value::Array(mut items) = ring else { return ring };
            if (signed_area(&positions) > 0.0) != (number == 0) {
                items.reverse();
            }
            Value::Array(items)
        };
        rings.into_iter().enumerate().map(ring).collect()
    };
    match (kind, coordinates) {
        ("Polygon", rings) => polygon(rings),
        (_, Value::Array(polygons)) => polygons.into_iter().map(polygon).collect(),
        (_, other) => other,
    }
}

/// Positions without altitudes.
fn flat(ring: &Value) -> Value {
    let items = ring.as_array().into_iter().flatten();
    items.map(|item| item.as_array().into_iter().flatten().take(2).cloned().collect::<Value>()).collect()
}

fn signed_area(ring: &[Position]) -> f64 {
    let ring = unwrapped(ring);
    let edges = ring.iter().zip(ring.iter().skip(1));
    edges.map(|([x0, y0], [x1, y1])| (x1 - x0) * (y1 + y0)).sum::<f64>() / -2.0
}

/// Whether a line, or one of several, has an edge that spans more than half a turn.
fn crosses_antimeridian(coordinates: &Value) -> bool {
    let lon = |item: &Value| item.get(0).and_then(Value::as_f64);
    let items: Vec<&Value> = coordinates.as_array().into_iter().flatten().collect();
    if items.first().is_some_and(|first| lon(first).is_none()) {
        return items.into_iter().any(crosses_antimeridian);
    }
    let lons: Vec<f64> = items.into_iter().filter_map(lon).collect();
    lons.iter().zip(lons.iter().skip(1)).any(|(one, other)| (one - other).abs() > 180.0)
}

/// How deeply arrays are nested.
fn depth_of(value: &Value) -> usize {
    value.as_array().map_or(0, |items| 1 + items.first().map_or(0, depth_of))
}
