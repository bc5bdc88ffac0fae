//! Why a request was refused.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::known::{self, ReadError};

/// Most failed checks that are reported.
const MAX_FAILURES: usize = 50;
/// Kind of the failure of a member that is not known, as Pydantic names it.
pub(crate) const UNKNOWN: &str = "extra_forbidden";
/// Longest part of an input that is sent back, in bytes of JSON or characters of text.
const MAX_INPUT: usize = 200;

/// One failed check of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldFailure {
    /// `missing`, `type_error`, `value_error`, `unsupported_value` or `extra_forbidden`.
    pub kind: &'static str,
    /// From `body` or `query` to the field.
    pub loc: Vec<String>,
    /// What is wrong.
    pub msg: String,
    /// What was sent, shortened.
    pub input: Value,
}

/// Every failed check of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejection {
    /// The first failed check, with the name of its field.
    pub message: String,
    /// Whether the first failure is a known field or value that is not supported.
    pub unsupported: bool,
    /// The failed checks, at most fifty.
    pub fields: Vec<FieldFailure>,
}

pub(crate) fn failure(kind: &'static str, loc: Vec<String>, msg: impl Into<String>, input: &Value) -> FieldFailure {
    FieldFailure { kind, loc, msg: msg.into(), input: shortened(input) }
}

/// The input, as far as it is sent back.
fn shortened(input: &Value) -> Value {
    match input {
        Value::String(text) if text.len() > MAX_INPUT => {
            Value::String(text.chars().take(MAX_INPUT).collect::<String>() + "…")
        }
        Value::Array(_) | Value::Object(_) if input.to_string().len() > MAX_INPUT => Value::Null,
        _ => input.clone(),
    }
}

/// The failed checks so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    fields: Vec<FieldFailure>,
    unsupported: bool,
    /// Those that are not reported are counted too.
    pub(crate) count: usize,
}

impl Problems {
    pub(crate) fn push(&mut self, field: FieldFailure) {
        self.count += 1;
        if self.fields.len() < MAX_FAILURES {
            self.unsupported |= self.fields.is_empty() && field.kind == "unsupported_value";
            self.fields.push(field);
        }
    }

    /// Whether no further failure is reported.
    pub(crate) fn is_full(&self) -> bool {
        self.fields.len() >= MAX_FAILURES
    }

    /// Reads a value by serde; notes members that its type does not name, and why it cannot be read.
    pub(crate) fn read_value<T: DeserializeOwned>(&mut self, value: &Value, place: &[String]) -> Option<T> {
        let (read, unknown) = known::read(value);
        let (read, last) = match read {
            Ok(read) => (Some(read), None),
            Err(ReadError::Unknown(member)) => (None, Some(member)),
            Err(ReadError::Other(why)) => {
                self.push(failure("value_error", place.to_vec(), why, value));
                (None, None)
            }
        };
        for member in unknown.into_iter().chain(last) {
            let path = member.path.iter();
            let input = path.clone().try_fold(value, |value, name| match value {
                Value::Array(items) => items.get(name.parse::<usize>().ok()?),
                value => value.get(name),
            });
            let loc = place.iter().chain(path).cloned().collect();
            self.push(failure(UNKNOWN, loc, member.msg, input.unwrap_or(&Value::Null)));
        }
        read
    }

    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Rejection> {
        let Some(first) = self.fields.first() else {
            return read.ok_or_else(|| Rejection {
                message: "the request could not be read".to_owned(),
                unsupported: false,
                fields: Vec::new(),
            });
        };
        // The message about an unknown member names it already.
        let named = if first.kind == UNKNOWN { first.loc.len().saturating_sub(1) } else { first.loc.len() };
        let message = match first.loc.get(1..named).unwrap_or_default() {
            [] if first.kind == UNKNOWN => first.msg.clone(),
            path => format!("{}: {}", path.join("."), first.msg),
        };
        Err(Rejection { message, unsupported: self.unsupported, fields: self.fields })
    }
}
