//! The finished steps of a task, decoded from its journal.

use std::sync::Arc;

use muster_engines::Engine;
use muster_providers::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::failure::broken;
use crate::engine::EngineAnswer;
use crate::task::{StepError, TaskView};

/// A finished step.
#[derive(Debug)]
pub(super) enum HistoryStep<'a> {
    Engine(EngineStep<'a>),
    Model(ModelStep),
    Filled(FilledStep),
    Result(ResultStep<'a>),
}

/// A call of an engine.
#[derive(Debug, Clone)]
pub(super) struct EngineStep<'a> {
    /// The agent that called it.
    pub(super) agent: &'a str,
    /// The plan's name of the step, or one derived from the engine's.
    pub(super) name: &'a str,
    pub(super) engine: &'a str,
    pub(super) number: u16,
    /// Digest of its input, see [`digest`].
    pub(super) input_sha256: &'a str,
    /// The model's call that requested it, if any.
    pub(super) call: Option<CallRef>,
    /// Null if it failed.
    pub(super) output: &'a Value,
    pub(super) warnings: Vec<String>,
    pub(super) error: Option<&'a str>,
}

/// Identifies a call by the task's step and its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallRef {
    pub(super) step: u32,
    pub(super) call: usize,
}

/// An answer of a model that plans.
#[derive(Debug, Clone)]
pub(super) struct ModelStep {
    /// Index among the task's steps.
    pub(super) index: u32,
    pub(super) agent: String,
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    /// Number of instructions that it had seen.
    pub(super) instructions: usize,
}

/// Params that a model found in the instruction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FilledStep {
    pub(super) agent: String,
    /// Number of instructions that it had seen.
    pub(super) instructions: usize,
    /// `{param, value, by, evidence}`, as for the result.
    pub(super) values: Vec<Value>,
}

impl FilledStep {
    /// Encodes it for the journal.
    pub(super) fn encoded(&self) -> Value {
        json!({ "did": "filled", "agent": self.agent, "instructions": self.instructions, "values": self.values })
    }
}

/// A result.
#[derive(Debug)]
pub(super) struct ResultStep<'a> {
    pub(super) agent: &'a str,
    /// Number of instructions that it took into account.
    pub(super) instructions: usize,
    pub(super) result: &'a Value,
}

impl EngineStep<'_> {
    /// Returns a label, such as `q187 repo-tree`.
    pub(super) fn label(&self) -> String {
        format!("q{} {}", self.number, self.engine)
    }
}

/// Returns the finished steps in order.
///
/// # Errors
///
/// Fails if a step has an unknown format.
pub(super) fn read(view: &TaskView) -> Result<Vec<HistoryStep<'_>>, StepError> {
    view.done.iter().map(|step| decode(step.index, &step.output).ok_or_else(|| unreadable(step.index))).collect()
}

fn unreadable(index: u32) -> StepError {
    broken(format!("the journal's step {index} is not one of an agent: start the task again"))
}

/// Returns a step in which a model looked for params.
pub(super) fn filled(output: &Value) -> Option<FilledStep> {
    if output.get("did")? == "filled" { FilledStep::deserialize(output).ok() } else { None }
}

#[derive(Deserialize)]
struct EngineStepRow<'a> {
    agent: &'a str,
    #[serde(rename = "as")]
    name: &'a str,
    engine: &'a str,
    number: u16,
    input_sha256: &'a str,
    call: Option<CallRef>,
    #[serde(default)]
    warnings: Vec<String>,
    error: Option<&'a str>,
}

#[derive(Deserialize)]
struct ModelStepRow {
    agent: String,
    text: String,
    calls: Vec<CallRow>,
    instructions: usize,
}

#[derive(Deserialize)]
struct CallRow {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct ResultStepRow<'a> {
    agent: &'a str,
    instructions: usize,
}

pub(super) fn decode(index: u32, value: &Arc<Value>) -> Option<HistoryStep<'_>> {
    let value: &Value = value;
    match value.get("did")?.as_str()? {
        "ran" => {
            let row = EngineStepRow::deserialize(value).ok()?;
            Some(HistoryStep::Engine(EngineStep {
                agent: row.agent,
                name: row.name,
                engine: row.engine,
                number: row.number,
                input_sha256: row.input_sha256,
                call: row.call,
                output: value.get("output")?,
                warnings: row.warnings,
                error: row.error,
            }))
        }
        "asked" => {
            let ModelStepRow { agent, text, calls, instructions } = ModelStepRow::deserialize(value).ok()?;
            let call = |row: CallRow| ToolCall { id: row.id, name: row.name, arguments: row.arguments };
            let calls = calls.into_iter().map(call).collect();
            Some(HistoryStep::Model(ModelStep { index, agent, text, calls, instructions }))
        }
        "filled" => filled(value).map(HistoryStep::Filled),
        "wrote" => {
            let row = ResultStepRow::deserialize(value).ok()?;
            let (agent, instructions) = (row.agent, row.instructions);
            Some(HistoryStep::Result(ResultStep { agent, instructions, result: value.get("result")? }))
        }
        _ => None,
    }
}

/// Agent, step name and model call from which an engine's call originates.
#[derive(Debug, Clone, Copy)]
pub(super) struct EngineCallOrigin<'a> {
    pub(super) agent: &'a str,
    pub(super) name: &'a str,
    pub(super) call: Option<CallRef>,
}

/// Encodes an engine's call for the journal. `Err` is a failure that is reported to the model.
pub(super) fn encode_engine_step(
    origin: EngineCallOrigin<'_>,
    engine: &Engine,
    input_sha256: &str,
    answer: Result<EngineAnswer, String>,
) -> Value {
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
    put("did", "ran".into());
    put("agent", origin.agent.into());
    put("as", origin.name.into());
    put("engine", engine.id.into());
    put("number", engine.number.into());
    put("version", engine.version.into());
    put("input_sha256", input_sha256.into());
    if let Some(CallRef { step, call }) = origin.call {
        put("call", json!({ "step": step, "call": call }));
    }
    match answer {
        Ok(EngineAnswer { output, warnings, took, .. }) => {
            put("ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into());
            put("warnings", warnings.into());
            put("output", output);
        }
        Err(error) => {
            put("error", error.into());
            put("output", Value::Null);
        }
    }
    Value::Object(row)
}

/// Encodes a model's answer for the journal.
pub(super) fn encode_model_step(
    agent: &str,
    model: &str,
    text: &str,
    calls: &[ToolCall],
    instructions: usize,
) -> Value {
    let call = |call: &ToolCall| json!({ "id": call.id, "name": call.name, "arguments": call.arguments });
    let calls: Vec<Value> = calls.iter().map(call).collect();
    json!({
        "did": "asked", "agent": agent, "model": model, "text": text, "calls": calls, "instructions": instructions,
    })
}

/// Encodes a result for the journal.
pub(super) fn encode_result_step(agent: &str, instructions: usize, result: Value) -> Value {
    let mut row = Map::from_iter([
        ("did".to_owned(), "wrote".into()),
        ("agent".to_owned(), agent.into()),
        ("instructions".to_owned(), instructions.into()),
    ]);
    row.insert("result".to_owned(), result);
    Value::Object(row)
}

/// Returns the SHA-256 of a value's JSON, in hexadecimal.
pub(super) fn digest(value: &Value) -> String {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
