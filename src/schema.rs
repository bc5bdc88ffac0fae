//! Schemas that exist only in the API description: of fields that accept more than one form, and of bodies that contain
//! the fields of another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr};
use utoipa::{Modify, PartialSchema, ToSchema};

pub mod records;

/// A GeoJSON Point.
pub enum GeoPoint {}

/// A GeoJSON geometry of an area, or a circle.
pub enum GeoGeometry {}

/// An Ed25519 public key as a JWK (RFC 8037). Other members are ignored, as RFC 7517 demands.
pub enum PublicJwk {}

/// An object with any members.
#[derive(Debug)]
pub enum AnyObject {}

/// A message, or every failed check.
pub enum MessageOrChecks {}

/// Every failed check, or an object.
pub enum ChecksOrObject {}

/// A string, or a list of parts or blocks.
pub enum TextOrParts {}

/// A keyword, or an object.
pub enum WordOrObject {}

/// A string, or several.
pub enum TextOrTexts {}

/// A string or its tokens, or several.
pub enum Inputs {}

fn of(kind: Type) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(kind).into()
}

fn list(items: RefOr<Schema>) -> RefOr<Schema> {
    ArrayBuilder::new().items(items).into()
}

fn one_of(forms: impl IntoIterator<Item = RefOr<Schema>>) -> RefOr<Schema> {
    forms.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item::<RefOr<Schema>>).into()
}

impl PartialSchema for TextOrParts {
    fn schema() -> RefOr<Schema> {
        one_of([of(Type::String), list(of(Type::Object))])
    }
}

impl PartialSchema for WordOrObject {
    fn schema() -> RefOr<Schema> {
        one_of([of(Type::String), of(Type::Object)])
    }
}

impl PartialSchema for TextOrTexts {
    fn schema() -> RefOr<Schema> {
        one_of([of(Type::String), list(of(Type::String))])
    }
}

impl PartialSchema for Inputs {
    /// An empty input is rejected, so that no value fits both the list of numbers and the list of strings.
    fn schema() -> RefOr<Schema> {
        let filled = |items| ArrayBuilder::new().items(items).min_items(Some(1)).into();
        let tokens = || filled(of(Type::Integer));
        one_of([of(Type::String), filled(of(Type::String)), tokens(), filled(tokens())])
    }
}

/// An object that holds exactly these members, as JSON Schema.
fn exactly(kind: &str, mut members: Value) -> Value {
    let mut required: Vec<String> = members.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    required.insert(0, "type".to_owned());
    if let Some(members) = members.as_object_mut() {
        members.insert("type".to_owned(), json!({ "type": "string", "enum": [kind] }));
    }
    json!({ "type": "object", "properties": members, "required": required, "additionalProperties": false })
}

/// The same for an object of GeoJSON, which may have a box.
fn geojson(kind: &str, members: Value) -> Value {
    let mut object = exactly(kind, members);
    if let Some(members) = object.get_mut("properties").and_then(Value::as_object_mut) {
        let degrees = json!({ "type": "array", "items": { "type": "number" }, "description": "Ignored" });
        members.insert("bbox".to_owned(), degrees);
    }
    object
}

/// The schema of a position: longitude and latitude in degrees.
fn position() -> Value {
    json!({ "type": "array", "items": { "type": "number", "format": "double" }, "minItems": 2,
        "description": "Longitude and latitude in degrees; further numbers, such as an altitude in metres" })
}

fn several(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// Reads a schema that is written as JSON.
fn read(schema: Value) -> RefOr<Schema> {
    serde_json::from_value(schema).unwrap_or_else(|_| of(Type::Object))
}

impl PartialSchema for GeoPoint {
    fn schema() -> RefOr<Schema> {
        read(geojson("Point", json!({ "coordinates": position() })))
    }
}

impl PartialSchema for GeoGeometry {
    fn schema() -> RefOr<Schema> {
        let rings = several(&several(&position()));
        let metres = json!({ "type": "number", "format": "double", "exclusiveMinimum": 0 });
        let own = json!({ "$ref": "#/components/schemas/GeoGeometry" });
        read(json!({ "oneOf": [
            geojson("Point", json!({ "coordinates": position() })),
            geojson("Polygon", json!({ "coordinates": rings })),
            geojson("MultiPolygon", json!({ "coordinates": several(&rings) })),
            geojson("GeometryCollection", json!({ "geometries": several(&own) })),
            exactly("Circle", json!({ "center": position(), "radius_m": metres })),
        ] }))
    }
}

impl PartialSchema for PublicJwk {
    fn schema() -> RefOr<Schema> {
        read(json!({ "type": "object", "required": ["kty", "crv", "x"], "additionalProperties": true, "properties": {
            "kty": { "type": "string", "enum": ["OKP"] },
            "crv": { "type": "string", "enum": ["Ed25519"] },
            "x": { "type": "string", "pattern": "^[A-Za-z0-9_-]{43}$" },
        } }))
    }
}

impl PartialSchema for AnyObject {
    fn schema() -> RefOr<Schema> {
        read(json!({ "type": "object", "additionalProperties": true }))
    }
}

impl PartialSchema for MessageOrChecks {
    fn schema() -> RefOr<Schema> {
        one_of([of(Type::String), list(Ref::from_schema_name("FailedCheck").into())])
    }
}

impl PartialSchema for ChecksOrObject {
    fn schema() -> RefOr<Schema> {
        one_of([AnyObject::schema(), list(Ref::from_schema_name("FailedCheck").into())])
    }
}

impl ToSchema for GeoPoint {}
impl ToSchema for GeoGeometry {}
impl ToSchema for PublicJwk {}
impl ToSchema for AnyObject {}
impl ToSchema for MessageOrChecks {}
impl ToSchema for ChecksOrObject {}
impl ToSchema for TextOrParts {}
impl ToSchema for WordOrObject {}
impl ToSchema for TextOrTexts {}
impl ToSchema for Inputs {}

/// Describes a body with flattened fields as one object, and each variant of a tagged enum as a component of its own: not
/// every reader merges `allOf`, and generated clients name variants after their components.
pub struct Flattened;

impl Modify for Flattened {
    fn modify(&self, api: &mut OpenApi) {
        let Some(components) = &mut api.components else { return };
        let known = components.schemas.clone();
        let parts: BTreeSet<String> = known.values().flat_map(parts_of).collect();
        for (name, schema) in &known {
            if let Some(whole) = flattened(schema, &known) {
                components.schemas.insert(name.clone(), whole.into());
            }
            let Some(variants) = variants(name, schema, &known) else { continue };
            if let Some(RefOr::T(Schema::OneOf(one_of))) = components.schemas.get_mut(name) {
                one_of.items = variants.iter().map(|(name, _)| Ref::from_schema_name(name).into()).collect();
            }
            components.schemas.extend(variants);
        }
        // Components that were only parts of such bodies are no longer referenced.
        let text = serde_json::to_string(api).unwrap_or_default();
        if let Some(components) = &mut api.components {
            let is_used = |name: &String| text.contains(&format!("\"#/components/schemas/{name}\""));
            components.schemas.retain(|name, _| !parts.contains(name) || is_used(name));
        }
    }
}

/// Returns the variants of a tagged enum, named after it and their `type`; `None` for any other schema.
fn variants(
    name: &str,
    schema: &RefOr<Schema>,
    known: &BTreeMap<String, RefOr<Schema>>,
) -> Option<Vec<(String, RefOr<Schema>)>> {
    let RefOr::T(Schema::OneOf(one_of)) = schema else { return None };
    let variant = |item: &RefOr<Schema>| {
        let object = match item {
            RefOr::T(Schema::Object(object)) => object.clone(),
            item => flattened(item, known)?,
        };
        let RefOr::T(Schema::Object(tag)) = object.properties.get("type")? else { return None };
        let value = serde_json::to_value(tag).ok()?;
        let words = value.get("enum")?.get(0)?.as_str()?.split('_');
        let pascal: String = words.map(capitalized).collect();
        Some((format!("{name}{pascal}"), object.into()))
    };
    one_of.items.iter().map(variant).collect()
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Returns the names of the components of an `allOf`.
fn parts_of(schema: &RefOr<Schema>) -> Vec<String> {
    let name = |part: &RefOr<Schema>| match part {
        RefOr::Ref(named) => named.ref_location.rsplit('/').next().map(str::to_owned),
        RefOr::T(_) => None,
    };
    match schema {
        RefOr::T(Schema::AllOf(all)) => all.items.iter().filter_map(name).collect(),
        RefOr::T(Schema::OneOf(one_of)) => one_of.items.iter().flat_map(parts_of).collect(),
        _ => Vec::new(),
    }
}

/// Replaces the inline schema of an envelope's data by a reference if it is a component; utoipa repeats it in place.
pub struct NamedData;

impl Modify for NamedData {
    fn modify(&self, api: &mut OpenApi) {
        let Some(components) = &mut api.components else { return };
        let names: Vec<String> = components.schemas.keys().cloned().collect();
        for (name, schema) in &mut components.schemas {
            let data = name.strip_prefix("Data_").filter(|data| names.iter().any(|name| name == data));
            if let (Some(data), RefOr::T(Schema::Object(envelope))) = (data, schema) {
                envelope.properties.insert("data".to_owned(), Ref::from_schema_name(data).into());
            }
        }
    }
}

/// Returns the object of an `allOf` of objects; `None` for any other schema.
fn flattened(schema: &RefOr<Schema>, known: &BTreeMap<String, RefOr<Schema>>) -> Option<Object> {
    let RefOr::T(Schema::AllOf(all)) = schema else { return None };
    let mut whole = ObjectBuilder::new().schema_type(Type::Object).description(all.description.clone()).build();
    for part in &all.items {
        let part = match part {
            RefOr::Ref(named) => known.get(named.ref_location.rsplit('/').next()?)?,
            part @ RefOr::T(_) => part,
        };
        let RefOr::T(Schema::Object(part)) = part else { return None };
        whole.properties.extend(part.properties.clone());
        whole.required.extend(part.required.clone());
    }
    Some(whole)
}
