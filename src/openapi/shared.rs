//! Responses that many operations have alike stand once, among the components.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// Operations from which on a response is shared.
const SHARED_BY: usize = 4;

/// Moves each response of an error that at least four operations have alike to the components, and refers to it there.
pub(super) fn share_responses(document: &mut Value) {
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    each_error(document, &mut |status, response| {
        *counts.entry((status.to_owned(), response.to_string())).or_default() += 1;
    });
    let mut alike: Vec<_> = counts.into_iter().filter(|(_, count)| *count >= SHARED_BY).collect();
    // The commonest of a name has it without a number; the text decides between equals, so that the names are stable.
    alike.sort_by(|((_, a), by_a), ((_, b), by_b)| by_b.cmp(by_a).then_with(|| a.cmp(b)));
    let mut names: HashMap<(String, String), String> = HashMap::new();
    let mut responses = Map::new();
    for ((status, text), _) in alike {
        let Ok(response) = serde_json::from_str::<Value>(&text) else { continue };
        let base = format!("{}{status}", schema_of(&response).unwrap_or("Response"));
        let name = (1..).map(|nth| if nth == 1 { base.clone() } else { format!("{base}_{nth}") });
        let Some(name) = name.into_iter().find(|name| !responses.contains_key(name)) else { continue };
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
        let error = |text: &str| json!({ "description": text, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorB" } } } });
        let operation = |text: &str| json!({ "get": { "responses": { "200": error("fine"), "429": error(text) } } });
        let paths: Map<String, Value> = (0..10)
            .map(|n| {
                (
                    format!("/{n}"),
                    operation(if n < 5 {
                        "often"
                    } else if n < 9 {
                        "less"
                    } else {
                        "once"
                    }),
                )
            })
            .collect();
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
