//! One typed error for every refusal; its kind decides the status, the route's dialect its look (both at the edge).

use std::time::Duration;

use muster_store::StoreError;
use serde::Serialize;

use crate::supervise::CallError;

/// What kind of refusal it is. Closed and small: each has one status and one stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    InvalidJson,
    /// A field is missing, of the wrong type or out of its range.
    Invalid,
    /// A known field or value that this model does not support.
    UnsupportedValue,
    ContextLengthExceeded,
    Unauthenticated,
    Forbidden,
    NotFound,
    ModelNotFound,
    MethodNotAllowed,
    Conflict,
    IdempotencyConflict,
    /// `If-Match` names a version that is not the present one.
    PreconditionFailed,
    /// The request needs an `If-Match`.
    PreconditionRequired,
    /// A range that the content does not have.
    RangeNotSatisfiable,
    /// The path speaks WebSocket only.
    UpgradeRequired,
    TooLarge,
    /// A call ran past its bound of time.
    TimedOut,
    UnsupportedMediaType,
    /// Too many requests or tokens for now.
    RateLimited,
    /// A quota of the plan or a budget is spent.
    QuotaExceeded,
    /// The money set aside for a key, a model or a call is spent.
    BudgetExhausted,
    /// Every provider of the chain failed.
    ProviderFailed,
    /// The model is known, its provider is not set up.
    ModelUnconfigured,
    /// A part of the server is down, restarting, loading or overloaded: try again.
    Unavailable,
    Internal,
}

/// One failed check of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldError {
    /// `missing`, `type_error`, `value_error`, `json_invalid`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// From `body`, `query` or `path` to the field.
    pub loc: Vec<String>,
    pub msg: String,
    pub input: serde_json::Value,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub kind: Kind,
    /// For people: what is wrong and how to mend it. Never a secret.
    pub message: String,
    /// Every failed check, for `Kind::Invalid` and its like.
    pub fields: Vec<FieldError>,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// The methods that the path takes, for `Kind::MethodNotAllowed`.
    pub allow: Option<String>,
    /// A code more exact than the kind's own, such as `invalid_credentials`.
    pub code: Option<&'static str>,
    /// What a program may act on, such as the moves that would be allowed.
    pub details: Option<Box<serde_json::Value>>,
}

impl Error {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            fields: Vec::new(),
            retry_after: None,
            allow: None,
            code: None,
            details: None,
        }
    }

    /// A refusal of one field. `loc` is its place, such as `["body", "messages"]`.
    pub fn field(kind: Kind, loc: &[&str], msg: impl Into<String>, input: serde_json::Value) -> Self {
        let msg = msg.into();
        let name = loc.get(1..).unwrap_or_default().join(".");
        let message = if name.is_empty() { msg.clone() } else { format!("{name}: {msg}") };
        let field =
            FieldError { kind: "value_error", loc: loc.iter().map(|&part| part.to_owned()).collect(), msg, input };
        Self { fields: vec![field], ..Self::new(kind, message) }
    }

    /// Says a code more exact than the kind's own.
    #[must_use]
    pub fn coded(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Says what a program may act on.
    #[must_use]
    pub fn detailing(mut self, details: serde_json::Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Says which methods would have been taken.
    #[must_use]
    pub fn allowing(mut self, methods: &str) -> Self {
        self.allow = Some(methods.to_owned());
        self
    }

    #[must_use]
    pub fn retry_in(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Self::new(Kind::Unavailable, error.to_string()).retry_in(error.retry_after)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let unavailable = |seconds| {
            let message = "the store does not accept writes now: try again later";
            Self::new(Kind::Unavailable, message).retry_in(Duration::from_secs(seconds))
        };
        match error {
            StoreError::Conflict => Self::new(Kind::Conflict, message),
            StoreError::Busy => unavailable(1),
            StoreError::Poisoned(_) | StoreError::Io(_) | StoreError::Locked(_) => unavailable(30),
            StoreError::Corrupt(_) | StoreError::NewerSchema { .. } | StoreError::BadRequest(_) => {
                tracing::error!(error = %message, "store refused");
                Self::new(Kind::Internal, "stored data could not be read: run `muster doctor`")
            }
        }
    }
}
