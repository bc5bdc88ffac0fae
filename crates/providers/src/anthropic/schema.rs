//! Converts a JSON Schema to the subset of this provider's constrained decoding.
//!
//! It requires closed objects and does not know value bounds ("JSON Schema limitations" in its documentation on
//! structured outputs). Bounds are moved to the description for the model, as the official clients do; a schema whose
//! shape cannot be kept is rejected.

use serde_json::{Map, Value};

/// Keywords sent unchanged.
const KEPT: [&str; 8] = ["type", "enum", "const", "title", "default", "required", "$ref", "description"];

/// Keywords whose values are maps of schemas.
const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];

/// Bounds that are moved to the description.
const BOUNDS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentEncoding",
];

/// Keywords without which the schema would be meaningless.
const REFUSED: [&str; 10] = [
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "prefixItems",
    "contains",
    "dependentSchemas",
    "dependentRequired",
];

const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// Returns the converted schema, or what cannot be kept.
pub(super) fn convert_schema(schema: &Value) -> Result<Value, String> {
    let Value::Object(schema) = schema else {
        return Err("this provider takes no schema but an object".to_owned());
    };
    let mut out = Map::new();
    let mut bounds = Vec::new();
    for (key, value) in schema {
        match key.as_str() {
            kept if KEPT.contains(&kept) => {
                out.insert(key.clone(), value.clone());
            }
            named if NAMED.contains(&named) => {
                out.insert(key.clone(), each_named(value)?);
            }
            "items" => {
                out.insert(key.clone(), convert_schema(value)?);
            }
            "anyOf" | "allOf" => {
                out.insert(key.clone(), each(value)?);
            }
            "oneOf" => {
                out.insert("anyOf".to_owned(), each(value)?);
            }
            "minItems" if value.as_u64().is_some_and(|least| least <= 1) => {
                out.insert(key.clone(), value.clone());
            }
            "format" if value.as_str().is_some_and(|format| FORMATS.contains(&format)) => {
                out.insert(key.clone(), value.clone());
            }
            bound if BOUNDS.contains(&bound) || matches!(bound, "minItems" | "format") => {
                bounds.push(format!("{key}: {value}"));
            }
            refused if REFUSED.contains(&refused) => {
                return Err(format!("this provider's schemas know no {refused:?}"));
            }
            // Annotations.
            _ => {}
        }
    }
    if is_object(schema) {
        close(schema)?;
        out.insert("additionalProperties".to_owned(), false.into());
    }
    describe(&mut out, &bounds);
    Ok(Value::Object(out))
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => schema.contains_key("properties"),
    }
}

/// Closes an object. An open object would come back empty, or without what the caller expects.
fn close(schema: &Map<String, Value>) -> Result<(), String> {
    let named = schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => Ok(()),
        None | Some(Value::Bool(true)) if named => Ok(()),
        _ => Err("this provider's schemas know no objects but those whose properties are all named".to_owned()),
    }
}

fn each(schemas: &Value) -> Result<Value, String> {
    schemas.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(convert_schema).collect()
}

fn each_named(schemas: &Value) -> Result<Value, String> {
    let Value::Object(schemas) = schemas else {
        return Err("a list of named schemas is no object".to_owned());
    };
    let narrowed: Result<Map<_, _>, String> =
        schemas.iter().map(|(name, schema)| Ok((name.clone(), convert_schema(schema)?))).collect();
    Ok(Value::Object(narrowed?))
}

fn describe(schema: &mut Map<String, Value>, bounds: &[String]) {
    if bounds.is_empty() {
        return;
    }
    let bounds = bounds.join(", ");
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(blocks) => format!("{blocks}\n\n{{{bounds}}}"),
        None => format!("{{{bounds}}}"),
    };
    schema.insert("description".to_owned(), text.into());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The example of the official Python client's `transform_schema`.
    #[test]
    fn bounds_become_words() {
        let given = json!({"type": "integer", "minimum": 1, "maximum": 10, "description": "A number"});
        let expected = json!({"type": "integer", "description": "A number\n\n{maximum: 10, minimum: 1}"});
        assert_eq!(convert_schema(&given), Ok(expected));
    }

    #[test]
    fn every_object_is_closed() {
        let given = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "when": {"type": "string", "format": "date-time"},
                "who": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/person"}},
                "what": {"oneOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["when"],
            "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": true}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "when": {"type": "string", "format": "date-time"},
                "who": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/person"}},
                "what": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["when"],
            "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": false}},
            "additionalProperties": false,
        });
        assert_eq!(convert_schema(&given), Ok(expected.clone()));
        assert_eq!(convert_schema(&expected), Ok(expected));
    }

    #[test]
    fn unsupported_schemas_are_rejected() {
        for given in [
            json!(true),
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {"a": {"type": "object"}}}),
            json!({"type": "array", "items": [{"type": "string"}]}),
            json!({"type": "array", "prefixItems": [{"type": "string"}]}),
            json!({"not": {"type": "string"}}),
        ] {
            assert!(convert_schema(&given).is_err(), "{given}");
        }
        let empty = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(convert_schema(&empty), Ok(empty));
    }
}
