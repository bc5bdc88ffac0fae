//! Parameters of agents: `name:type:default`.

use muster_engines::grammar::{self, Range, Type};
use muster_engines::{Problem, ProblemKind};
use serde_json::{Map, Value, json};

use super::reference::is_name;
use muster_core::FieldError;

/// Maximum number of problems reported for one request's params.
const MAX_PROBLEMS: usize = 50;

/// A parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    /// Name: lower-case letters, digits and underscores.
    pub(crate) name: String,
    /// Type of the value.
    pub(crate) kind: Type,
    /// Value used if a caller provides none.
    pub(crate) default: ParameterDefault,
}

/// The value used if a caller provides none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ParameterDefault {
    /// None: the parameter is required.
    Required,
    /// `null`.
    Optional,
    /// The text of the instruction.
    Task,
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
                if value == "$task" { ParameterDefault::Task } else { ParameterDefault::Default(value) }
            }
        };
        if let ParameterDefault::Default(value) = &default
            && let Some(problem) = grammar::check(&kind, Range::default(), value).first()
        {
            return Err(format!("parameter {text:?}: its default {}", problem.message));
        }
        Ok(Self { name: name.to_owned(), kind, default })
    }

    fn value_if_absent(&self, task: &str) -> Option<Value> {
        match &self.default {
            ParameterDefault::Required => None,
            ParameterDefault::Optional => Some(Value::Null),
            ParameterDefault::Task => Some(task.into()),
            ParameterDefault::Default(value) => Some(value.clone()),
        }
    }
}

/// Returns the JSON Schema (2020-12) of an agent's params, without additional properties.
pub(super) fn schema(parameters: &[Parameter]) -> Value {
    let property = |parameter: &Parameter| {
        let schema = grammar::type_schema(&parameter.kind, Range::default());
        let with = |mut schema: Value, value: Value| {
            if let Some(object) = schema.as_object_mut() {
                object.insert("default".to_owned(), value);
            }
            schema
        };
        let schema = match &parameter.default {
            ParameterDefault::Required => schema,
            ParameterDefault::Optional => with(json!({ "anyOf": [schema, { "type": "null" }] }), Value::Null),
            ParameterDefault::Task => with(schema, "$task".into()),
            ParameterDefault::Default(value) => with(schema, value.clone()),
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

/// Validates params and completes them. `null` counts as absent, and absent params as an empty object. Invalid and
/// missing params are returned separately: the caller decides whether a missing one is an error.
pub(super) fn accept(parameters: &[Parameter], params: Value, task: &str) -> Accepted {
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
            None | Some(Value::Null) => match parameter.value_if_absent(task) {
                Some(default) => {
                    accepted.params.insert(parameter.name.clone(), default);
                }
                None => accepted.missing.push(parameter.name.clone()),
            },
            Some(value) => {
                accepted.problems.extend(problems_of(parameter, value));
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

/// Returns the problems of a value, with their paths.
pub(super) fn problems_of(parameter: &Parameter, value: &Value) -> Vec<FieldError> {
    let placed = |Problem { loc, message, kind, input }: Problem| {
        let mut place = vec![parameter.name.as_str()];
        place.extend(loc.iter().map(String::as_str));
        problem(kind.name(), &place, message, input)
    };
    grammar::check(&parameter.kind, Range::default(), value).into_iter().map(placed).collect()
}

/// Returns the error for a missing required param.
pub(super) fn missing(name: &str) -> FieldError {
    problem("missing", &[name], "is required, and the task does not contain it", Value::Null)
}

fn problem(kind: &'static str, place: &[&str], message: impl Into<String>, input: Value) -> FieldError {
    let loc = ["body", "params"].iter().chain(place).map(|&part| part.to_owned()).collect();
    FieldError { kind, loc, msg: message.into(), input }
}
