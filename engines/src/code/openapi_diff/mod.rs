//! q200: OpenAPI linting and comparison.

mod changes;
mod document;
mod lint;
mod operation;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::changes::Changes;
use self::document::Document;
use crate::engine::call;
use crate::{Context, Engine, Failure, Family, Nature};

pub static ENGINE: Engine = Engine {
    number: 200,
    id: "openapi-diff",
    name: "OpenAPI lint and breaking changes",
    family: Family::Code,
    nature: Nature::Pure,
    summary: "Lint an OpenAPI 3 document and list breaking and compatible changes against an older one.",
    inputs: &["document:any:-:required", "previous:any:-:optional", "rules:array<string>:-:=[]"],
    outputs: &[
        "valid:boolean:-",
        "lint:array<{path=string,rule=string,severity=string,message=string}>:-",
        "breaking:array<{path=string,kind=string,message=string}>:-",
        "compatible:array<{path=string,kind=string,message=string}>:-",
        "operations:integer:-",
    ],
    method: "Meta-schema validation, $ref resolution, variance rules (request contravariant, response covariant) for \
             type, required, enum and parameter changes.",
    reference: "OpenAPI 3.1.0 schema 2022-10-07; oasdiff breaking-change rule list",
    example: r#"{
        "document": {"openapi": "3.1.0", "info": {"title": "t", "version": "2"}, "paths": {}},
        "previous": {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {
            "/a": {"get": {"responses": {"200": {"description": "ok"}}}}
        }}
    }"#,
    function: |input, context| call(compare, input, context),
    fields: OnceLock::new(),
};

#[derive(Deserialize)]
struct Input {
    /// An object, or the document's text in JSON or YAML.
    document: Value,
    previous: Option<Value>,
    /// Names of lint rules; empty for all. Findings that make the document invalid are always reported.
    rules: Vec<String>,
}

#[derive(Serialize)]
struct Output {
    valid: bool,
    lint: Vec<lint::Finding>,
    breaking: Vec<changes::Change>,
    compatible: Vec<changes::Change>,
    operations: usize,
}

fn compare(input: Input, context: &Context) -> Result<Output, Failure> {
    let wanted = lint::wanted(&input.rules)?;
    let document = Document::new(object("document", input.document)?);
    let previous = input.previous.map(|previous| object("previous", previous)).transpose()?.map(Document::new);
    let lint = lint::lint(&document, wanted.as_ref(), context);
    let mut changes = Changes::default();
    if let Some(previous) = &previous {
        operation::compare(previous, &document, &mut changes);
    }
    changes.warn(context);
    Ok(Output {
        valid: !lint.iter().any(|finding| finding.is_invalid()),
        lint,
        breaking: changes.breaking,
        compatible: changes.compatible,
        operations: document.operations().count(),
    })
}

fn object(field: &str, value: Value) -> Result<Value, Failure> {
    match value {
        Value::Object(_) => Ok(value),
        Value::String(text) => {
            let read = serde_json::from_str(&text).or_else(|_| serde_saphyr::from_str::<Value>(&text));
            read.map_err(|error| Failure::invalid(&[field], format!("is neither JSON nor YAML: {error}")))
        }
        _ => Err(Failure::invalid(&[field], "must be an OpenAPI document: an object, or its text")),
    }
}
