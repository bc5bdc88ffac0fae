//! GeoJSON (RFC 7946).

use muster_engine::prelude::*;
use serde_json::json;

use super::Feature;
use crate::shape::Geometry;

const MAX_DEPTH: usize = 8;

pub(crate) fn read(content: &str) -> Result<Vec<Feature>, String> {
    let value: Value =
        serde_json::from_str(content.trim_start_matches('\u{feff}')).map_err(|error| format!("is no JSON: {error}"))?;
    let items = match (value.get("type").and_then(Value::as_str), &value) {
        (Some("FeatureCollection"), _) => {
            value.get("features").and_then(Value::as_array).ok_or("has no features")?.iter().collect()
        }
        _ => vec![&value],
    };
    items.into_iter().map(feature).collect()
}

fn feature(value: &Value) -> Result<Feature, String> {
    let (geometry, properties) = match value.get("type").and_then(Value::as_str) {
        Some("Feature") => (value.get("geometry").unwrap_or(&Value::Null), value.get("properties")),
        _ => (value, None),
    };
    let geometry = match geometry {
        Value::Null => None,
        geometry => Some(
            Geometry::read(geometry, MAX_DEPTH).map_err(|(path, message)| format!("{}: {message}", path.join(".")))?,
        ),
    };
    let mut properties = properties.and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(id) = value.get("id")
        && !properties.contains_key("id")
    {
        properties.insert("id".to_owned(), id.clone());
    }
    Ok(Feature { geometry, properties })
}

pub(crate) fn write(features: &[Feature]) -> Result<String, String> {
    Ok(collection(features).to_string())
}

/// Returns a FeatureCollection.
pub(crate) fn collection(features: &[Feature]) -> Value {
    let features: Vec<Value> = features
        .iter()
        .map(|feature| {
            let geometry = feature.geometry.as_ref().map_or(Value::Null, Geometry::to_json);
            json!({ "geometry": geometry, "properties": feature.properties, "type": "Feature" })
        })
        .collect();
    json!({ "features": features, "type": "FeatureCollection" })
}
