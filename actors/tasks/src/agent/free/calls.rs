//! The toolbox as tools of a model, and the evaluation of a model's tool calls.

use std::collections::HashSet;

use muster_engines::{Engine, Failure};
use muster_providers::{Tool, ToolCall};
use serde_json::{Value, json};

use super::schema;
use crate::agent::agents::Agent;

/// The tool with which a model declares that it is done.
pub(in crate::agent) const FINISH: &str = "finish";
/// Maximum number of problems of one call that are reported to the model.
const MAX_PROBLEMS: usize = 8;

/// Evaluation of a call.
#[derive(Debug)]
pub(in crate::agent) enum Verdict {
    Runs(&'static Engine, Value),
    Finish,
    /// Why it cannot be executed, as a message for the model.
    Refused(String),
}

pub(super) fn tools(agent: &Agent) -> Vec<Tool> {
    let tool = |engine: &&'static Engine| {
        let parameters = schema::plain(&engine.input_schema());
        let description = format!("q{}: {}", engine.number, engine.summary);
        Tool { name: engine.id.to_owned(), description: Some(description), parameters, strict: None }
    };
    let finish = Tool {
        name: FINISH.to_owned(),
        description: Some("Say that you have what the task needs: the result is written up after it.".to_owned()),
        parameters: json!({ "type": "object", "properties": {} }),
        strict: None,
    };
    agent.toolbox.iter().map(tool).chain(std::iter::once(finish)).collect()
}

/// Evaluates a call without executing it.
pub(in crate::agent) fn verdict(agent: &Agent, call: &ToolCall) -> Verdict {
    if call.name == FINISH {
        return Verdict::Finish;
    }
    let Some(engine) = agent.tool(&call.name) else {
        let has: Vec<&str> = agent.toolbox.iter().map(|engine| engine.id).collect();
        return Verdict::Refused(format!("there is no tool {:?}: call one of {}", call.name, has.join(", ")));
    };
    let text = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
    let input: Value = match serde_json::from_str(text) {
        Ok(input) => input,
        Err(error) => return Verdict::Refused(format!("the arguments are no valid JSON: {error}")),
    };
    match engine.accept(input.clone()) {
        Ok(_) => Verdict::Runs(engine, input),
        Err(failure) => Verdict::Refused(describe(&failure)),
    }
}

fn describe(failure: &Failure) -> String {
    let Failure::Invalid { problems } = failure else { return failure.to_string() };
    let lines =
        problems.iter().take(MAX_PROBLEMS).map(|problem| format!("{} {}", problem.loc.join("."), problem.message));
    format!("the arguments do not fit: {}", lines.collect::<Vec<_>>().join("; "))
}

/// Assigns identifiers, which relate answers to calls, where they are missing or duplicated.
pub(super) fn assign_ids(calls: &mut [ToolCall], step: u32) {
    let mut seen = HashSet::new();
    for (at, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = format!("call_{step}_{at}");
            seen.insert(call.id.clone());
        }
    }
}
