//! Validation of fences.

use std::sync::Arc;

use muster_geo::{Geometry, Shape};
use serde_json::Value;

use super::record::Fence;
use muster_core::{Error, Kind};

const MAX_NAME: usize = 200;
const MAX_WORD: usize = 64;
const MAX_TAGS: usize = 50;

fn invalid(field: &str, msg: impl Into<String>) -> Error {
    Error::field(Kind::Invalid, &["body", field], msg, Value::Null)
}

/// Validates a fence before it is stored and returns its shape.
///
/// # Errors
/// `Invalid` with the field.
pub(super) fn check(fence: &Fence) -> Result<Arc<Shape>, Error> {
    let fits = |text: &str, most: usize| !text.trim().is_empty() && text.chars().count() <= most;
    if !fits(&fence.name, MAX_NAME) {
        return Err(invalid("name", format!("must have 1 to {MAX_NAME} characters")));
    }
    if fence.kind.as_deref().is_some_and(|kind| !fits(kind, MAX_WORD)) {
        return Err(invalid("kind", format!("must have 1 to {MAX_WORD} characters")));
    }
    if fence.tags.len() > MAX_TAGS || !fence.tags.iter().all(|tag| fits(tag, MAX_WORD)) {
        return Err(invalid("tags", format!("must be at most {MAX_TAGS} of 1 to {MAX_WORD} characters")));
    }
    if !has_area(&fence.geometry) {
        return Err(invalid("geometry", "must enclose something: a Polygon, a MultiPolygon, a Circle, or several"));
    }
    fence.geometry.shape().map(Arc::new).map_err(|error| invalid("geometry", error.to_string()))
}

fn has_area(geometry: &Geometry) -> bool {
    match geometry {
        Geometry::Point(_) => false,
        Geometry::GeometryCollection(members) => members.iter().all(has_area),
        Geometry::Polygon(_) | Geometry::MultiPolygon(_) | Geometry::Circle { .. } => true,
    }
}
