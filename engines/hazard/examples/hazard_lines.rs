//! Runs engines of the family on JSON lines: `{"engine": 83, "input": {…}}` in, `{"output": {…}}` or `{"failure": …}` out.
//! `engines/oracles` compares the outputs with other packages.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a tool of the tests")]

use std::io::{BufRead, Write};

use muster_engine::Context;
use muster_engines_hazard::FAMILY;
use serde_json::{Value, json};

fn main() {
    let (input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    for line in input.lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let number = request["engine"].as_u64().unwrap();
        let engine = FAMILY.engines().iter().find(|engine| u64::from(engine.number) == number).unwrap();
        let context = Context::default();
        let answer = match engine.run(request["input"].clone(), &context) {
            Ok(output) => json!({ "output": output, "warnings": context.into_warnings() }),
            Err(failure) => json!({ "failure": failure.to_string() }),
        };
        writeln!(output, "{answer}").unwrap();
    }
}
