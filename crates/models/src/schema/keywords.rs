//! Classifies schemas as llama.cpp's grammar builder does, and lists the keywords it honours.
//!
//! The order of the decisions is that of `common/json-schema.cpp` in llama.cpp.

use serde_json::{Map, Value};

/// How the grammar builder reads one schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Reference,
    /// `anyOf` or `oneOf`, both read as "any of".
    AnyOf(&'static str),
    /// `enum` or `const`.
    Values,
    Object,
    Array,
    String,
    Integer,
    /// Number, boolean, null or anything.
    Plain,
}

impl Kind {
    /// Returns one kind, or one for each of several types.
    pub(super) fn of(schema: &Map<String, Value>, path: &str) -> Result<Vec<Self>, String> {
        if schema.contains_key("$ref") {
            return Ok(vec![Self::Reference]);
        }
        if let Some(word) = ["oneOf", "anyOf"].into_iter().find(|word| schema.contains_key(*word)) {
            return Ok(vec![Self::AnyOf(word)]);
        }
        if schema.contains_key("const") || schema.contains_key("enum") {
            return Ok(vec![Self::Values]);
        }
        match schema.get("type") {
            None => Ok(vec![Self::without_type(schema)]),
            Some(Value::String(name)) => Ok(vec![Self::of_type(name, path)?]),
            Some(Value::Array(names)) if (1..=7).contains(&names.len()) => {
                names.iter().map(|name| Self::of_type(name.as_str().unwrap_or_default(), path)).collect()
            }
            Some(_) => Err(format!("{path}: type must be a string or an array of 1 to 7 strings")),
        }
    }

    fn of_type(name: &str, path: &str) -> Result<Self, String> {
        match name {
            "object" => Ok(Self::Object),
            "array" => Ok(Self::Array),
            "string" => Ok(Self::String),
            "integer" => Ok(Self::Integer),
            "number" | "boolean" | "null" => Ok(Self::Plain),
            _ => Err(format!("{path}: unknown type {name:?}")),
        }
    }

    fn without_type(schema: &Map<String, Value>) -> Self {
        let has = |word: &str| schema.contains_key(word);
        if has("properties") || has("additionalProperties") {
            Self::Object
        } else if has("items") {
            Self::Array
        } else if has("minLength") || has("maxLength") {
            Self::String
        } else {
            Self::Plain
        }
    }

    /// Returns whether the grammar of this kind enforces the keyword.
    pub(super) fn enforces(self, word: &str) -> bool {
        match self {
            Self::Reference => word == "$ref",
            Self::AnyOf(own) => word == own,
            // The values imply the type.
            Self::Values => matches!(word, "enum" | "const" | "type"),
            Self::Object => matches!(word, "type" | "properties" | "required" | "additionalProperties"),
            Self::Array => matches!(word, "type" | "items" | "minItems" | "maxItems"),
            Self::String => matches!(word, "type" | "minLength" | "maxLength"),
            Self::Integer => matches!(word, "type" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"),
            Self::Plain => word == "type",
        }
    }
}

/// Keywords that do not constrain a document (`format` is an annotation in JSON Schema 2020-12, section 7.2.1 of
/// "Validation"; llama.cpp enforces date, time, date-time and uuid all the same).
pub(super) fn is_annotation(word: &str) -> bool {
    matches!(
        word,
        "$schema"
            | "$id"
            | "$comment"
            | "$defs"
            | "definitions"
            | "title"
            | "description"
            | "default"
            | "examples"
            | "format"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "strict"
            | "name"
    )
}
