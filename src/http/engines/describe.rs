//! Describes the operations of each engine from the registry: its input, its output and its example.

use muster_engines::{Cost, Engine, Nature};
use serde_json::{Value, json};
use utoipa::IntoResponses;

use crate::error::sets::{Agent, CallErrors, EngineErrors};
use crate::guard::Requirement;

/// Returns the path of each engine's description, with its operation.
pub(super) fn descriptions(requirement: &Requirement) -> Vec<(String, Value)> {
    muster_engines::all().map(|engine| (engine.path(), json!({ "get": describe(engine, requirement) }))).collect()
}

/// Returns the path of each engine's run, with its operation.
pub(super) fn runs(requirement: &Requirement) -> Vec<(String, Value)> {
    let run = |engine: &'static Engine| (format!("{}/run", engine.path()), json!({ "post": run(engine, requirement) }));
    muster_engines::all().map(run).collect()
}

fn describe(engine: &Engine, requirement: &Requirement) -> Value {
    json!({
        "tags": ["engines"],
        "operationId": format!("get_q{}", engine.number),
        "summary": format!("Describe engine q{} ({})", engine.number, engine.id),
        "description": format!(
            "Returns the input and output schemas of engine q{} ({}), an example input, its method and the source of \
             the method.\n\n{}",
            engine.number, engine.name, requirement.sentence().unwrap_or_default(),
        ),
        "security": requirement.security(),
        "responses": responses::<CallErrors<Agent>>(
            "The engine with its schemas",
            json!({ "$ref": "#/components/schemas/EngineBody" }),
        ),
    })
}

fn run(engine: &Engine, requirement: &Requirement) -> Value {
    let reads = match engine.nature {
        Nature::Pure => "",
        Nature::Workspace => " Reads files below the workspace folder; a path outside it is rejected with 403.",
        Nature::Model => " May call a model in the name of the caller; where the caller may not, a warning says so.",
        Nature::State => " Reads the state of the server, of what the caller may see.",
    };
    let long = match engine.cost {
        Cost::Short => "",
        Cost::Long => {
            "\n\nA call may take a minute. With `Accept: text/event-stream` the answer is a stream of `progress` \
             ({done, total, phase}), then `result` or `error`."
        }
    };
    let output = json!({
        "type": "object",
        "required": ["engine", "number", "version", "output", "duration_ms", "warnings"],
        "properties": {
            "engine": { "const": engine.id },
            "number": { "const": engine.number },
            "version": { "type": "string" },
            "output": inner(engine.output_schema()),
            "duration_ms": { "type": "integer", "minimum": 0 },
            "warnings": { "type": "array", "items": { "type": "string" } },
            "explain": { "$ref": "#/components/schemas/Explanation" },
        },
    });
    json!({
        "tags": ["engines"],
        "operationId": format!("run_q{}", engine.number),
        "summary": format!("Run engine q{} ({})", engine.number, engine.id),
        "description": format!(
            "{}: {}{reads}{long}\n\nMethod: {}\n\n{}",
            engine.name, engine.summary, engine.method, requirement.sentence().unwrap_or_default(),
        ),
        "security": requirement.security(),
        "parameters": [{
            "name": "explain", "in": "query", "required": false, "schema": { "type": "boolean", "default": false },
            "description": "Whether the answer has `explain`: steps, assumptions, references and data",
        }],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": inner(engine.input_schema()), "example": engine.example() } },
        },
        "responses": responses::<EngineErrors<Agent>>("The output of the engine", output),
    })
}

/// Removes the schema's `$schema`, which is that of the document.
fn inner(mut schema: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    schema
}

fn responses<Errors: IntoResponses>(description: &str, schema: Value) -> Value {
    let mut all = json!(Errors::responses());
    let success = json!({ "description": description, "content": { "application/json": { "schema": schema } } });
    if let Some(all) = all.as_object_mut() {
        all.insert("200".to_owned(), success);
    }
    all
}
