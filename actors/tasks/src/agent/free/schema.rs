//! Schemas of tools as any model accepts them.
//!
//! A grammar, by which the embedded model is held to a schema, cannot express bounds of numbers, and some providers reject
//! keywords that they do not know. Such keywords become words of the description; the engine checks the arguments after
//! the call, and the model is told what does not fit.

use serde_json::{Map, Value};

/// Keywords that every model accepts. Others are written into the description.
const KEPT: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "description",
    "default",
    "minItems",
    "maxItems",
];

/// Returns a schema without keywords that a grammar cannot enforce.
pub(super) fn plain(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let mut kept: Map<String, Value> = Map::new();
    for (word, value) in object.iter().filter(|(word, _)| KEPT.contains(&word.as_str())) {
        let value = match (word.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                Value::Object(properties.iter().map(|(name, schema)| (name.clone(), plain(schema))).collect())
            }
            ("items" | "additionalProperties", inner) => plain(inner),
            ("anyOf", Value::Array(schemas)) => schemas.iter().map(plain).collect(),
            (_, other) => other.clone(),
        };
        kept.insert(word.clone(), value);
    }
    // Names that are required but not described, as of GeoJSON's `features`.
    if let (Some(Value::Array(required)), properties) = (kept.get("required").cloned(), kept.get("properties").cloned())
    {
        let known = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            properties.as_ref().is_some_and(|properties| properties.get(name).is_some())
        };
        kept.insert("required".to_owned(), required.into_iter().filter(known).collect());
    }
    let notes = notes(object);
    if !notes.is_empty() {
        let said = kept.get("description").and_then(Value::as_str).map(|said| format!("{said}; ")).unwrap_or_default();
        kept.insert("description".to_owned(), format!("{said}{}", notes.join(", ")).into());
    }
    Value::Object(kept)
}

/// What the keywords say that were left out.
fn notes(schema: &Map<String, Value>) -> Vec<String> {
    let mut notes = Vec::new();
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => notes.push(format!("{least} to {most}")),
        (Some(least), None) => notes.push(format!("at least {least}")),
        (None, Some(most)) => notes.push(format!("at most {most}")),
        (None, None) => {}
    }
    if let Some(unit) = schema.get("x-unit").and_then(Value::as_str) {
        notes.push(format!("unit {unit}"));
    }
    match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => notes.push("a time such as 2026-11-21T03:00:00Z".to_owned()),
        Some("date") => notes.push("a date such as 2026-11-21".to_owned()),
        _ => {}
    }
    if schema.contains_key("contentEncoding") {
        notes.push("base64".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bounds_and_units_become_words() {
        let schema = json!({
            "$schema": "x", "type": "object", "required": ["t", "at"], "additionalProperties": false,
            "properties": {
                "t": { "type": "number", "minimum": -60, "maximum": 60, "x-unit": "degC" },
                "at": { "type": "string", "format": "date-time" },
                "rows": { "type": "array", "items": { "type": "integer", "minimum": 1 } },
                "shape": { "type": "object", "required": ["type", "features"], "properties": { "type": { "const": "FeatureCollection" } } },
            },
        });
        let wanted = json!({
            "type": "object", "required": ["t", "at"], "additionalProperties": false,
            "properties": {
                "t": { "type": "number", "description": "-60 to 60, unit degC" },
                "at": { "type": "string", "description": "a time such as 2026-11-21T03:00:00Z" },
                "rows": { "type": "array", "items": { "type": "integer", "description": "at least 1" } },
                "shape": { "type": "object", "required": ["type"], "properties": { "type": { "const": "FeatureCollection" } } },
            },
        });
        assert_eq!(plain(&schema), wanted);
    }

    /// The words that the grammar of the embedded model knows (`crates/models/src/schema/keywords.rs`), for each type.
    #[test]
    fn no_toolbox_has_a_keyword_that_a_grammar_cannot_enforce() {
        fn check(schema: &Value, path: &str) {
            let object = schema.as_object().unwrap_or_else(|| panic!("{path}: {schema}"));
            let kind = object.get("type").and_then(Value::as_str);
            for (word, value) in object {
                let good = match word.as_str() {
                    "type" | "enum" | "const" | "anyOf" | "description" | "default" => true,
                    "properties" | "required" | "additionalProperties" => kind == Some("object"),
                    "items" | "minItems" | "maxItems" => kind == Some("array"),
                    _ => false,
                };
                assert!(good, "{path}: {word} in {schema}");
                match word.as_str() {
                    "properties" => value
                        .as_object()
                        .unwrap()
                        .iter()
                        .for_each(|(name, inner)| check(inner, &format!("{path}/{name}"))),
                    "items" => check(value, path),
                    "additionalProperties" if value.is_object() => check(value, path),
                    "anyOf" => value.as_array().unwrap().iter().for_each(|inner| check(inner, path)),
                    _ => {}
                }
            }
        }
        for agent in crate::agent::tests::agents().list() {
            super::super::calls::tools(agent).iter().for_each(|tool| check(&tool.parameters, &tool.name));
        }
    }
}
