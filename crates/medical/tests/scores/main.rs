//! Published scores: open cases, intervals, limits of the tables, constants,
//! vectors of the catalogue.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

mod catalogue;
mod constants;
mod intervals;
mod limits;
mod open_cases;
mod packages;
mod refusals;

use muster_medical::score::{Inputs, Score, Value, evaluate};
use std::path::{Path, PathBuf};

/// A file of the reference data beside the checkout; none, with a printed
/// note, where that is absent.
fn reference(file: &str, test: &str) -> Option<serde_json::Value> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(file);
    if !path.is_file() {
        println!("skipped: {} does not exist, so {test} is not run", path.display());
        return None;
    }
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// Inputs from a JSON object; null is unknown.
fn inputs(object: &serde_json::Value) -> Inputs {
    let mut inputs = Inputs::default();
    for (name, value) in object.as_object().expect("an object") {
        match value {
            serde_json::Value::Number(number) => _ = inputs.set(name, number.as_f64().unwrap()),
            serde_json::Value::Bool(flag) => _ = inputs.set(name, *flag),
            serde_json::Value::String(word) => _ = inputs.set(name, word.clone()),
            _ => {}
        }
    }
    inputs
}

fn score(id: &str, object: serde_json::Value) -> Score {
    evaluate(id, &inputs(&object)).unwrap_or_else(|| panic!("{id} does not exist"))
}

fn value(id: &str, object: serde_json::Value) -> f64 {
    let score = score(id, object);
    score.unrounded.unwrap_or_else(|| panic!("{id} has no value: {:?}", score.reason))
}

fn close(id: &str, object: serde_json::Value, expected: f64, tolerance: f64) {
    let value = value(id, object);
    assert!((value - expected).abs() <= tolerance, "{id}: {value} instead of {expected}");
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        _ => None,
    }
}
