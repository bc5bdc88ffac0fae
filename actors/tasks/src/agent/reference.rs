//! References in plans: `$task`, `$now`, `$params.name`, `$steps.as.output`, each with `.field`, `[index]`, `[]` and `[+]`.

use std::collections::HashMap;
use std::fmt;

use muster_engines::Engine;
use muster_engines::grammar::{Prim, Type};
use serde_json::{Map, Value, json};

use super::file_table::FileReference;
use super::files;
use super::parameter::Parameter;
use muster_core::Millis;

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The value from which the access starts.
    pub head: Head,
    /// Accesses into that value, in order.
    pub hops: Vec<Hop>,
}

/// Start of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// The instruction.
    Task,
    /// Creation time of the task: the same for all steps and attempts.
    Now,
    /// A parameter, by its name.
    Param(String),
    /// An output of an earlier step.
    Step {
        /// Name of the step.
        name: String,
        /// Name of the output.
        output: String,
    },
}

/// Members of a finding that references may name.
const FINDING: [&str; 5] = ["rule", "severity", "message", "location", "evidence"];

/// Access into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hop {
    /// A field; for an array, that of each item.
    Field(String),
    /// The item at this index.
    Index(usize),
    /// The last item.
    Last,
    /// All items.
    Each,
    /// The texts of a list, joined by empty lines.
    Joined,
}

/// The types of what a reference can name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) params: &'a [Parameter],
    /// Earlier steps of the plan.
    pub(super) steps: &'a [(&'a str, &'static Engine)],
}

/// The values of what a reference can name.
#[derive(Debug, Clone)]
pub(super) struct Scope<'a> {
    pub(super) task: &'a str,
    pub(super) now: String,
    pub(super) params: &'a Map<String, Value>,
    /// Outputs by step name. A skipped step is absent, and its outputs are null.
    pub(super) outputs: HashMap<&'a str, &'a Value>,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.head {
            Head::Task => f.write_str("$task")?,
            Head::Now => f.write_str("$now")?,
            Head::Param(name) => write!(f, "$params.{name}")?,
            Head::Step { name, output } => write!(f, "$steps.{name}.{output}")?,
        }
        self.hops.iter().try_for_each(|hop| match hop {
            Hop::Field(name) => write!(f, ".{name}"),
            Hop::Index(at) => write!(f, "[{at}]"),
            Hop::Last => f.write_str("[-1]"),
            Hop::Each => f.write_str("[]"),
            Hop::Joined => f.write_str("[+]"),
        })
    }
}

impl Reference {
    /// Parses a reference.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).ok_or_else(|| {
            format!(
                "{text:?} is not a reference: write $task, $now, $params.name or $steps.as.output, with .field or [0]"
            )
        })
    }

    fn read(text: &str) -> Option<Self> {
        let (word, rest) = name(text.strip_prefix('$')?)?;
        let (head, mut rest) = match word {
            "task" => (Head::Task, rest),
            "now" => (Head::Now, rest),
            "params" => {
                let (param, rest) = name(rest.strip_prefix('.')?)?;
                (Head::Param(param.to_owned()), rest)
            }
            "steps" => {
                let (step, rest) = name(rest.strip_prefix('.')?)?;
                let (output, rest) = name(rest.strip_prefix('.')?)?;
                (Head::Step { name: step.to_owned(), output: output.to_owned() }, rest)
            }
            _ => return None,
        };
        let mut hops = Vec::new();
        while !rest.is_empty() {
            let hop;
            (hop, rest) = read_hop(rest)?;
            hops.push(hop);
        }
        Some(Self { head, hops })
    }

    /// Returns the type of the referenced value.
    ///
    /// # Errors
    ///
    /// Returns what does not exist.
    pub(super) fn kind(&self, known: Known<'_>) -> Result<Type, String> {
        let head = match &self.head {
            Head::Task => Type::Prim(Prim::String),
            Head::Now => Type::Prim(Prim::Datetime),
            Head::Param(name) => {
                let param = known.params.iter().find(|param| param.name == *name);
                param.ok_or_else(|| format!("{self}: there is no parameter {name}"))?.kind.clone()
            }
            Head::Step { name, output } => self.output(known, name, output)?,
        };
        self.hops.iter().try_fold(head, |kind, hop| self.hop_kind(&kind, hop))
    }

    fn output(&self, known: Known<'_>, name: &str, output: &str) -> Result<Type, String> {
        let step = known.steps.iter().find(|(step, _)| *step == name);
        let (_, engine) = step.ok_or_else(|| format!("{self}: {name} is not an earlier step"))?;
        let outputs = &engine.fields().outputs;
        let field = outputs.iter().find(|field| field.name == output);
        field.map(|field| field.kind.clone()).ok_or_else(|| {
            let has: Vec<&str> = outputs.iter().map(|field| field.name.as_str()).collect();
            format!("{self}: {} has no output {output}; it has {}", engine.id, has.join(", "))
        })
    }

    fn hop_kind(&self, kind: &Type, hop: &Hop) -> Result<Type, String> {
        match (kind, hop) {
            (Type::Prim(Prim::Any), _) | (Type::Array(_), Hop::Each) => Ok(kind.clone()),
            (Type::Array(item), Hop::Index(_) | Hop::Last) => Ok((**item).clone()),
            (Type::Array(item), Hop::Joined) if **item == Type::Prim(Prim::String) => Ok(Type::Prim(Prim::String)),
            (_, Hop::Joined) => Err(format!("{self}: {kind} is not a list of texts")),
            (_, Hop::Index(_) | Hop::Last | Hop::Each) => Err(format!("{self}: {kind} is not an array")),
            (Type::Array(item), Hop::Field(name)) => self.field(item, name).map(|field| Type::Array(Box::new(field))),
            (kind, Hop::Field(name)) => self.field(kind, name),
        }
    }

    fn field(&self, kind: &Type, name: &str) -> Result<Type, String> {
        let found = match kind {
            Type::Prim(Prim::Any) => Some(kind.clone()),
            Type::Prim(Prim::Finding) if FINDING.contains(&name) => Some(Type::Prim(Prim::Any)),
            Type::Map(item) => Some((**item).clone()),
            Type::Record(members) => members.iter().find(|m| m.name == name).map(|member| member.kind.clone()),
            Type::Prim(Prim::LatLon) if matches!(name, "lat" | "lon") => Some(Type::Prim(Prim::Number)),
            Type::Prim(Prim::Datetime) if name == "date" => Some(Type::Prim(Prim::Date)),
            _ => None,
        };
        found.ok_or_else(|| format!("{self}: {kind} has no field {name}"))
    }

    /// Returns the referenced value; `null` if it does not exist.
    pub(super) fn value(&self, scope: &Scope<'_>) -> Value {
        let head = match &self.head {
            Head::Task => return follow(&Value::String(scope.task.to_owned()), &self.hops),
            Head::Now => return follow(&Value::String(scope.now.clone()), &self.hops),
            Head::Param(name) => scope.params.get(name),
            Head::Step { name, output } => scope.outputs.get(name.as_str()).and_then(|step| step.get(output)),
        };
        head.map_or(Value::Null, |head| follow(head, &self.hops))
    }
}

fn follow(value: &Value, hops: &[Hop]) -> Value {
    let Some((hop, rest)) = hops.split_first() else { return value.clone() };
    let next = match (value, hop) {
        (_, Hop::Each) => Some(value),
        (Value::Array(items), Hop::Joined) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            return follow(&Value::String(texts.join("\n\n")), rest);
        }
        (Value::Array(items), Hop::Index(at)) => items.get(*at),
        (Value::Array(items), Hop::Last) => items.last(),
        (Value::String(time), Hop::Field(name)) if name == "date" => return follow(&date(time), rest),
        (Value::Object(object), Hop::Field(name)) if object.contains_key(name) => object.get(name),
        // The content of a record that is read from its path when the step begins.
        (Value::Object(object), Hop::Field(name))
            if files::CONTENTS.contains(&name.as_str()) && object.contains_key("path") =>
        {
            return follow(&json!({ "file": object.get("path") }), rest);
        }
        // Of a file that is read when the step begins: its column, or its row.
        (Value::Object(object), Hop::Field(_) | Hop::Index(_)) if FileReference::of(value).is_some() => {
            let mut object = object.clone();
            match hop {
                Hop::Field(name) => drop(object.insert("column".to_owned(), name.as_str().into())),
                Hop::Index(at) => drop(object.insert("row".to_owned(), (*at).into())),
                Hop::Last | Hop::Each | Hop::Joined => {}
            }
            return follow(&Value::Object(object), rest);
        }
        (Value::Array(items), Hop::Field(name)) => {
            let field = |item: &Value| match item {
                Value::String(time) if name == "date" => date(time),
                item => item.get(name).cloned().unwrap_or_default(),
            };
            let fields = items.iter().map(field).collect();
            return follow(&Value::Array(fields), rest);
        }
        _ => None,
    };
    next.map_or(Value::Null, |next| follow(next, rest))
}

/// Returns the day of a time, UTC.
fn date(time: &str) -> Value {
    let day = Millis::parse_rfc3339(time).map(|at| at.rfc3339());
    day.and_then(|text| text.get(..10).map(str::to_owned)).into()
}

/// Returns whether a value causes a step to be skipped.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether a text is a valid name of a step or parameter: lower-case letters, digits and underscores, beginning
/// with a letter.
pub(super) fn is_name(text: &str) -> bool {
    name(text).is_some_and(|(_, rest)| rest.is_empty())
}

/// Splits the name at the start from the rest.
fn name(text: &str) -> Option<(&str, &str)> {
    if !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        return None;
    }
    let end = text.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
    Some(text.split_at(end.unwrap_or(text.len())))
}

fn read_hop(text: &str) -> Option<(Hop, &str)> {
    if let Some(rest) = text.strip_prefix('.') {
        let (field, rest) = name(rest)?;
        return Some((Hop::Field(field.to_owned()), rest));
    }
    let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
    let digits = index.bytes().all(|byte| byte.is_ascii_digit());
    match index {
        "" => Some((Hop::Each, rest)),
        "-1" => Some((Hop::Last, rest)),
        "+" => Some((Hop::Joined, rest)),
        index if digits => Some((Hop::Index(index.parse().ok()?), rest)),
        _ => None,
    }
}
