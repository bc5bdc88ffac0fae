//! Readers and writers of geodata formats, over one model of features.

pub(crate) mod csv;
pub(crate) mod geojson;
pub(crate) mod gpx;
pub(crate) mod kml;
pub(crate) mod wkt;
pub(crate) mod xml;

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::shape::Geometry;

/// A geometry with its properties.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Feature {
    pub(crate) geometry: Option<Geometry>,
    pub(crate) properties: Map<String, Value>,
}

/// Sorts the members of all objects, so that what is written does not depend on how objects are kept.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<String, Value> = members.into_iter().collect();
            members.into_iter().map(|(name, value)| (name, sorted(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// Returns a property as a text.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Adds a warning with how many features it concerns.
pub(crate) fn warn(warnings: &mut Vec<String>, count: usize, what: &str) {
    if count > 0 {
        warnings.push(format!("{count} {what}"));
    }
}
