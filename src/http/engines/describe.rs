//! The description of each engine's routes, from the registry: its own input and output, and its example.

use muster_engines::{Engine, Nature};
use serde_json::{Map, Value, json};

pub(super) fn nature(engine: &Engine) -> &'static str {
    match engine.nature {
        Nature::Pure => "pure",
        Nature::Workspace => "workspace",
    }
}

/// The paths of every engine, for `paths` of the description.
pub fn paths() -> Map<String, Value> {
    let both = |engine: &'static Engine| {
        [
            (engine.path(), json!({ "get": get(engine) })),
            (format!("{}/run", engine.path()), json!({ "post": run(engine) })),
        ]
    };
    muster_engines::all().flat_map(both).collect()
}

fn get(engine: &Engine) -> Value {
    json!({
        "tags": ["engines"],
        "operationId": format!("get_q{}", engine.number),
        "summary": format!("Describes q{}, {}.", engine.number, engine.name),
        "responses": responses(
            json!({ "$ref": "#/components/schemas/EngineBody" }),
            &["401", "403", "429", "503"],
        ),
    })
}

fn run(engine: &Engine) -> Value {
    let reads = match engine.nature {
        Nature::Pure => "",
        Nature::Workspace => " Reads files below the workspace folder; a path that leaves it is refused with 403.",
    };
    let output = json!({
        "type": "object",
        "required": ["engine", "number", "output", "duration_ms", "warnings"],
        "properties": {
            "engine": { "const": engine.id },
            "number": { "const": engine.number },
            "output": inner(engine.output_schema()),
            "duration_ms": { "type": "integer", "minimum": 0 },
            "warnings": { "type": "array", "items": { "type": "string" } },
        },
    });
    json!({
        "tags": ["engines"],
        "operationId": format!("run_q{}", engine.number),
        "summary": engine.summary,
        "description": format!("{} {}{reads} A key needs the scope `engines`.", engine.name, engine.method),
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": inner(engine.input_schema()), "example": engine.example() } },
        },
        "responses": responses(
            output,
            &["400", "401", "403", "404", "408", "413", "415", "422", "429", "500", "503"],
        ),
    })
}

/// A schema without the name of its dialect: the description's is the same.
fn inner(mut schema: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    schema
}

fn responses(schema: Value, refusals: &[&str]) -> Value {
    let content = |schema: Value| json!({ "application/json": { "schema": schema } });
    let refused = |status: &&str| {
        let body = content(json!({ "$ref": "#/components/schemas/ErrorAgent" }));
        ((*status).to_owned(), json!({ "description": "", "content": body }))
    };
    let mut all: Map<String, Value> = refusals.iter().map(refused).collect();
    all.insert("200".to_owned(), json!({ "description": "", "content": content(schema) }));
    Value::Object(all)
}
