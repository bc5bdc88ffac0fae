//! q110: JSON Schema inference.

mod formats;
mod shape;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::call;
use crate::{Context, Engine, Failure, Family, Nature};
use shape::{Rules, Shape};

pub static ENGINE: Engine = Engine {
    number: 110,
    id: "json-schema-infer",
    name: "JSON Schema inference",
    family: Family::Data,
    nature: Nature::Pure,
    summary: "Infer a JSON Schema (types, required, enums, formats, ranges) from sample documents and report conflicts.",
    inputs: &["samples:array<any>:-:required", "detect_formats:boolean:-:=true", "enum_limit:integer:-[0..50]:=10"],
    outputs: &["schema:any:-", "samples:integer:-", "conflicts:array<{path=string,types=array<string>}>:-"],
    method: "Structural merge of per-sample schemas; format detection (date-time, email, uri, uuid, ipv4); low-cardinality strings become enums.",
    reference: "JSON Schema 2020-12; Baazizi et al., EDBT 2019 parametric schema inference",
    example: r#"{
        "samples": [
            {"id": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "state": "open", "level": 3, "tags": ["river"]},
            {"id": "16fd2706-8baf-433b-82eb-8c7fada847da", "state": "open", "level": 4.5, "tags": []}
        ]
    }"#,
    function: |input, context| call(infer, input, context),
    fields: OnceLock::new(),
};

#[derive(Deserialize)]
struct Input {
    samples: Vec<Value>,
    detect_formats: bool,
    enum_limit: f64,
}

#[derive(Serialize)]
struct Output {
    /// Every sample is valid against it.
    schema: Value,
    samples: usize,
    conflicts: Vec<Conflict>,
}

/// A place with values of several types; `null` together with one other is not a conflict.
#[derive(Serialize)]
struct Conflict {
    /// A JSON Pointer in which `*` is every item of an array.
    path: String,
    types: Vec<&'static str>,
}

fn infer(input: Input, context: &Context) -> Result<Output, Failure> {
    let rules = Rules { formats: input.detect_formats, enum_limit: input.enum_limit as usize };
    let mut shape = Shape::default();
    for (at, sample) in input.samples.iter().enumerate() {
        shape.see(sample, 0).map_err(|deep| Failure::invalid(&["samples", &at.to_string()], deep))?;
    }
    if input.samples.is_empty() {
        context.warn("there are no samples: the schema allows anything");
    }
    let mut conflicts = Vec::new();
    shape.conflicts(&mut String::new(), &mut |path, types| conflicts.push(Conflict { path, types }));
    let mut schema = shape.schema(&rules);
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    }
    shape.maps(&mut String::new(), &mut |path| {
        context.warn(format!("{path:?} has so many keys that it is taken as a map from any key"));
    });
    Ok(Output { schema, samples: input.samples.len(), conflicts })
}
