//! The calls of a task, as the sentinel of runaway agents reads them.

use std::collections::HashMap;

use muster_core::Millis;
use serde_json::{Value, json};

use super::history::{EngineStep, HistoryStep, decode};
use crate::task::FinishedStep;

/// Returns the calls of engines among finished steps as `agent_trace` of q153. `ended` returns when a step ended; steps of
/// which it knows nothing are left out. The arguments of a plan's step are the digest of its input: equal inputs are equal
/// calls.
pub fn call_trace(steps: &[FinishedStep], ended: impl Fn(u32) -> Option<Millis>) -> Vec<Value> {
    let mut arguments: HashMap<(u32, usize), Value> = HashMap::new();
    let mut calls = Vec::new();
    for step in steps {
        match decode(step.index, &step.output) {
            Some(HistoryStep::Model(model)) => {
                for (number, call) in model.calls.into_iter().enumerate() {
                    let read = serde_json::from_str(&call.arguments).unwrap_or(Value::String(call.arguments));
                    arguments.insert((model.index, number), read);
                }
            }
            Some(HistoryStep::Engine(engine)) => {
                let Some(at) = ended(step.index) else { continue };
                let of_model = engine.call.and_then(|call| arguments.remove(&(call.step, call.call)));
                calls.push(shown(&engine, at, of_model));
            }
            Some(HistoryStep::Filled(_) | HistoryStep::Result(_)) | None => {}
        }
    }
    calls
}

fn shown(engine: &EngineStep<'_>, at: Millis, arguments: Option<Value>) -> Value {
    let arguments = arguments.unwrap_or_else(|| json!({ "input_sha256": engine.input_sha256 }));
    let outcome = if engine.error.is_some() { "error" } else { "ok" };
    json!({ "time": at.rfc3339(), "tool": engine.engine, "arguments": arguments, "outcome": outcome })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::task::StepKind;

    fn step(index: u32, output: Value) -> FinishedStep {
        FinishedStep { index, name: "x".to_owned(), kind: StepKind::Engine, revision: 0, output: Arc::new(output) }
    }

    fn ran(call: Value, error: Value) -> Value {
        json!({
            "did": "ran", "agent": "a", "as": "x", "engine": "repo-tree", "number": 187, "version": "1.0.0",
            "input_sha256": "ab", "call": call, "warnings": [], "error": error, "output": null,
        })
    }

    #[test]
    fn calls_have_the_arguments_of_the_model_or_the_digest_of_their_input() {
        let asked = json!({
            "did": "asked", "agent": "a", "model": "m", "text": "", "instructions": 0,
            "calls": [{ "id": "1", "name": "repo-tree", "arguments": "{\"path\": \"a\"}" }],
        });
        let steps = [
            step(0, asked),
            step(1, ran(json!({ "step": 0, "call": 0 }), Value::Null)),
            step(2, ran(Value::Null, "failed".into())),
            step(3, ran(Value::Null, Value::Null)),
            step(4, json!({ "did": "something else" })),
        ];
        let ended = |index: u32| (index < 3).then(|| Millis(u64::from(index) * 1_000));
        let expected = json!([
            { "time": "1970-01-01T00:00:01.000Z", "tool": "repo-tree", "arguments": { "path": "a" }, "outcome": "ok" },
            { "time": "1970-01-01T00:00:02.000Z", "tool": "repo-tree", "arguments": { "input_sha256": "ab" },
              "outcome": "error" },
        ]);
        assert_eq!(Value::Array(call_trace(&steps, ended)), expected);
    }
}
