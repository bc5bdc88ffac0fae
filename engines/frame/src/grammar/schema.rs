//! JSON Schema (2020-12) of fields and types.

use serde_json::{Map, Value, json};

use super::{Field, Need, Prim, Range, Type, finding};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
pub(super) const GEOMETRIES: [&str; 7] =
    ["Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection"];

/// Returns a closed object schema: unknown fields are rejected.
pub fn input_schema(fields: &[Field]) -> Value {
    let required: Vec<_> = fields.iter().filter(|field| field.need == Need::Required).map(|f| &f.name).collect();
    json!({
        "$schema": DIALECT, "type": "object", "properties": properties(fields), "required": required,
        "additionalProperties": false,
    })
}

/// Returns an open object schema: later versions may add fields.
pub fn output_schema(fields: &[Field]) -> Value {
    json!({ "$schema": DIALECT, "type": "object", "properties": properties(fields) })
}

fn properties(fields: &[Field]) -> Map<String, Value> {
    let property = |field: &Field| {
        let mut schema = type_schema(&field.kind, field.range);
        if let Some(object) = schema.as_object_mut() {
            if !field.unit.is_empty() {
                object.insert("x-unit".to_owned(), field.unit.clone().into());
            }
            if let Need::Default(default) = &field.need {
                object.insert("default".to_owned(), default.clone());
            }
        }
        (field.name.clone(), schema)
    };
    fields.iter().map(property).collect()
}

/// Returns a type's schema; the range applies to its numbers.
pub fn type_schema(kind: &Type, range: Range) -> Value {
    match kind {
        Type::Prim(prim) => prim_schema(*prim, range),
        Type::Enum(values) => json!({ "type": "string", "enum": values }),
        Type::Array(item) => json!({ "type": "array", "items": type_schema(item, range) }),
        Type::Map(item) => json!({ "type": "object", "additionalProperties": type_schema(item, Range::default()) }),
        Type::Record(members) => {
            let properties: Map<String, Value> = members
                .iter()
                .map(|member| {
                    let mut schema = type_schema(&member.kind, Range::default());
                    if let Some(object) = schema.as_object_mut().filter(|_| !member.unit.is_empty()) {
                        object.insert("x-unit".to_owned(), member.unit.clone().into());
                    }
                    (member.name.clone(), schema)
                })
                .collect();
            let required: Vec<_> = members.iter().filter(|member| !member.optional).map(|m| &m.name).collect();
            json!({ "type": "object", "properties": properties, "required": required })
        }
    }
}

fn prim_schema(prim: Prim, range: Range) -> Value {
    match prim {
        Prim::Number | Prim::Integer => {
            let mut schema = Map::from_iter([("type".to_owned(), prim.name().into())]);
            let bounds = [("minimum", range.least), ("maximum", range.most)];
            for (name, bound) in bounds.into_iter().filter_map(|(name, bound)| bound.map(|bound| (name, bound))) {
                schema.insert(name.to_owned(), number(bound));
            }
            Value::Object(schema)
        }
        Prim::Boolean => json!({ "type": "boolean" }),
        Prim::String => json!({ "type": "string" }),
        Prim::Any => json!({}),
        Prim::Datetime => json!({ "type": "string", "format": "date-time" }),
        Prim::Date => json!({ "type": "string", "format": "date" }),
        Prim::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Prim::LatLon => json!({
            "type": "object",
            "properties": {
                "lat": { "type": "number", "minimum": -90, "maximum": 90 },
                "lon": { "type": "number", "minimum": -180, "maximum": 180 },
            },
            "required": ["lat", "lon"],
        }),
        Prim::Bbox => json!({
            "type": "array", "items": { "type": "number" }, "minItems": 4, "maxItems": 4,
            "description": "west, south, east, north",
        }),
        Prim::Geometry => json!({
            "type": "object", "description": "GeoJSON geometry", "required": ["type"],
            "properties": { "type": { "enum": GEOMETRIES } },
        }),
        Prim::FeatureCollection => json!({
            "type": "object", "description": "GeoJSON FeatureCollection", "required": ["type", "features"],
            "properties": { "type": { "const": "FeatureCollection" }, "features": { "type": "array", "items": { "type": "object" } } },
        }),
        Prim::Finding => type_schema(&finding(), Range::default()),
    }
}

/// Writes whole numbers as `1`, not `1.0`.
fn number(bound: f64) -> Value {
    if bound.fract() == 0.0 && bound.abs() < 9e15 { (bound as i64).into() } else { bound.into() }
}
