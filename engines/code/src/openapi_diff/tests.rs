use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(200, input, &Context::default()).unwrap()
}

/// A document of one operation with a parameter, a body and a response.
fn document(parameter: Value, request: Value, response: Value) -> Value {
    json!({ "openapi": "3.1.0", "info": { "title": "t", "version": "1" }, "paths": { "/a/{id}": { "post": {
        "operationId": "a", "summary": "s",
        "parameters": [{ "in": "path", "name": "id", "required": true, "schema": { "type": "string" } }, parameter],
        "requestBody": { "content": { "application/json": { "schema": request } } },
        "responses": { "200": { "description": "ok", "content": { "application/json": { "schema": response } } } },
    } } } })
}

fn query(required: bool, schema: Value) -> Value {
    json!({ "in": "query", "name": "q", "required": required, "schema": schema })
}

fn kinds(old: &Value, new: &Value) -> [Vec<String>; 2] {
    let output = run(json!({ "document": new, "previous": old }));
    assert_eq!(output["valid"], true, "{output}");
    ["breaking", "compatible"].map(|list| {
        output[list].as_array().unwrap().iter().map(|change| change["kind"].as_str().unwrap().to_owned()).collect()
    })
}

/// Findings for a request and a response schema when one replaces the other.
fn of_schemas(old: Value, new: Value) -> [[Vec<String>; 2]; 2] {
    let (other, q) = (json!({}), query(false, json!({})));
    [
        kinds(&document(q.clone(), old.clone(), other.clone()), &document(q.clone(), new.clone(), other.clone())),
        kinds(&document(q.clone(), other.clone(), old), &document(q, other, new)),
    ]
}

/// oasdiff, BREAKING-CHANGES-EXAMPLES.md: in a request what narrows is breaking, in a response what widens.
#[test]
fn narrowing_breaks_requests_and_widening_breaks_responses() {
    for (wide, narrow, kind) in [
        // "changing request's body schema type from number to integer", "... response's ... from integer to number".
        (json!({ "type": "number" }), json!({ "type": "integer" }), "type-changed"),
        // "changing a request property to not nullable", "changing a response body to nullable".
        (json!({ "type": ["string", "null"] }), json!({ "type": "string" }), "type-changed"),
        // "reducing max length in request", "increasing max length in response".
        (json!({ "maxLength": 9 }), json!({ "maxLength": 5 }), "max-length-changed"),
        // "changing max length in request from nil to any value", "... in response from any value to nil".
        (json!({}), json!({ "maxLength": 5 }), "max-length-changed"),
        // "increasing min items in request", "reducing min items in response".
        (json!({ "minItems": 1 }), json!({ "minItems": 2 }), "min-items-changed"),
        // "reducing max in request".
        (json!({ "maximum": 9 }), json!({ "maximum": 8 }), "maximum-changed"),
        // "changing a request body to enum".
        (json!({ "type": "string" }), json!({ "type": "string", "enum": ["a"] }), "became-enum"),
        // "adding a pattern to a schema".
        (json!({}), json!({ "pattern": "^a" }), "pattern-changed"),
        // "removing 'anyOf' / 'oneOf' schema from the request body".
        (
            json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] }),
            json!({ "oneOf": [{ "type": "string" }] }),
            "oneOf-removed",
        ),
    ] {
        let [request, response] = of_schemas(wide.clone(), narrow.clone());
        let removed = |side: &str| {
            if kind == "became-enum" {
                format!("{side}-enum-removed")
            } else {
                format!("{side}-{}", kind.replace("oneOf-removed", "oneOf-added"))
            }
        };
        assert_eq!(request, [vec![format!("request-{kind}")], vec![]], "{narrow}");
        assert_eq!(response, [vec![], vec![format!("response-{kind}")]], "{narrow}");
        let [request, response] = of_schemas(narrow.clone(), wide);
        assert_eq!(request, [vec![], vec![removed("request")]], "{narrow}");
        assert_eq!(response, [vec![removed("response")], vec![]], "{narrow}");
    }
    // "changing request's body schema type from string to number", and the response's: neither covers the other.
    let [request, response] = of_schemas(json!({ "type": "string" }), json!({ "type": "number" }));
    assert_eq!((request[0].len(), response[0].len()), (1, 1));
    // "deleting an enum value is breaking", "adding an enum value to request body is not breaking".
    let [request, _] = of_schemas(json!({ "enum": ["a", "b"] }), json!({ "enum": ["a", "c"] }));
    assert_eq!(request, [vec!["request-enum-value-removed".to_owned()], vec!["request-enum-value-added".to_owned()]]);
    // "modifying a pattern to \".*\" in a schema is not breaking".
    assert!(of_schemas(json!({ "pattern": "a" }), json!({ "pattern": ".*" }))[0][0].is_empty());
}

/// oasdiff, the same list, on properties; read-only ones are not in requests, write-only ones not in responses.
#[test]
fn properties() {
    let schema = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    let (none, optional, required) =
        (schema(json!({}), json!([])), schema(json!({ "p": {} }), json!([])), schema(json!({ "p": {} }), json!(["p"])));
    let empty = Vec::<String>::new();
    for (old, new, request, response) in [
        (&none, &required, ["new-required-request-property", ""], ["", "new-response-property"]),
        (&none, &optional, ["", "new-request-property"], ["", "new-response-property"]),
        (&optional, &required, ["request-property-became-required", ""], ["", "response-property-became-required"]),
        (&required, &optional, ["", "request-property-became-optional"], ["response-property-became-optional", ""]),
        (&required, &none, ["request-property-removed", ""], ["response-required-property-removed", ""]),
        (&optional, &none, ["request-property-removed", ""], ["", "response-optional-property-removed"]),
    ] {
        let found = of_schemas(old.clone(), new.clone());
        for (found, expect) in found.iter().zip([request, response]) {
            for (found, expect) in found.iter().zip(expect) {
                assert_eq!(
                    found,
                    &if expect.is_empty() { empty.clone() } else { vec![expect.to_owned()] },
                    "{old} to {new}"
                );
            }
        }
    }
    let read_only = schema(json!({ "p": { "readOnly": true } }), json!(["p"]));
    assert_eq!(of_schemas(none.clone(), read_only)[0], [empty.clone(), empty.clone()]);
    let write_only = schema(json!({ "p": { "writeOnly": true } }), json!(["p"]));
    assert_eq!(of_schemas(write_only, none.clone())[1], [empty.clone(), empty.clone()]);
    // "adding a non-existent required property in request body is not breaking"; allOf is put together.
    assert_eq!(of_schemas(none.clone(), schema(json!({}), json!(["x"])))[0], [empty.clone(), empty.clone()]);
    assert_eq!(of_schemas(none, json!({ "allOf": [required] }))[0][0], ["new-required-request-property"]);
}

/// oasdiff, the same list, on parameters, bodies, media types, statuses and headers.
#[test]
fn parameters_bodies_and_responses() {
    let plain = |parameter: Value| document(parameter, json!({}), json!({}));
    let base = plain(query(false, json!({ "type": "integer" })));
    let breaking = |new: &Value| kinds(&base, new)[0].clone();
    assert_eq!(breaking(&plain(query(true, json!({ "type": "integer" })))), ["request-parameter-became-required"]);
    assert_eq!(
        breaking(&plain(json!({ "in": "header", "name": "H", "required": true, "schema": {} }))),
        ["request-parameter-removed", "new-required-request-parameter"]
    );
    let changed = |edit: fn(&mut Value)| {
        let mut new = base.clone();
        edit(&mut new["paths"]["/a/{id}"]["post"]);
        breaking(&new)
    };
    assert_eq!(changed(|o| o["requestBody"]["required"] = json!(true)), ["request-body-became-required"]);
    assert_eq!(changed(|o| o["requestBody"]["content"] = json!({ "text/plain": {} })), ["request-media-type-removed"]);
    assert_eq!(
        changed(|o| o["responses"] = json!({ "201": { "description": "" } })),
        ["response-success-status-removed"]
    );
    assert_eq!(changed(|o| o["responses"]["200"]["content"] = json!({})), ["response-media-type-removed"]);
    assert_eq!(changed(|o| o["deprecated"] = json!(true)), Vec::<String>::new());
    let mut renamed = base.clone();
    renamed["paths"] = json!({ "/a/{key}": base["paths"]["/a/{id}"].clone() });
    renamed["paths"]["/a/{key}"]["post"]["parameters"][0]["name"] = json!("key");
    assert_eq!(kinds(&base, &renamed), [Vec::<String>::new(), vec![]]);
    let mut removed = base.clone();
    removed["paths"]["/a/{id}"] = json!({ "get": { "responses": { "200": { "description": "" } } } });
    assert_eq!(kinds(&base, &removed), [vec!["operation-removed".to_owned()], vec!["operation-added".to_owned()]]);
}

#[test]
fn references_are_resolved_and_recursive_ones_terminate() {
    let with = |node: Value| {
        let mut document = document(query(false, json!({})), json!({ "$ref": "#/components/schemas/Node" }), json!({}));
        document["components"] = json!({ "schemas": { "Node": node } });
        document
    };
    let node = |kind: &str| json!({ "type": "object", "properties": { "next": { "$ref": "#/components/schemas/Node" }, "v": { "type": kind } } });
    let output = run(json!({ "document": with(node("integer")), "previous": with(node("number")) }));
    assert_eq!(output["breaking"][0]["kind"], "request-type-changed");
    assert_eq!(output["breaking"][0]["path"], "/a/{id} post request application/json v");
    assert_eq!(output["breaking"].as_array().unwrap().len(), 1);
}

/// OpenAPI 3.1.0, 4.8.1 (required fields), 4.8.10 (operationId is unique), 4.8.12 (path parameters), 4.8.27 (security
/// requirements name schemes), 4.8.23 (references); the rules' names are Redocly's.
#[test]
fn a_document_with_lint_errors() {
    let faulty = json!({
        "openapi": "3.1.0", "info": { "title": "t" }, "components": { "schemas": { "Idle": {} } },
        "paths": {
            "/a/{id}/": { "get": { "operationId": "x", "summary": "s", "security": [{ "key": [] }],
                "responses": { "404": { "description": "no" } } } },
            "/b": { "get": { "operationId": "x", "responses": { "200": { "$ref": "#/components/responses/None" } } },
                "put": { "responses": { "200": { "description": "ok" } } } },
        },
    });
    let output = run(json!({ "document": faulty }));
    assert_eq!((&output["valid"], &output["operations"]), (&json!(false), &json!(3)));
    let found: Vec<&str> = output["lint"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    for rule in [
        "struct",
        "no-unresolved-refs",
        "no-path-trailing-slash",
        "operation-2xx-response",
        "operation-operationId",
        "operation-operationId-unique",
        "operation-summary",
        "path-parameters-defined",
        "security-defined",
        "no-unused-components",
    ] {
        assert!(found.contains(&rule), "{rule} is not in {found:?}");
    }
    let chosen = run(json!({ "document": faulty, "rules": ["security-defined"] }));
    assert_eq!(chosen["lint"].as_array().unwrap().iter().filter(|one| one["rule"] == "security-defined").count(), 1);
    assert!(chosen["lint"].as_array().unwrap().iter().all(|one| one["rule"] != "operation-summary"));
    let unknown = crate::FAMILY.run(200, json!({ "document": {}, "rules": ["nonsense"] }), &Context::default());
    assert!(matches!(unknown, Err(Failure::Invalid { .. })));
}

/// OpenAPI 3.0.3 too, and as YAML: the petstore's beginning.
#[test]
fn a_document_in_yaml() {
    let yaml = "openapi: 3.0.0\ninfo:\n  version: 1.0.0\n  title: Swagger Petstore\npaths:\n  /pets:\n    get:\n      \
        summary: List all pets\n      operationId: listPets\n      responses:\n        '200':\n          description: A paged array of pets\n";
    let output = run(json!({ "document": yaml }));
    assert_eq!((&output["valid"], &output["lint"], &output["operations"]), (&json!(true), &json!([]), &json!(1)));
    assert_eq!(run(json!({ "document": { "swagger": "2.0" } }))["valid"], false);
}
