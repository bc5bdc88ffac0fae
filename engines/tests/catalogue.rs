//! Against the catalogue's own schemas and vectors, where they are at hand.

use std::path::PathBuf;

use muster_engines::{all, by_id};
use serde_json::Value;

use crate::definitions::run;

fn catalogue(file: &str) -> Option<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/catalogue").join(file);
    match std::fs::read(&path) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Err(_) => {
            eprintln!("the catalogue is not here ({file}): not compared with it");
            None
        }
    }
}

/// Without what only people read, and with numbers that are equal written equally.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), bare(value))).collect(),
        Value::Array(items) => items.iter().map(bare).collect(),
        Value::Number(number) => number.as_f64().into(),
        other => other.clone(),
    }
}

#[test]
fn schemas_are_those_of_the_catalogue() {
    let Some(schemas) = catalogue("schemas.json") else { return };
    for engine in all() {
        let known = &schemas["engines"][engine.id];
        assert_eq!(known["number"], engine.number, "{}", engine.id);
        assert_eq!(bare(&engine.input_schema()), bare(&known["input"]), "{}'s input", engine.id);
        assert_eq!(bare(&engine.output_schema()), bare(&known["output"]), "{}'s output", engine.id);
    }
}

#[test]
fn vectors_of_the_catalogue_hold() {
    let Some(vectors) = catalogue("vectors.json") else { return };
    let mut wrong = Vec::new();
    for vector in vectors.as_array().unwrap() {
        let Some(engine) = vector["engine"].as_str().and_then(by_id) else { continue };
        let tolerance = vector["tolerance"].as_f64().unwrap_or(1e-9);
        match run(engine, vector["input"].clone()) {
            Ok(output) => {
                compare(engine.id, &vector["expect"], &output, tolerance, vector["match"].as_str(), &mut wrong)
            }
            Err(failure) => wrong.push(format!("{}: {failure:?}", engine.id)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The expectation is partial: `null` is anything, arrays go by index or by the field that `key` names.
fn compare(at: &str, expect: &Value, found: &Value, tolerance: f64, key: Option<&str>, wrong: &mut Vec<String>) {
    match (expect, found) {
        (Value::Null, _) => {}
        (Value::Number(expect), Value::Number(found))
            if (expect.as_f64().unwrap() - found.as_f64().unwrap()).abs() <= tolerance => {}
        (Value::Object(expect), Value::Object(found)) => {
            for (name, value) in expect {
                let found = found.get(name).unwrap_or(&Value::Null);
                compare(&format!("{at}.{name}"), value, found, tolerance, key, wrong);
            }
        }
        (Value::Array(expect), Value::Array(found)) => {
            for (index, value) in expect.iter().enumerate() {
                let same =
                    |item: &&Value| key.is_some_and(|key| value.get(key).is_some_and(|v| item.get(key) == Some(v)));
                let found = found.iter().find(same).or_else(|| found.get(index)).unwrap_or(&Value::Null);
                compare(&format!("{at}[{index}]"), value, found, tolerance, key, wrong);
            }
        }
        (Value::String(expect), Value::String(found)) if expect == found || same_time(expect, found, tolerance) => {}
        (expect, found) if expect == found => {}
        (expect, found) => wrong.push(format!("{at}: {found} in place of {expect}")),
    }
}

fn same_time(expect: &str, found: &str, tolerance: f64) -> bool {
    match (expect.parse::<jiff::Timestamp>(), found.parse::<jiff::Timestamp>()) {
        (Ok(expect), Ok(found)) => expect.duration_since(found).as_secs_f64().abs() <= tolerance,
        _ => false,
    }
}
