//! Parameters of agents: `name:type:default`.

use std::collections::HashSet;

use muster_engines::grammar::{self, Prim, Range, Type};
use muster_engines::{Problem, ProblemKind};
use serde_json::{Map, Value, json};

use super::binding::Binding;
use super::reference::{Head, Reference, Scope, is_name};
use super::{files, fill};
use muster_core::FieldError;

/// Maximum number of problems reported for one request's params.
const MAX_PROBLEMS: usize = 50;

/// A parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    /// Name: lower-case letters, digits and underscores.
    pub(crate) name: String,
    /// Type of the value; the members of its records have the units of the inputs to which they are bound.
    pub(crate) kind: Type,
    /// Unit of the inputs to which it is bound; empty for none.
    pub(crate) unit: String,
    /// Values that the inputs accept, or one of them if the steps of all have conditions.
    pub(crate) range: Range,
    /// Words by which a text names it, beside its name.
    pub(crate) words: Vec<String>,
    /// Phrases by which a text says its value.
    pub(crate) phrases: Vec<Phrase>,
    /// Value used if a caller provides none.
    pub(crate) default: ParameterDefault,
}

/// A phrase that says a value, or of a map the key whose value it says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Phrase {
    /// The phrase as [`super::fill`] compares texts.
    pub(crate) text: String,
    pub(crate) value: Value,
    /// Whether it says something only with a number beside it.
    pub(crate) is_number: bool,
}

/// The value used if a caller provides none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ParameterDefault {
    /// None: the parameter is required.
    Required,
    /// `null`.
    Optional,
    /// A value with references to the instruction and to parameters before this one, and how it is written.
    Bound(Binding, Value),
    /// This value.
    Default(Value),
}

/// Validated params.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Accepted {
    /// Including defaults.
    pub(super) params: Map<String, Value>,
    /// Missing required params.
    pub(super) missing: Vec<String>,
    /// Names of the params that the caller gave.
    pub(super) given: HashSet<String>,
    /// Params with a default that refers to other params, which it follows when they change.
    pub(super) derived: Vec<String>,
    /// Invalid or unknown params, with paths below `body.params`.
    pub(super) problems: Vec<FieldError>,
}

impl Parameter {
    /// Parses a parameter.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("parameter {text:?} is not name:type:default");
        let (name, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (kind, default) = rest.split_once(':').ok_or_else(wrong)?;
        if !is_name(name) {
            return Err(format!(
                "parameter {text:?}: {name:?} is not a valid name (lower-case letters, digits, underscores)"
            ));
        }
        let kind = grammar::parse_type(kind).map_err(|error| format!("parameter {text:?}: {error}"))?;
        let default = match default {
            "required" => ParameterDefault::Required,
            "null" => ParameterDefault::Optional,
            other => {
                let value: Value = serde_json::from_str(other)
                    .map_err(|_| format!("parameter {text:?}: its default is not JSON, null or required"))?;
                if has_reference(&value) {
                    let binding = Binding::parse(&value).map_err(|error| format!("parameter {text:?}: {error}"))?;
                    ParameterDefault::Bound(binding, value)
                } else {
                    ParameterDefault::Default(value)
                }
            }
        };
        if let ParameterDefault::Default(value) = &default
            && let Some(problem) = grammar::check(&kind, Range::default(), value).first()
        {
            return Err(format!("parameter {text:?}: its default {}", problem.message));
        }
        let (unit, range, words, phrases) = (String::new(), Range::default(), Vec::new(), Vec::new());
        Ok(Self { name: name.to_owned(), kind, unit, range, words, phrases, default })
    }

    /// Whether it is a list that takes this record; a list of anything does not count.
    pub(super) fn is_list_of(&self, record: Value) -> bool {
        self.kind != Type::Array(Box::new(Type::Prim(Prim::Any)))
            && problems_of(self, &Value::Array(vec![record])).is_empty()
    }

    /// Adds the words of the catalogue: names, and phrases as `value=phrase`.
    ///
    /// # Errors
    ///
    /// Returns the first that says no value of this parameter.
    pub(super) fn add_words(&mut self, words: &[String]) -> Result<(), String> {
        for word in words {
            match Phrase::parse(&self.kind, word) {
                None => self.words.push(word.clone()),
                Some(phrase) => self.phrases.push(phrase?),
            }
        }
        Ok(())
    }

    /// Returns the references of its default.
    pub(super) fn references(&self) -> Vec<&Reference> {
        match &self.default {
            ParameterDefault::Bound(binding, _) => binding.references(),
            _ => Vec::new(),
        }
    }

    /// Whether its default follows other params.
    fn follows(&self) -> bool {
        self.references().iter().any(|reference| matches!(reference.head, Head::Param(_)))
    }
}

/// Returns the JSON Schema (2020-12) of an agent's params, without additional properties.
pub(super) fn schema(parameters: &[Parameter]) -> Value {
    let property = |parameter: &Parameter| {
        let mut schema = grammar::type_schema(&parameter.kind, parameter.range);
        let put = |mut schema: Value, name: &str, value: Value| {
            if let Some(object) = schema.as_object_mut() {
                object.insert(name.to_owned(), value);
            }
            schema
        };
        if !parameter.unit.is_empty() {
            schema = put(schema, "x-unit", parameter.unit.clone().into());
        }
        let with = |schema: Value, value: Value| put(schema, "default", value);
        let schema = match &parameter.default {
            ParameterDefault::Required => schema,
            ParameterDefault::Optional => with(json!({ "anyOf": [schema, { "type": "null" }] }), Value::Null),
            ParameterDefault::Bound(_, value) | ParameterDefault::Default(value) => with(schema, value.clone()),
        };
        (parameter.name.clone(), schema)
    };
    let properties: Map<String, Value> = parameters.iter().map(property).collect();
    let required: Vec<&str> =
        parameters.iter().filter(|p| p.default == ParameterDefault::Required).map(|p| p.name.as_str()).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": properties,
        "required": required, "additionalProperties": false,
    })
}

/// Validates params and adds defaults without references. `null` counts as absent, and absent params as an empty
/// object. Invalid and missing params are returned separately: the caller decides whether a missing one is an error.
/// [`complete`] adds the other defaults, once all params that are found elsewhere are there.
pub(super) fn accept(parameters: &[Parameter], params: Value) -> Accepted {
    let mut accepted = Accepted::default();
    let provided = match params {
        Value::Null => Map::new(),
        Value::Object(provided) => provided,
        other => {
            let input = if other.is_array() { Value::Null } else { other };
            accepted.problems.push(problem("type_error", &[], "must be an object of the agent's parameters", input));
            return accepted;
        }
    };
    for parameter in parameters {
        match provided.get(&parameter.name) {
            None | Some(Value::Null) => match &parameter.default {
                ParameterDefault::Required => accepted.missing.push(parameter.name.clone()),
                ParameterDefault::Optional => drop(accepted.params.insert(parameter.name.clone(), Value::Null)),
                ParameterDefault::Default(value) => {
                    drop(accepted.params.insert(parameter.name.clone(), value.clone()));
                }
                ParameterDefault::Bound(..) => {}
            },
            Some(value) => {
                accepted.problems.extend(problems_of(parameter, value));
                accepted.given.insert(parameter.name.clone());
                accepted.params.insert(parameter.name.clone(), value.clone());
            }
        }
    }
    for name in provided.keys().filter(|name| !parameters.iter().any(|parameter| parameter.name == **name)) {
        let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let message = muster_names::unknown("parameter", name, &known);
        let name = muster_names::shortened(name);
        accepted.problems.push(problem(ProblemKind::Unknown.name(), &[&name], message, Value::Null));
        if accepted.problems.len() >= MAX_PROBLEMS {
            break;
        }
    }
    accepted.problems.truncate(MAX_PROBLEMS);
    accepted
}

/// Adds the defaults that are references. One without a valid value is missing; one that refers to a missing param is
/// left out.
pub(super) fn complete(parameters: &[Parameter], accepted: &mut Accepted, task: &str, now: &str) {
    for parameter in parameters {
        let ParameterDefault::Bound(binding, _) = &parameter.default else { continue };
        if accepted.params.contains_key(&parameter.name) {
            continue;
        }
        let absent = |reference: &&Reference| match &reference.head {
            Head::Param(name) => !accepted.params.contains_key(name),
            _ => false,
        };
        if binding.references().iter().any(absent) {
            continue;
        }
        let scope = Scope { task, now: now.to_owned(), params: &accepted.params, outputs: Default::default() };
        let whole_task = matches!(binding, Binding::Reference(Reference { head: Head::Task, hops }) if hops.is_empty());
        let value = match whole_task {
            true => fill::remainder(parameters, &parameter.name, task).into(),
            false => binding.value(&scope),
        };
        if value.is_null() || !problems_of(parameter, &value).is_empty() {
            accepted.missing.push(parameter.name.clone());
            continue;
        }
        if parameter.follows() {
            accepted.derived.push(parameter.name.clone());
        }
        accepted.params.insert(parameter.name.clone(), value);
    }
}

/// Returns the problems of a value, with their paths.
pub(super) fn problems_of(parameter: &Parameter, value: &Value) -> Vec<FieldError> {
    let placed = |Problem { loc, message, kind, input }: Problem| {
        let mut place = vec![parameter.name.as_str()];
        place.extend(loc.iter().map(String::as_str));
        problem(kind.name(), &place, message, input)
    };
    let problems = grammar::check(&parameter.kind, parameter.range, value);
    let problems = match problems.is_empty() {
        true => problems,
        // Files in place of contents.
        false => files::stand_in(&parameter.kind, value)
            .map_or(problems, |value| grammar::check(&parameter.kind, parameter.range, &value)),
    };
    problems.into_iter().map(placed).collect()
}

/// Whether a default refers to something; another text that begins with `$`, as the path `$`, is a text.
fn has_reference(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            matches!(text.as_str(), "$task" | "$now") || text.starts_with("$params.") || text.starts_with("$steps.")
        }
        Value::Array(items) => items.iter().any(has_reference),
        Value::Object(entries) => entries.values().any(has_reference),
        _ => false,
    }
}

fn problem(kind: &'static str, place: &[&str], message: impl Into<String>, input: Value) -> FieldError {
    let loc = ["body", "params"].iter().chain(place).map(|&part| part.to_owned()).collect();
    FieldError { kind, loc, msg: message.into(), input }
}
