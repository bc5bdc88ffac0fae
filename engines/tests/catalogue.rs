//! Engines against the catalogue's vectors and schemas, as vendored in `engines/catalogue`.

use std::path::Path;

use muster_engines::{all, vector};
use serde_json::Value;

use crate::definitions::run;

const VECTORS: &str = include_str!("../catalogue/vectors.json");
const SCHEMAS: &str = include_str!("../catalogue/schemas.json");

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
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
fn schemas_match_the_catalogue() {
    let schemas = json(SCHEMAS);
    assert_eq!(schemas["engines"].as_object().unwrap().len(), 247);
    for engine in all() {
        let known = &schemas["engines"][engine.id];
        assert_eq!(known["number"], engine.number, "{}", engine.id);
        assert_eq!(bare(&engine.input_schema()), bare(&known["input"]), "{}'s input", engine.id);
        assert_eq!(bare(&engine.output_schema()), bare(&known["output"]), "{}'s output", engine.id);
    }
}

#[test]
fn the_vendored_copy_is_the_catalogue() {
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/catalogue");
    if !catalogue.is_dir() {
        println!("skipped: {} does not exist, so the vendored copy is not compared with it", catalogue.display());
        return;
    }
    let original = |file: &str| json(&std::fs::read_to_string(catalogue.join(file)).unwrap());
    let refresh = "run engines/catalogue/refresh.py";
    assert!(json(VECTORS) == original("vectors.json"), "vectors.json differs: {refresh}");
    assert!(json(SCHEMAS)["engines"] == original("schemas.json")["engines"], "schemas.json differs: {refresh}");
}

#[test]
fn each_engine_matches_its_vector() {
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
