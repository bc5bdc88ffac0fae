//! Effect of instructions on a task's params.

use muster_core::Millis;
use serde_json::{Map, Value, json};

use super::agents::Agent;
use super::fill::{self, Filled};
use super::history;
use super::parameter::{Accepted, Parameter, ParameterDefault, accept, complete, problems_of};
use super::reference::is_empty;
use crate::task::TaskView;

/// A task's params after all redirects.
#[derive(Debug, Default)]
pub(super) struct SteeredParams {
    pub(super) params: Map<String, Value>,
    /// Required params that are still missing.
    pub(super) missing: Vec<String>,
    /// The effect of each instruction, in order, for the write-up.
    pub(super) notes: Vec<Note>,
    /// Params that instructions of redirects changed.
    changed: Vec<String>,
    /// Those of them that were found in their prose, as for the result.
    filled: Vec<Value>,
}

/// An instruction and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) text: String,
    pub(super) effect: String,
}

/// Applies instructions to params. An instruction changes params if it is a JSON object `{"params": {...}}`, or names
/// them; others are left to a model, and noted.
pub(super) fn steered_params(agent: &Agent, view: &TaskView) -> SteeredParams {
    let mut accepted = accept(&agent.parameters, fitting(agent, &view.params));
    accepted.missing.extend(wanting(agent, &accepted.params));
    let now = Some(view.created_at);
    // What only the time of the task makes clear, such as "tomorrow".
    if !accepted.missing.is_empty() {
        fill::from_text(&agent.parameters, &mut accepted, &view.task, now);
    }
    let mut steered = SteeredParams::default();
    for instruction in &view.instructions {
        let effect = match changes(&instruction.text) {
            Some(changes) => {
                let (effect, applied) = apply(&agent.parameters, &mut accepted.params, changes);
                steered.changed.extend(applied);
                effect
            }
            None => prose(agent, &mut accepted, &instruction.text, instruction.at, &mut steered),
        };
        steered.notes.push(Note { text: instruction.text.clone(), effect });
    }
    by_model(agent, view, &mut accepted, &mut steered);
    complete(&agent.parameters, &mut accepted, &view.task, &view.created_at.rfc3339());
    let params = accepted.params;
    let lacks = |parameter: &&Parameter| !params.contains_key(&parameter.name);
    steered.missing = agent.parameters.iter().filter(lacks).map(|parameter| parameter.name.clone()).collect();
    steered.missing.extend(wanting(agent, &params));
    steered.params = params;
    steered
}

/// Returns the params of the sets of which one is needed and none is given.
pub(super) fn wanting(agent: &Agent, params: &Map<String, Value>) -> Vec<String> {
    let is_given = |name: &String| params.get(name).is_some_and(|value| !is_empty(value));
    agent.one_of.iter().filter(|set| !set.iter().any(is_given)).flatten().cloned().collect()
}

/// Takes what a model found for params that nobody gave.
fn by_model(agent: &Agent, view: &TaskView, accepted: &mut Accepted, steered: &mut SteeredParams) {
    for step in view.done.iter().filter_map(|step| history::filled(&step.output)).filter(|step| step.agent == agent.id)
    {
        for found in step.values {
            let (Some(name), Some(value)) = (found.get("param").and_then(Value::as_str), found.get("value")) else {
                continue;
            };
            let parameter = agent.parameters.iter().find(|parameter| parameter.name == name);
            let valid = parameter.is_some_and(|parameter| problems_of(parameter, value).is_empty());
            if valid && !accepted.params.contains_key(name) {
                accepted.missing.retain(|missing| missing != name);
                accepted.params.insert(name.to_owned(), value.clone());
                steered.filled.push(found);
            }
        }
    }
}

/// Takes params from an instruction in prose.
fn prose(agent: &Agent, accepted: &mut Accepted, text: &str, at: Millis, steered: &mut SteeredParams) -> String {
    let found = fill::find(&agent.parameters, &Default::default(), &accepted.missing, text, Some(at));
    if found.is_empty() {
        return "noted: it names no parameter".to_owned();
    }
    let names: Vec<String> = found.iter().map(|filled| filled.param.clone()).collect();
    steered.filled.extend(found.iter().map(|filled| shown(filled, text)));
    for filled in found {
        accepted.missing.retain(|name| *name != filled.param);
        accepted.params.insert(filled.param, filled.value);
    }
    let effect = format!("changed {} for the steps after it", names.join(", "));
    steered.changed.extend(names);
    effect
}

/// Returns a value as the result shows it.
pub(super) fn shown(filled: &Filled, text: &str) -> Value {
    json!({ "param": filled.param, "value": filled.value, "by": filled.by, "evidence": filled.evidence(text) })
}

/// Returns the params whose values are from the task's text: for the result, and their places in the text.
pub(super) fn filled(
    agent: &Agent,
    view: &TaskView,
    steered: &SteeredParams,
) -> (Vec<Value>, Vec<std::ops::Range<usize>>) {
    let required = agent.parameters.iter().filter(|parameter| parameter.default == ParameterDefault::Required);
    let sets = agent.one_of.iter().flatten().cloned();
    let required: Vec<String> = required.map(|parameter| parameter.name.clone()).chain(sets).collect();
    let found = fill::find(&agent.parameters, &Default::default(), &required, &view.task, Some(view.created_at));
    let kept: Vec<&Filled> = found
        .iter()
        .filter(|filled| {
            !steered.changed.contains(&filled.param) && steered.params.get(&filled.param) == Some(&filled.value)
        })
        .collect();
    let places = kept.iter().map(|filled| filled.span.clone()).collect();
    let shown = kept.iter().map(|filled| shown(filled, &view.task)).chain(steered.filled.iter().cloned());
    (shown.collect(), places)
}

/// Returns the params that this agent has as well: a reassigned task has those of another agent.
pub(super) fn fitting(agent: &Agent, params: &Value) -> Value {
    let Some(params) = params.as_object() else { return Value::Null };
    let fits = |name: &str, value: &Value| {
        let parameter = agent.parameters.iter().find(|parameter| parameter.name == name);
        parameter.is_some_and(|parameter| value.is_null() || problems_of(parameter, value).is_empty())
    };
    let kept = params.iter().filter(|(name, value)| fits(name, value));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

pub(super) fn changes(text: &str) -> Option<Map<String, Value>> {
    let has_params = |object: &Map<String, Value>| object.get("params").is_some_and(Value::is_object);
    let object: Map<String, Value> = serde_json::from_str(text.trim()).ok()?;
    if has_params(&object) { fill::object(text) } else { None }
}

/// Returns the effect, and the names of changed params.
fn apply(
    parameters: &[Parameter],
    params: &mut Map<String, Value>,
    changes: Map<String, Value>,
) -> (String, Vec<String>) {
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
    let effect = match (applied.is_empty(), refused.is_empty()) {
        (false, true) => format!("changed {} for the steps after it", applied.join(", ")),
        (false, false) => format!("changed {}; refused: {}", applied.join(", "), refused.join("; ")),
        (true, false) => format!("refused: {}", refused.join("; ")),
        (true, true) => "changed nothing".to_owned(),
    };
    (effect, applied)
}
