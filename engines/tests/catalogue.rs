//! Compares the engines with the catalogue's vectors and schemas.

use std::path::PathBuf;

use muster_engines::{all, vector};
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

/// Drops descriptive text, and writes equal numbers equally.
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
fn vectors_are_those_of_the_catalogue() {
    let Some(vectors) = catalogue("vectors.json") else { return };
    let own: Value = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    assert!(own == vectors, "vectors.json is not the catalogue's: copy it anew");
}

#[test]
fn each_engine_gives_what_its_vector_says() {
    let mut wrong = Vec::new();
    for engine in all() {
        let Some(vector) = vector::of(engine) else {
            wrong.push(format!("{} has no vector", engine.id));
            continue;
        };
        match run(engine, vector.input.clone()) {
            Ok(output) => wrong.extend(vector.mismatches(&output)),
            Err(failure) => wrong.push(format!("{}: {failure:?}", engine.id)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
