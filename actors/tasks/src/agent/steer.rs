//! Effect of redirects on a task's params.

use serde_json::{Map, Value};

use super::agents::Agent;
use super::fill;
use super::parameter::{Accepted, Parameter, ParameterDefault, accept, problems_of};
use crate::task::TaskView;

/// A task's params after all redirects.
#[derive(Debug, Default)]
pub(super) struct SteeredParams {
    pub(super) params: Map<String, Value>,
    /// Required params that are still missing.
    pub(super) missing: Vec<String>,
    /// The effect of each instruction, in order, for the write-up.
    pub(super) notes: Vec<Note>,
}

/// An instruction and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) text: String,
    pub(super) effect: String,
}

/// Applies instructions to params. An instruction changes params if it is a JSON object `{"params": {...}}`; others are
/// left to a model, and noted.
pub(super) fn steered_params(agent: &Agent, view: &TaskView) -> SteeredParams {
    let Accepted { mut params, .. } = accept(&agent.parameters, fitting(agent, &view.params), &view.task);
    let mut notes = Vec::new();
    for instruction in &view.instructions {
        let effect = match changes(&instruction.text) {
            Some(changes) => apply(&agent.parameters, &mut params, changes),
            None => "noted".to_owned(),
        };
        notes.push(Note { text: instruction.text.clone(), effect });
    }
    let lacks = |parameter: &&Parameter| !params.contains_key(&parameter.name);
    let missing = agent.parameters.iter().filter(lacks).map(|parameter| parameter.name.clone()).collect();
    SteeredParams { params, missing, notes }
}

/// Returns the params that this agent has as well: a reassigned task has those of another agent.
fn fitting(agent: &Agent, params: &Value) -> Value {
    let Some(params) = params.as_object() else { return Value::Null };
    let fits = |name: &str, value: &Value| {
        let parameter = agent.parameters.iter().find(|parameter| parameter.name == name);
        parameter.is_some_and(|parameter| value.is_null() || problems_of(parameter, value).is_empty())
    };
    let kept = params.iter().filter(|(name, value)| fits(name, value));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn changes(text: &str) -> Option<Map<String, Value>> {
    let has_params = |object: &Map<String, Value>| object.get("params").is_some_and(Value::is_object);
    let object: Map<String, Value> = serde_json::from_str(text.trim()).ok()?;
    if has_params(&object) { fill::object(text) } else { None }
}

fn apply(parameters: &[Parameter], params: &mut Map<String, Value>, changes: Map<String, Value>) -> String {
    let (mut applied, mut refused) = (Vec::new(), Vec::new());
    for (name, value) in changes {
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
            refused.push(format!("{name} is not a parameter of this agent"));
            continue;
        };
        let reset = value.is_null() && parameter.default == ParameterDefault::Optional;
        match problems_of(parameter, &value).first().filter(|_| !reset) {
            Some(problem) => refused.push(format!("{name} {}", problem.msg)),
            None => {
                applied.push(name.clone());
                params.insert(name, value);
            }
        }
    }
    match (applied.is_empty(), refused.is_empty()) {
        (false, true) => format!("changed {} for the steps after it", applied.join(", ")),
        (false, false) => format!("changed {}; refused: {}", applied.join(", "), refused.join("; ")),
        (true, false) => format!("refused: {}", refused.join("; ")),
        (true, true) => "changed nothing".to_owned(),
    }
}
