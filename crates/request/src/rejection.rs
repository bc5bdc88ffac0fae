//! Why a request was refused.

use serde_json::Value;

/// Most failed checks that are reported.
const MAX_FAILURES: usize = 50;
/// Longest part of an input that is sent back, in bytes of JSON or characters of text.
const MAX_INPUT: usize = 200;

/// One failed check of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldFailure {
    /// `missing`, `type_error`, `value_error` or `unsupported_value`.
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

    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Rejection> {
        let Some(first) = self.fields.first() else {
            return read.ok_or_else(|| Rejection {
                message: "the request could not be read".to_owned(),
                unsupported: false,
                fields: Vec::new(),
            });
        };
        let name = first.loc.get(1..).unwrap_or_default().join(".");
        let message = format!("{name}: {}", first.msg);
        Err(Rejection { message, unsupported: self.unsupported, fields: self.fields })
    }
}
