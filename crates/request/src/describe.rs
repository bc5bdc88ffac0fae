//! Completes the descriptions that utoipa derives: bounds and defaults, which may be constants, flattened members and
//! examples.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::Number;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::schema::{AdditionalProperties, Object, Schema, SchemaType, Type};

use crate::traced::{self, Closed, nullable};

/// The bounds of one member.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// Least number.
    pub minimum: Option<f64>,
    /// Greatest number.
    pub maximum: Option<f64>,
    /// Fewest characters of a text.
    pub min_length: Option<usize>,
    /// Most characters of a text.
    pub max_length: Option<usize>,
    /// Fewest items of a list.
    pub min_items: Option<usize>,
    /// Most items of a list.
    pub max_items: Option<usize>,
    /// The value that is used where none is sent.
    pub default: Option<Value>,
}

/// Puts bounds into the schema of a property.
pub fn property(schema: &mut RefOr<Schema>, name: &str, bounds: Bounds) {
    if let Some(RefOr::T(property)) = object(schema).and_then(|object| object.properties.get_mut(name)) {
        bound(property, bounds);
    }
}

/// Puts bounds into the schema of a parameter.
pub fn parameter(parameters: &mut [Parameter], name: &str, bounds: Bounds) {
    let named = parameters.iter_mut().find(|parameter| parameter.name == name);
    if let Some(RefOr::T(schema)) = named.and_then(|parameter| parameter.schema.as_mut()) {
        bound(schema, bounds);
    }
}

/// Describes a property by what its type reads, where it was described as a text or an object only.
pub fn traced<T: DeserializeOwned>(schema: &mut RefOr<Schema>, name: &str) {
    if let Some(property) = object(schema).and_then(|object| object.properties.get_mut(name)) {
        refine::<T>(property);
    }
}

/// Describes a parameter by what its type reads.
pub fn traced_parameter<T: DeserializeOwned>(parameters: &mut [Parameter], name: &str) {
    let named = parameters.iter_mut().find(|parameter| parameter.name == name);
    if let Some(schema) = named.and_then(|parameter| parameter.schema.as_mut()) {
        refine::<T>(schema);
    }
}

fn refine<T: DeserializeOwned>(schema: &mut RefOr<Schema>) {
    let (Some(traced), Ok(present)) = (traced::schema::<T>(Closed::Yes), serde_json::to_value(&*schema)) else {
        return;
    };
    let refined = refined(&present, traced);
    if let Some(refined) = refined.and_then(|refined| serde_json::from_value(refined).ok()) {
        *schema = refined;
    }
}

/// Returns the traced schema with the description and the bounds of the present one; `None` where the present one says
/// as much.
#[must_use]
pub fn refined(present: &Value, traced: Value) -> Option<Value> {
    let mut present = present.as_object()?.clone();
    let kinds = present.get("type").cloned().unwrap_or_default();
    let has = |kind: &str| kinds == kind || kinds.as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind));
    let says = |names: &[&str]| names.iter().any(|name| present.contains_key(*name));
    let says_more = match () {
        () if has("string") => {
            says(&["enum", "format", "pattern"]) || traced.get("enum").is_none() && traced.get("format").is_none()
        }
        () if has("object") => says(&["properties", "additionalProperties", "oneOf"]),
        () if has("array") => {
            refined(present.get("items")?, traced.get("items").cloned().unwrap_or_default()).is_none()
        }
        () => true,
    };
    if says_more {
        return None;
    }
    let mut whole = if has("null") { nullable(traced) } else { traced };
    for replaced in ["type", "items"] {
        present.remove(replaced);
    }
    whole.as_object_mut()?.extend(present);
    Some(whole)
}

/// Adds the properties of another object.
pub fn flatten(schema: &mut RefOr<Schema>, mut other: RefOr<Schema>) {
    let (Some(whole), Some(part)) = (object(schema), object(&mut other)) else { return };
    whole.properties.append(&mut part.properties);
    whole.required.append(&mut part.required);
}

/// Makes optional properties required.
pub fn require(schema: &mut RefOr<Schema>, names: &[&str]) {
    let Some(object) = object(schema) else { return };
    for name in names {
        object.required.push((*name).to_owned());
        if let Some(RefOr::T(Schema::Object(property))) = object.properties.get_mut(*name)
            && let SchemaType::Array(types) = &property.schema_type
            && let Some(kind) = types.iter().find(|kind| **kind != Type::Null)
        {
            property.schema_type = SchemaType::Type(kind.clone());
            if let Some(values) = &mut property.enum_values {
                values.retain(|value| !value.is_null());
            }
        }
    }
}

/// States that an object has no members but those described.
pub fn close(schema: &mut RefOr<Schema>) {
    if let Some(object) = object(schema) {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
}

/// Sets the example of an object, where there is one.
pub fn example(schema: &mut RefOr<Schema>, example: Map<String, Value>) {
    if let Some(object) = object(schema) {
        object.examples = vec![Value::Object(example)];
    }
}

fn object(schema: &mut RefOr<Schema>) -> Option<&mut Object> {
    match schema {
        RefOr::T(Schema::Object(object)) => Some(object),
        _ => None,
    }
}

fn bound(schema: &mut Schema, bounds: Bounds) {
    let Bounds { minimum, maximum, min_length, max_length, min_items, max_items, default } = bounds;
    match schema {
        Schema::Object(object) => {
            object.minimum = minimum.map(number).or(object.minimum.take());
            object.maximum = maximum.map(number).or(object.maximum.take());
            object.min_length = min_length.or(object.min_length);
            object.max_length = max_length.or(object.max_length);
            object.default = default.or(object.default.take());
        }
        Schema::Array(array) => {
            array.min_items = min_items.or(array.min_items);
            array.max_items = max_items.or(array.max_items);
            array.default = default.or(array.default.take());
        }
        _ => {}
    }
}

fn number(bound: f64) -> Number {
    if bound.fract() == 0.0 && bound.abs() < 9e15 { Number::Int(bound as isize) } else { Number::Float(bound) }
}
