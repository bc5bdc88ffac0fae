//! q107: JSON query.

mod jmespath_query;
mod jsonpath;
#[cfg(test)]
mod tests;

use serde_json::Value;

use muster_engine::prelude::*;
use muster_engine::stack::{STACK, on_stack};

const MAX_QUERY: usize = 10_000;
/// Maximum number of values returned; further ones are only counted.
const MAX_VALUES: usize = 10_000;
/// Maximum number of nodes of all returned values: values may be nested.
const MAX_NODES: usize = 1_000_000;

#[derive(Input)]
pub struct Input {
    document: Value,
    query: String,
    language: Language,
}

#[derive(Clone, Copy, Words)]
#[wire(case = "lower")]
enum Language {
    Jsonpath,
    Jmespath,
    Pointer,
}

#[derive(Debug, Default, Output)]
pub struct Output {
    values: Vec<Value>,
    /// Location of each value: its normalized path (RFC 9535, section 2.7), or the pointer. Empty for JMESPath, whose
    /// values are created.
    locations: Vec<String>,
    /// Number of all values found.
    count: usize,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.query.len() > MAX_QUERY {
        return Err(Failure::too_large(format!("the query is longer than {MAX_QUERY} bytes")));
    }
    let Input { document, query, language } = &input;
    let fallen = || wrong("cannot be run: look at its numbers");
    let output = on_stack(context, STACK, fallen, || match language {
        Language::Jsonpath => jsonpath::select(document, query),
        Language::Jmespath => jmespath_query::search(document, query),
        Language::Pointer => pointer(document, query),
    })?;
    if output.count > output.values.len() {
        context.warn(format!("only the first {} of {} values are returned", output.values.len(), output.count));
    }
    Ok(output)
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::invalid(&["query"], message)
}

/// RFC 6901, sections 3 and 4.
fn pointer(document: &Value, query: &str) -> Result<Output, Failure> {
    if query.starts_with('#') {
        return Err(wrong("is a pointer as a URI fragment: remove the # and decode percent-encoded characters"));
    }
    if !query.is_empty() && !query.starts_with('/') {
        return Err(wrong("must be empty or begin with /"));
    }
    if query.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1'])) {
        return Err(wrong("has a ~ that is not ~0 (for ~) or ~1 (for /)"));
    }
    let mut output = Output::default();
    if let Some(value) = document.pointer(query) {
        output = Output { values: vec![value.clone()], locations: vec![query.to_owned()], count: 1 };
    }
    Ok(output)
}

/// Number of nodes of a value, including itself.
fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(nodes).sum::<usize>().saturating_add(1),
        Value::Object(object) => object.values().map(nodes).sum::<usize>().saturating_add(1),
        _ => 1,
    }
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(object) => object.values().map(depth).max(),
        _ => None,
    };
    below.unwrap_or_default().saturating_add(1)
}
