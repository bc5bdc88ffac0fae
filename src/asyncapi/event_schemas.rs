//! JSON Schemas of the data of events.

use muster_network::device::{Health, Status, Telemetry};
use muster_request::traced::{Closed, schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Fields of examples that may be null or absent.
const NULLABLE: [&str; 11] =
    ["from", "ms", "step", "why", "phase", "total_steps", "percent", "p50_ms", "p99_ms", "model", "instruction"];

/// Returns a schema of values with the fields and types of an example, and no others.
pub(super) fn shape(example: &Value) -> Value {
    match example {
        Value::Null => json!({}),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Number(number) if number.is_f64() => json!({ "type": "number", "format": "double" }),
        Value::Number(_) => json!({ "type": "integer", "format": "int64", "minimum": 0 }),
        Value::Array(items) => json!({ "type": "array", "items": items.first().map_or(json!({}), shape) }),
        Value::Object(fields) => {
            // The keys of this object are identifiers, not names of fields.
            let of_provider = |name: &str, value: &Value| {
                let value = value.as_object().and_then(|object| object.values().next()).filter(|_| name == "breakers");
                value.map(|value| json!({ "type": "object", "additionalProperties": shape(value) }))
            };
            let field = |(name, value): (&String, &Value)| {
                let schema = of_provider(name, value).unwrap_or_else(|| shape(value));
                (name.clone(), if NULLABLE.contains(&name.as_str()) { nullable(schema) } else { schema })
            };
            let properties: Map<_, _> = fields.iter().map(field).collect();
            let required: Vec<&str> =
                fields.keys().map(String::as_str).filter(|name| !NULLABLE.contains(name)).collect();
            object(json!(properties), &required)
        }
    }
}

/// Returns the schema of an example, some of its fields by the types that serialize them.
pub(super) fn typed(example: &Value, types: Value) -> Value {
    let mut schema = shape(example);
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return schema };
    for (name, kind) in types.as_object().into_iter().flatten() {
        let kind = if NULLABLE.contains(&name.as_str()) { nullable(kind.clone()) } else { kind.clone() };
        properties.insert(name.clone(), kind);
    }
    schema
}

/// Returns the schema of a type that is serialized.
pub(super) fn of<T: DeserializeOwned>() -> Value {
    schema::<T>(Closed::Yes).unwrap_or_else(|| json!({}))
}

/// Returns the schema of a closed set of words.
pub(super) fn words<'w>(words: impl IntoIterator<Item = &'w str>) -> Value {
    json!({ "type": "string", "enum": words.into_iter().collect::<Vec<_>>() })
}

/// Returns a schema of objects with these fields and no others.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Returns such a schema with the identifier and the version of a record.
pub(super) fn versioned(mut fields: Value, required: &[&str]) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("id".to_owned(), text("The record's identifier"));
        fields.insert("version".to_owned(), json!({ "type": "integer", "minimum": 0 }));
    }
    let required: Vec<&str> = ["id", "version"].iter().chain(required).copied().collect();
    object(fields, &required)
}

pub(super) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

pub(super) fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

pub(super) fn nullable(schema: Value) -> Value {
    json!({ "oneOf": [schema, { "type": "null" }] })
}

fn point() -> Value {
    nullable(reference("GeoPoint"))
}

pub(super) fn telemetry() -> Value {
    let readings = json!({ "id": text("The device"), "by": text("Identifier of the principal that reported them"),
        "readings": of::<Telemetry>().pointer("/properties/readings") });
    let state = json!({ "id": text("The device"), "status": of::<Status>(),
        "last_seen": { "type": ["string", "null"], "format": "date-time" }, "health": of::<Health>(),
        "location": point() });
    let state = object(state, &["id", "status", "last_seen", "health", "location"]);
    json!({ "oneOf": [object(readings, &["id", "by", "readings"]), state] })
}

pub(super) fn place() -> Value {
    let name = json!({ "type": ["string", "null"] });
    let fields = json!({
        "geofence_id": { "type": "string" },
        "geofence_name": name,
        "geofence_kind": name,
        "subject_type": { "enum": ["device", "incident"] },
        "subject_id": { "type": "string" },
        "point": point(),
        "seen_at": { "type": "string", "format": "date-time" },
        "reason": { "enum": ["moved", "geofence_changed", "gone"] },
    });
    object(fields, &["geofence_id", "subject_type", "subject_id", "point", "seen_at", "reason"])
}

pub(super) fn health() -> Value {
    use muster_core::health::{ModuleStatus, OverallStatus};
    let module = words(
        [ModuleStatus::Starting, ModuleStatus::Healthy, ModuleStatus::Degraded, ModuleStatus::Unhealthy]
            .map(ModuleStatus::name),
    );
    let status =
        words([OverallStatus::Operational, OverallStatus::Degraded, OverallStatus::Outage].map(OverallStatus::name));
    let module = object(
        json!({ "module": { "type": "string" }, "from": module, "to": module, "why": { "type": ["string", "null"] } }),
        &["module", "from", "to"],
    );
    let fields = json!({ "status": status, "score": { "type": "integer", "minimum": 0, "maximum": 100 },
        "modules": { "type": "array", "items": module, "minItems": 1 } });
    object(fields, &["status", "score", "modules"])
}

/// Returns the schemas that messages refer to, directly or through another schema.
pub(super) fn referred(messages: &Value, all: &Map<String, Value>) -> Map<String, Value> {
    let mut found = Map::new();
    let mut open = vec![messages.clone()];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                let name = object.get("$ref").and_then(Value::as_str);
                let name = name.and_then(|target| target.strip_prefix("#/components/schemas/"));
                if let Some((name, schema)) = name.and_then(|name| Some((name, all.get(name)?)))
                    && found.insert(name.to_owned(), schema.clone()).is_none()
                {
                    open.push(schema.clone());
                }
                open.extend(object.into_iter().map(|(_, value)| value));
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}
