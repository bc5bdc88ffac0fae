//! Responses that many operations have alike stand once, among the components.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

/// Operations from which on a response is shared.
const SHARED_BY: usize = 4;

/// Moves each response of an error that at least four operations have alike to the components, and refers to it there.
pub(super) fn share_responses(document: &mut Value) {
    // By the status and the text, with the response and the number of operations.
    let mut alike: BTreeMap<(String, String), (Value, usize)> = BTreeMap::new();
    each_error(document, &mut |status, response| {
        let known = alike.entry((status.to_owned(), response.to_string()));
        known.or_insert_with(|| (response.clone(), 0)).1 += 1;
    });
    alike.retain(|_, (_, count)| *count >= SHARED_BY);
    let mut shared: Vec<_> = alike.into_iter().collect();
    // The commonest of a name has it without a number. The sort is stable, so that the names are.
    shared.sort_by_key(|(_, (_, count))| Reverse(*count));
    let (mut names, mut responses) = (HashMap::new(), Map::new());
    for ((status, text), (response, _)) in shared {
        let base = format!("{}{status}", schema_of(&response).unwrap_or("Response"));
        let mut name = base.clone();
        let mut nth = 1;
        while responses.contains_key(&name) {
            nth += 1;
            name = format!("{base}_{nth}");
        }
        responses.insert(name.clone(), response);
        names.insert((status, text), name);
    }
    each_error(document, &mut |status, response| {
        if let Some(name) = names.get(&(status.to_owned(), response.to_string())) {
            *response = json!({ "$ref": format!("#/components/responses/{name}") });
        }
    });
    if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
        components.insert("responses".to_owned(), Value::Object(responses));
    }
}

/// Passes each response of an error to `act`, with its status.
fn each_error(document: &mut Value, act: &mut dyn FnMut(&str, &mut Value)) {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let operations = paths.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut);
    for operation in operations.flat_map(Map::values_mut) {
        let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
        for (status, response) in responses.into_iter().flatten() {
            if status.starts_with(['4', '5']) {
                act(status, response);
            }
        }
    }
}

/// The name of the schema of a response's JSON.
fn schema_of(response: &Value) -> Option<&str> {
    response.pointer("/content/application~1json/schema/$ref")?.as_str()?.rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_are_alike_stand_once_and_others_where_they_were() {
        let error = |text: &str| {
            let schema = json!({ "$ref": "#/components/schemas/ErrorB" });
            json!({ "description": text, "content": { "application/json": { "schema": schema } } })
        };
        let operation = |text: &str| json!({ "get": { "responses": { "200": error("fine"), "429": error(text) } } });
        let texts = [["often"; 5].as_slice(), &["less"; 4], &["once"]].concat();
        let paths = texts.iter().enumerate().map(|(n, text)| (format!("/{n}"), operation(text)));
        let paths: Map<String, Value> = paths.collect();
        let mut document = json!({ "components": { "schemas": {} }, "paths": paths });
        share_responses(&mut document);
        let of = |n: usize, status: &str| document["paths"][format!("/{n}")]["get"]["responses"][status].clone();
        assert_eq!(of(0, "429"), json!({ "$ref": "#/components/responses/ErrorB429" }));
        assert_eq!(of(8, "429"), json!({ "$ref": "#/components/responses/ErrorB429_2" }));
        assert_eq!((of(9, "429"), of(0, "200")), (error("once"), error("fine")));
        let shared = &document["components"]["responses"];
        assert_eq!((&shared["ErrorB429"], &shared["ErrorB429_2"]), (&error("often"), &error("less")));
        assert_eq!(shared.as_object().unwrap().len(), 2);
    }
}
