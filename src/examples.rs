//! An example of the body of each operation that takes one. It comes from the request's definition; those of bodies that
//! are no requests are in `examples.json`, by operation.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::Modify;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Content, OpenApi, RefOr};

/// Examples of bodies in other forms than JSON objects.
const EXAMPLES: &str = include_str!("examples.json");

/// Puts the examples into the operations.
pub struct Examples;

impl Modify for Examples {
    fn modify(&self, api: &mut OpenApi) {
        let others = others();
        let requests = take_examples(api);
        for operation in api.paths.paths.values_mut().flat_map(operations) {
            let other = operation.operation_id.as_ref().and_then(|id| others.get(id));
            let Some(RefOr::T(body)) = &mut operation.request_body else { continue };
            for content in body.content.values_mut() {
                if let RefOr::T(content) = content {
                    let own = named_schema(content).and_then(|name| requests.get(name));
                    content.example = own.or(other).cloned();
                }
            }
        }
    }
}

fn others() -> BTreeMap<String, Value> {
    // A test reads the same text: it is JSON.
    serde_json::from_str(EXAMPLES).unwrap_or_default()
}

/// Takes the examples out of the schemas of requests, by the names of these.
fn take_examples(api: &mut OpenApi) -> BTreeMap<String, Value> {
    let mut examples = BTreeMap::new();
    for (name, schema) in api.components.iter_mut().flat_map(|components| &mut components.schemas) {
        if let RefOr::T(Schema::Object(object)) = schema {
            examples.extend(object.examples.drain(..).map(|example| (name.clone(), example)));
        }
    }
    examples
}

/// The name of the schema that a body has.
fn named_schema(content: &Content) -> Option<&str> {
    match content.schema.as_ref()? {
        RefOr::Ref(named) => named.ref_location.rsplit('/').next(),
        RefOr::T(_) => None,
    }
}

fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = path;
    [get, put, post, delete, patch].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_with_a_body_has_an_example() {
        assert!(!others().is_empty());
        let mut api = crate::openapi::description();
        let mut ids = Vec::new();
        for operation in api.paths.paths.values_mut().flat_map(operations) {
            let id = operation.operation_id.clone().unwrap_or_default();
            let Some(RefOr::T(body)) = &operation.request_body else { continue };
            let has_example =
                |content: &RefOr<Content>| matches!(content, RefOr::T(content) if content.example.is_some());
            assert!(body.content.values().all(has_example), "{id} has no example");
            ids.push(id);
        }
        for id in others().keys() {
            assert!(ids.contains(id), "{id} takes no body");
        }
    }
}
