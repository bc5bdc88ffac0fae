//! A good body for each operation that takes one, in its description: readers show it, tests send it.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::Modify;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

/// By operation. What names another record names none that is there.
const EXAMPLES: &str = include_str!("examples.json");

/// Puts the examples into the description.
pub struct Examples;

impl Modify for Examples {
    fn modify(&self, api: &mut OpenApi) {
        // A test reads the same text: it is JSON.
        let examples: BTreeMap<String, Value> = serde_json::from_str(EXAMPLES).unwrap_or_default();
        for operation in api.paths.paths.values_mut().flat_map(operations) {
            let example = operation.operation_id.as_ref().and_then(|id| examples.get(id));
            let Some((example, RefOr::T(body))) = example.zip(operation.request_body.as_mut()) else { continue };
            for content in body.content.values_mut() {
                if let RefOr::T(content) = content {
                    content.example = Some(example.clone());
                }
            }
        }
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
    fn each_example_is_that_of_an_operation_with_a_body() {
        let examples: BTreeMap<String, Value> = serde_json::from_str(EXAMPLES).unwrap();
        let mut api = crate::openapi::description();
        let with_body = api.paths.paths.values_mut().flat_map(operations).filter(|found| found.request_body.is_some());
        let ids: Vec<String> = with_body.filter_map(|found| found.operation_id.clone()).collect();
        for id in examples.keys() {
            assert!(ids.contains(id), "{id} takes no body");
        }
        for id in ids {
            assert!(examples.contains_key(&id), "{id} has no example");
        }
    }
}
