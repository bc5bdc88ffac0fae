//! q110: JSON Schema inference.

mod formats;
mod shape;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use muster_engine::prelude::*;
use shape::{Rules, Shape};

#[derive(Input)]
pub struct Input {
    samples: Vec<Value>,
    detect_formats: bool,
    enum_limit: f64,
}

#[derive(Output)]
pub struct Output {
    /// Every sample is valid against it.
    schema: Value,
    samples: usize,
    conflicts: Vec<Conflict>,
}

/// With fewer samples a warning says that the schema is that of these samples only.
const FEW: usize = 10;

/// A place with values of several types; `null` together with one other is not a conflict.
#[derive(Output)]
struct Conflict {
    /// A JSON Pointer in which `*` is every item of an array.
    path: String,
    types: Vec<&'static str>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let rules = Rules { formats: input.detect_formats, enum_limit: input.enum_limit as usize };
    let mut shape = Shape::default();
    for (at, sample) in input.samples.iter().enumerate() {
        shape.see(sample, 0).map_err(|deep| Failure::invalid(&["samples", &at.to_string()], deep))?;
    }
    if input.samples.is_empty() {
        context.warn("few_samples: there are no samples: the schema allows anything");
    } else if input.samples.len() < FEW {
        context.warn(format!(
            "few_samples: {} samples: which members are required, and of which type, may differ in other documents",
            input.samples.len()
        ));
    }
    let mut conflicts = Vec::new();
    shape.conflicts(&mut String::new(), &mut |path, types| conflicts.push(Conflict { path, types }));
    let mut schema = shape.schema(&rules);
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    }
    shape.maps(&mut String::new(), &mut |path| {
        context.warn(format!("map: {path:?} has so many keys that it is taken as a map from any key"));
    });
    Ok(Output { schema, samples: input.samples.len(), conflicts })
}
