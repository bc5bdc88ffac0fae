//! Runs engines on JSON lines: `{"engine": 1, "input": {…}}` in, `{"output": {…}, "warnings": […]}` or `{"failure": …}` out.
//! `engines/oracles` compares the outputs with other packages. One process runs the engines of all families of the build;
//! `muster engine run` runs one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a tool of the tests")]

use std::io::{BufRead, Write};

use muster_engines::{Context, by_number};
use serde_json::{Value, json};

fn main() {
    let (input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    for line in input.lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let number = u16::try_from(request["engine"].as_u64().unwrap()).unwrap();
        let context = Context::default();
        let answer = match by_number(number).unwrap().run(request["input"].clone(), &context) {
            Ok(output) => json!({ "output": output, "warnings": context.into_warnings() }),
            Err(failure) => json!({ "failure": failure.to_string() }),
        };
        writeln!(output, "{answer}").unwrap();
    }
}
