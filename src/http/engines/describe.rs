//! Describes the operations of each engine from the registry: its input, its output and its example.

use muster_engines::{Cost, Engine, Nature};
use serde_json::{Value, json};
use utoipa::IntoResponses;

use crate::error::sets::{Agent, EngineErrors};
use crate::guard::Requirement;

/// Returns the path of each engine's run, with its operation.
pub(super) fn runs(requirement: &Requirement) -> Vec<(String, Value)> {
    let errors = json!(EngineErrors::<Agent>::responses());
    let run = |engine: &'static Engine| {
        (format!("{}/run", engine.path()), json!({ "post": run(engine, requirement, errors.clone()) }))
    };
    muster_engines::all().map(run).collect()
}

/// `errors` are the responses to requests that fail, which are those of every engine.
fn run(engine: &Engine, requirement: &Requirement, errors: Value) -> Value {
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
        "responses": with_success(errors, "The output of the engine", output),
    })
}

/// Returns the path of the sentinels' orchestration, with its operation. Where there are none, it is not described.
pub(super) fn orchestration(requirement: &Requirement) -> Vec<(String, Value)> {
    let Some(engine) = muster_engines::by_number(155) else { return Vec::new() };
    let mut output = inner(engine.output_schema());
    if let Some(properties) = output.get_mut("properties").and_then(Value::as_object_mut) {
        let complete = "Whether every sentinel that applies gave its answer";
        properties.insert("complete".to_owned(), json!({ "type": "boolean", "description": complete }));
        properties.insert("warnings".to_owned(), json!({ "type": "array", "items": { "type": "string" } }));
    }
    if let Some(required) = output.get_mut("required").and_then(Value::as_array_mut) {
        required.extend([json!("complete"), json!("warnings")]);
    }
    let operation = json!({
        "tags": ["engines"],
        "operationId": "orchestrate_sentinels",
        "summary": "Examine a subject with the sentinels",
        "description": format!(
            "Runs the sentinels that apply to the members of the subject, each in a call of its own and with its \
             members only, and fuses their answers. Waves 1 (life safety, credentials), 2 (active attack) and 3 (hygiene): \
             with `priority` the next begins when one has ended or used its share of `deadline_ms` (50, 80, 100 %); with \
             `parallel` all begin at once; with `first-critical` none begins after a critical verdict. A sentinel without \
             an answer by the deadline is `timeout`, and `complete` is false: then the verdict is never `clear`. A critical \
             verdict is in the audit log and on the channel `governance`, with the SHA-256 of the subject's RFC 8785 \
             form, once in ten minutes.\n\nWith `Accept: text/event-stream` the answer is a stream of `start` \
             ({{sentinels}}), `finding`, `run`, then `done` (the answer) or `error`.\n\nMethod: {}\n\n{}",
            engine.method, requirement.sentence().unwrap_or_default(),
        ),
        "security": requirement.security(),
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": inner(engine.input_schema()), "example": engine.example() } },
        },
        "responses": responses::<EngineErrors<Agent>>("The fused answer", output),
    });
    vec![("/api/q155/sentinel/orchestrate".to_owned(), json!({ "post": operation }))]
}

/// Removes the schema's `$schema`, which is that of the document.
fn inner(mut schema: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    schema
}

fn responses<Errors: IntoResponses>(description: &str, schema: Value) -> Value {
    with_success(json!(Errors::responses()), description, schema)
}

fn with_success(mut all: Value, description: &str, schema: Value) -> Value {
    let success = json!({ "description": description, "content": { "application/json": { "schema": schema } } });
    if let Some(all) = all.as_object_mut() {
        all.insert("200".to_owned(), success);
    }
    all
}
