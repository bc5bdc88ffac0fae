//! q162: structured extraction.

mod fields;
mod lines;
mod model;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use muster_kernel_schema::Schema;

use muster_engine::prelude::*;

use fields::{Field, MAX_FIELDS, fields};
use rules::{Found, Source, find};

/// Bytes of the text and of the schema.
const MAX_TEXT: usize = 200_000;
const MAX_SCHEMA: usize = 200_000;
/// Errors that are listed, and characters of a piece of evidence.
const MAX_ERRORS: usize = 200;
const MAX_EVIDENCE: usize = 500;

#[derive(Input)]
pub struct Input {
    text: String,
    schema: Value,
    hints: BTreeMap<String, String>,
    use_model: bool,
}

#[derive(Output)]
pub struct Output {
    record: Value,
    evidence: BTreeMap<String, String>,
    missing: Vec<String>,
    errors: Vec<String>,
    confidence: BTreeMap<String, f64>,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let size = input.schema.to_string().len();
    if input.text.len() > MAX_TEXT || size > MAX_SCHEMA {
        return Err(Failure::too_large(format!(
            "a text of {} bytes, a schema of {size}; allowed are {MAX_TEXT} and {MAX_SCHEMA}",
            input.text.len()
        )));
    }
    let schema = Schema::new(&input.schema, true).map_err(|error| Failure::invalid(&["schema"], error.to_string()))?;
    let fields = fields(&input.schema, &input.hints);
    if fields.is_empty() {
        return Err(Failure::invalid(
            &["schema"],
            "has no `properties`: it must be that of an object with named fields",
        ));
    }
    if fields.len() >= MAX_FIELDS {
        cx.warn(format!("cut: the first {MAX_FIELDS} fields are read"));
    }
    let source = Source::new(&input.text);
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    for field in &fields {
        if let Some(value) = find(&source, field).filter(|value| wrong(&schema, field, &value.value).is_none()) {
            found.insert(field.dotted(), value);
        }
    }
    let open: Vec<&Field> = fields.iter().filter(|field| !found.contains_key(&field.dotted())).collect();
    if input.use_model && !open.is_empty() {
        found.extend(model::fill(&source, &input.schema, &open, |field, value| wrong(&schema, field, value), cx)?);
    }
    Ok(output(&input.text, &schema, &fields, found))
}

/// Why the schema does not allow a value in the place of a field; `None` if it does, whatever else is missing.
fn wrong(schema: &Schema, field: &Field, value: &Value) -> Option<String> {
    let mut record = Value::Object(Map::new());
    put(&mut record, &field.path, value.clone());
    let pointer: String =
        field.path.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
    let (errors, _) = schema.errors(&record, MAX_ERRORS);
    errors.into_iter().find(|error| error.instance_path.starts_with(&pointer)).map(|error| error.message)
}

/// Puts a value into objects that are created on its way.
fn put(record: &mut Value, path: &[String], value: Value) {
    let mut place = record;
    for name in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(members) = place else { return };
        place = members.entry(name.clone()).or_insert(Value::Null);
    }
    *place = value;
}

fn output(text: &str, schema: &Schema, fields: &[Field], found: BTreeMap<String, Found>) -> Output {
    let mut record = Value::Object(Map::new());
    for field in fields {
        if let Some(found) = found.get(&field.dotted()) {
            put(&mut record, &field.path, found.value.clone());
        }
    }
    let missing = fields.iter().filter(|field| field.required).map(Field::dotted);
    let missing = missing.filter(|name| !found.contains_key(name)).collect();
    let (errors, _) = schema.errors(&record, MAX_ERRORS);
    // What is required and absent is in `missing`.
    let errors = errors.into_iter().filter(|error| error.keyword != "required");
    let errors = errors.map(|error| format!("{}: {}", error.instance_path, error.message)).collect();
    let shown = |found: &Found| {
        let written = text.get(found.evidence.clone()).unwrap_or_default();
        written.chars().take(MAX_EVIDENCE).collect::<String>()
    };
    Output {
        record,
        evidence: found.iter().map(|(name, found)| (name.clone(), shown(found))).collect(),
        missing,
        errors,
        confidence: found.into_iter().map(|(name, found)| (name, found.confidence)).collect(),
    }
}
