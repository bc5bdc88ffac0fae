//! What an agent still needs, for people: name, unit, range and an example.

use muster_engines::grammar::{Member, Prim, Type};
use serde_json::Value;

use super::agents::Agent;
use super::binding::Binding;
use super::parameter::{Parameter, problems_of};
use super::prompt::cut;
use super::reference::Head;

/// Maximum size of an example, in bytes.
const MAX_EXAMPLE: usize = 200;
/// Most keys of a map that are named.
const MAX_KEYS: usize = 8;

/// Describes missing params, and how to give them.
pub(super) fn describe(agent: &Agent, missing: &[String]) -> String {
    let in_set = |name: &String| agent.one_of.iter().any(|set| set.contains(name));
    let mut described: Vec<String> =
        missing.iter().filter(|name| !in_set(name)).filter_map(|name| named(agent, name)).collect();
    for set in agent.one_of.iter().filter(|set| set.iter().all(|name| missing.contains(name))) {
        let choices: Vec<String> = set.iter().filter_map(|name| named(agent, name)).collect();
        described.push(format!("one of: {}", choices.join(" – or ")));
    }
    format!(
        "the agent {} needs {}. Write it in the instruction of a redirect, or as {{\"params\": {{…}}}}",
        agent.id,
        described.join("; ")
    )
}

/// Describes a parameter by its name.
pub(super) fn named(agent: &Agent, name: &str) -> Option<String> {
    agent.parameters.iter().find(|parameter| parameter.name == name).map(|parameter| one(agent, parameter))
}

/// Describes a parameter for a report, where records are rows and columns.
pub(super) fn for_report(agent: &Agent, name: &str) -> Option<String> {
    let parameter = agent.parameters.iter().find(|parameter| parameter.name == name)?;
    let columns = |members: &[Member]| {
        let names: Vec<&str> =
            members.iter().filter(|member| !member.optional).map(|member| member.name.as_str()).collect();
        names.join(", ")
    };
    Some(match &parameter.kind {
        Type::Record(members) => format!("`{name}` (with {})", columns(members)),
        Type::Array(item) => match &**item {
            Type::Record(members) => format!("`{name}` (rows with {})", columns(members)),
            _ => one(agent, parameter).replacen(name, &format!("`{name}`"), 1),
        },
        Type::Map(_) => match example(agent, parameter) {
            Some(Value::Object(entries)) => {
                let keys: Vec<&str> = entries.keys().map(String::as_str).take(MAX_KEYS).collect();
                format!("`{name}` (values by name, such as {})", keys.join(", "))
            }
            _ => format!("`{name}` (values by name)"),
        },
        Type::Prim(Prim::Bytes) => format!("`{name}` (a file)"),
        Type::Prim(Prim::Geometry) => format!("`{name}` (a point, line or area as GeoJSON)"),
        _ => one(agent, parameter).replacen(name, &format!("`{name}`"), 1),
    })
}

fn one(agent: &Agent, parameter: &Parameter) -> String {
    let mut text = format!("{} ({}", parameter.name, type_name(&parameter.kind));
    if !parameter.unit.is_empty() {
        text.push_str(&format!(", {}", parameter.unit));
    }
    match (parameter.range.least, parameter.range.most) {
        (Some(least), Some(most)) => text.push_str(&format!(", {least} to {most}")),
        (Some(least), None) => text.push_str(&format!(", at least {least}")),
        (None, Some(most)) => text.push_str(&format!(", at most {most}")),
        (None, None) => {}
    }
    text.push(')');
    if let Some(example) = example(agent, parameter) {
        text.push_str(&format!(", such as {}", cut(&example.to_string(), MAX_EXAMPLE)));
    }
    text
}

/// Records are described by their example.
fn type_name(kind: &Type) -> String {
    match kind {
        Type::Enum(words) => format!("one of {}", words.join(", ")),
        Type::Record(_) | Type::Map(_) => "object".to_owned(),
        Type::Array(item) => format!("list of {}", type_name(item)),
        Type::Prim(prim) => prim.name().to_owned(),
    }
}

/// Returns the value of an engine's example to whose input the parameter is bound, shortened to its first item.
fn example(agent: &Agent, parameter: &Parameter) -> Option<Value> {
    let bound = agent.plan.iter().flat_map(|step| step.bind.iter().map(move |bound| (step.engine, bound)));
    bound
        .filter_map(|(engine, (name, binding))| match binding {
            Binding::Reference(reference)
                if reference.head == Head::Param(parameter.name.clone()) && reference.hops.is_empty() =>
            {
                engine.example().get(name).cloned()
            }
            _ => None,
        })
        .find(|value| !value.is_null() && problems_of(parameter, value).is_empty())
        .map(|value| match value {
            Value::Array(items) => items.into_iter().take(1).collect(),
            other => other,
        })
}
