//! Agents with scripted engines and models.

mod catalogue;
mod double;
mod driver;
mod free;
mod params;
mod plans;
mod prose;
mod redirects;
mod references;
mod validation;

use std::sync::OnceLock;

use muster_engines::grammar::{Prim, Type};
use muster_engines::{Engine, Nature};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Agents;

#[derive(Deserialize)]
struct Declared {
    engine: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    number: u16,
    id: String,
    name: String,
    summary: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// Engines as declared by their catalogue, without functions.
fn declared() -> &'static [&'static Engine] {
    static ENGINES: OnceLock<Vec<&'static Engine>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        let declared: Declared = toml::from_str(include_str!("engines.toml")).unwrap();
        declared.engine.into_iter().map(engine).collect()
    })
}

fn engine(row: Row) -> &'static Engine {
    let text = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let texts = |texts: Vec<String>| -> &'static [&'static str] {
        Box::leak(texts.into_iter().map(text).collect::<Vec<_>>().into_boxed_slice())
    };
    Box::leak(Box::new(Engine {
        name: text(row.name),
        summary: text(row.summary),
        inputs: texts(row.inputs),
        outputs: texts(row.outputs),
        method: "as declared",
        reference: "the catalogue",
        ..Engine::bare(row.number, text(row.id), Nature::Pure, |_, _| Ok(Value::Null))
    }))
}

fn agents() -> Agents {
    Agents::built_in(declared()).unwrap()
}

/// Returns a sample value of a type.
fn sample(kind: &Type) -> Value {
    match kind {
        Type::Prim(Prim::Number) => json!(1.5),
        Type::Prim(Prim::Integer) => json!(3),
        Type::Prim(Prim::Boolean) => json!(true),
        Type::Prim(Prim::Any) => json!({ "any": 7 }),
        Type::Prim(Prim::Datetime) => json!("2026-11-21T03:00:00Z"),
        Type::Prim(Prim::Date) => json!("2026-11-21"),
        Type::Prim(Prim::Finding) => json!({ "rule": "r-1", "severity": "high", "message": "m" }),
        Type::Prim(_) => json!("text"),
        Type::Enum(values) => json!(values[0]),
        Type::Array(item) => json!([sample(item), sample(item)]),
        Type::Map(item) => json!({ "key": sample(item) }),
        Type::Record(members) => {
            Value::Object(members.iter().map(|member| (member.name.clone(), sample(&member.kind))).collect())
        }
    }
}
