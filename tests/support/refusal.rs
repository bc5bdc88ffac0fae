//! Error responses as contract 0 describes them, in each dialect.

use serde_json::{Value, json};

use super::client::Answer;

/// The error format of an interface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dialect {
    Disaster,
    A,
    B,
    Medical,
    Agent,
}

/// One failed check: `loc` below the body, message, rejected input, kind.
pub type Check = (&'static [&'static str], &'static str, Value, &'static str);

/// An error as contract 0 describes it; the table gives its form in each dialect.
pub struct Refusal {
    pub status: u16,
    pub code: &'static str,
    /// Interface B's type.
    pub class: &'static str,
    pub message: String,
    pub checks: Vec<Check>,
}

pub const INVALID: &str = "invalid_request_error";
pub const DOWN: &str = "service_unavailable_error";

pub fn refusal(status: u16, code: &'static str, class: &'static str, message: impl Into<String>) -> Refusal {
    Refusal { status, code, class, message: message.into(), checks: Vec::new() }
}

/// Failed checks of a body: 422 with all of them for agents, else 400 with the first.
pub fn invalid(dialect: Dialect, checks: Vec<Check>) -> Refusal {
    let (loc, why, _, _) = &checks[0];
    let (code, status) = match dialect {
        Dialect::Agent => ("", 422),
        Dialect::B => ("invalid_value", 400),
        _ => ("invalid_request", 400),
    };
    Refusal { status, code, class: INVALID, message: format!("{}: {why}", loc.join(".")), checks }
}

impl Refusal {
    pub fn body(&self, dialect: Dialect) -> Value {
        let check = |(loc, msg, input, kind): &Check| {
            let loc: Vec<_> = std::iter::once("body").chain(loc.iter().copied()).collect();
            json!({ "type": kind, "loc": loc, "msg": msg, "input": input })
        };
        let details: Vec<_> = self.checks.iter().map(check).collect();
        let field = self.checks.first().map(|(loc, ..)| loc.join("."));
        match dialect {
            Dialect::Disaster => {
                json!({ "success": false, "message": self.message, "error": { "code": self.code }, "timestamp": "T" })
            }
            Dialect::A | Dialect::Medical => {
                let mut error = json!({ "code": self.code, "message": self.message });
                if let Some(field) = field {
                    error["field"] = field.into();
                    error["details"] = details.into();
                }
                json!({ "success": false, "error": error, "timestamp": "T" })
            }
            Dialect::B => {
                json!({ "error": { "message": self.message, "type": self.class, "param": field, "code": self.code } })
            }
            Dialect::Agent if self.status == 422 => json!({ "detail": details }),
            Dialect::Agent => {
                json!({ "detail": self.message, "error_code": self.code.to_uppercase(), "timestamp": "T" })
            }
        }
    }
}

/// The body with its timestamp, if it has one, replaced by `T`.
pub fn normalised(answer: &Answer) -> Value {
    let mut body = answer.json();
    if let Some(Value::String(time)) = body.get_mut("timestamp") {
        let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{time}");
        *time = "T".to_owned();
    }
    body
}
