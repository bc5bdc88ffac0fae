//! The toolbox as tools of a model, and what a model's call of one is worth.

use std::collections::HashSet;

use muster_engines::{Engine, Failure};
use muster_providers::{Tool, ToolCall};
use serde_json::{Value, json};

use crate::agent::agents::Agent;

/// The tool by which a model says that it has what it needs.
pub(in crate::agent) const FINISH: &str = "finish";
/// Problems of one call that the model is told.
const MAX_PROBLEMS: usize = 8;

/// What a call is.
#[derive(Debug)]
pub(in crate::agent) enum Verdict {
    Runs(&'static Engine, Value),
    Finish,
    /// Why it cannot be done, in words for the model.
    Refused(String),
}

pub(super) fn tools(agent: &Agent) -> Vec<Tool> {
    let tool = |engine: &&'static Engine| {
        let mut parameters = engine.input_schema();
        if let Some(schema) = parameters.as_object_mut() {
            // Some providers refuse keywords that they do not know.
            schema.remove("$schema");
        }
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

/// Looks at a call without doing it.
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
        Err(failure) => Verdict::Refused(told(&failure)),
    }
}

fn told(failure: &Failure) -> String {
    let Failure::Invalid { problems } = failure else { return failure.to_string() };
    let lines =
        problems.iter().take(MAX_PROBLEMS).map(|problem| format!("{} {}", problem.loc.join("."), problem.message));
    format!("the arguments do not fit: {}", lines.collect::<Vec<_>>().join("; "))
}

/// Ids are what ties answers to calls: those that are missing or there twice are made up.
pub(super) fn give_ids(calls: &mut [ToolCall], step: u32) {
    let mut seen = HashSet::new();
    for (at, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = format!("call_{step}_{at}");
            seen.insert(call.id.clone());
        }
    }
}
