//! q200: OpenAPI linting and comparison.

mod changes;
mod document;
mod lint;
mod operation;
mod schema;
#[cfg(test)]
mod tests;

use serde_json::Value;

use self::changes::Changes;
use self::document::Document;
use muster_engine::prelude::*;

#[derive(Input)]
pub struct Input {
    /// An object, or the document's text in JSON or YAML.
    document: Value,
    previous: Option<Value>,
    /// Names of lint rules; empty for all. Findings that make the document invalid are always reported.
    rules: Vec<String>,
}

#[derive(Output)]
pub struct Output {
    valid: bool,
    lint: Vec<lint::Finding>,
    breaking: Vec<changes::Change>,
    compatible: Vec<changes::Change>,
    operations: usize,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
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
