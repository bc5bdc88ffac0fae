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
mod results;
mod scenarios;
mod texts;
mod validation;

use std::sync::OnceLock;

use muster_engines::grammar::{self, Prim, Type};
use muster_engines::{Engine, Nature};
use serde::Deserialize;
use serde_json::{Value, json};

use super::parameter::{Parameter, ParameterDefault};
use super::{Agent, Agents, Binding, Head, PlanStep, Reference};

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
    example: String,
}

/// The families of the catalogue of engines.
const FAMILIES: [&str; 15] = [
    "geo",
    "hazard",
    "network",
    "platform",
    "logistics",
    "stats",
    "data",
    "finance",
    "security",
    "llm",
    "text",
    "code",
    "crypto",
    "medical",
    "docs",
];

/// All engines as declared by their catalogue, also those that are not built, without functions.
fn declared() -> &'static [&'static Engine] {
    static ENGINES: OnceLock<Vec<&'static Engine>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../engines/catalogue");
        let read = |family: &str| std::fs::read_to_string(folder.join(format!("{family}.toml"))).unwrap();
        let rows = FAMILIES.iter().flat_map(|family| toml::from_str::<Declared>(&read(family)).unwrap().engine);
        rows.map(engine).collect()
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
        example: text(row.example),
        ..Engine::bare(row.number, text(row.id), Nature::Pure, |_, _| Ok(Value::Null))
    }))
}

pub(super) fn agents() -> Agents {
    Agents::built_in(declared()).unwrap()
}

/// Returns a sample value of a parameter that the inputs to which it is bound accept.
fn sample_param(agent: &Agent, parameter: &Parameter) -> Value {
    let accepted = |value: &Value| {
        let of_steps = agent.plan.iter().flat_map(|step| step.bind.iter().map(move |bound| (step, bound)));
        let fits = |(step, (name, binding)): (&PlanStep, &(String, Binding))| {
            let field = step.engine.fields().inputs.iter().find(|field| field.name == *name).unwrap();
            let bound = matches!(binding, Binding::Reference(Reference { head: Head::Param(of), hops }) if *of == parameter.name && hops.is_empty());
            !bound || grammar::check(&field.kind, field.range, value).is_empty()
        };
        of_steps.into_iter().all(fits)
    };
    if let ParameterDefault::Default(value @ (Value::Array(_) | Value::Object(_))) = &parameter.default
        && !crate::agent::reference::is_empty(value)
    {
        return value.clone();
    }
    let numbers = [20.5, 1.5, 5.0, 0.5, 7.4, 40.0, 70.0, 100.0, 150.0, 500.0, 950.0, 5000.0];
    let value = match &parameter.kind {
        Type::Prim(Prim::Number) => numbers.iter().map(|number| json!(number)).find(accepted),
        Type::Prim(Prim::Integer) => {
            [3, 1, 8, 20, 12, 50, 100, 1000, 0].iter().map(|number| json!(number)).find(accepted)
        }
        Type::Array(item) if **item == Type::Prim(Prim::Number) => {
            numbers.iter().map(|number| json!([number, number])).find(accepted)
        }
        Type::Array(item) if **item == Type::Prim(Prim::Integer) => {
            [3, 1, 20].iter().map(|number| json!([number, number])).find(accepted)
        }
        kind => Some(sample(kind)),
    };
    value.unwrap_or_else(|| panic!("no sample of {} for {}", parameter.name, agent.id))
}

/// Returns a sample value of a type.
fn sample(kind: &Type) -> Value {
    match kind {
        Type::Prim(Prim::Number) => json!(20.5),
        Type::Prim(Prim::Integer) => json!(3),
        Type::Prim(Prim::Boolean) => json!(true),
        Type::Prim(Prim::Any) => json!({ "any": 7 }),
        Type::Prim(Prim::Datetime) => json!("2026-11-21T03:00:00Z"),
        Type::Prim(Prim::Date) => json!("2026-11-21"),
        Type::Prim(Prim::Finding) => json!({ "rule": "r-1", "severity": "high", "message": "m" }),
        Type::Prim(Prim::Bytes) => json!("dGV4dA=="),
        Type::Prim(Prim::LatLon) => json!({ "lat": 20.5, "lon": 8.5 }),
        Type::Prim(Prim::Bbox) => json!([8, 47, 9, 48]),
        Type::Prim(Prim::Geometry) => json!({ "type": "Point", "coordinates": [8.5, 20.5] }),
        Type::Prim(Prim::FeatureCollection) => json!({ "type": "FeatureCollection", "features": [] }),
        Type::Prim(Prim::String) => json!("text"),
        Type::Enum(values) => json!(values[0]),
        Type::Array(item) => json!([sample(item), sample(item)]),
        Type::Map(item) => json!({ "key": sample(item) }),
        Type::Record(members) => {
            // Manning's coefficient is at most 0.3.
            let of = |member: &grammar::Member| match member.name.as_str() {
                "roughness" => json!(0.05),
                _ => sample(&member.kind),
            };
            Value::Object(members.iter().map(|member| (member.name.clone(), of(member))).collect())
        }
    }
}
