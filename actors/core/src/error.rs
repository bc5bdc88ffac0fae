//! The error type of all domain crates. The kind determines the HTTP status, and the route's dialect the body (both are
//! applied by the server).

use std::time::Duration;

use muster_store::StoreError;
use serde::Serialize;

use crate::supervise::CallError;

/// Kind of an error. A small, closed set: each kind has one HTTP status and one stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The body is not valid JSON.
    InvalidJson,
    /// A field is missing, of the wrong type or out of range.
    Invalid,
    /// The input is valid and has no answer, such as a problem whose constraints contradict each other.
    NoAnswer,
    /// A valid field or value that this model does not support.
    UnsupportedValue,
    /// The input exceeds the context length of the model.
    ContextLengthExceeded,
    /// Credentials are missing or invalid.
    Unauthenticated,
    /// The principal lacks a permission.
    Forbidden,
    /// The caller's key or team does not allow the model.
    ModelNotAllowed,
    /// The resource does not exist or is not visible to the principal.
    NotFound,
    /// The requested model does not exist.
    ModelNotFound,
    /// The path does not support the method.
    MethodNotAllowed,
    /// The request conflicts with the current state of the resource.
    Conflict,
    /// The `Idempotency-Key` was used with another body.
    IdempotencyConflict,
    /// `If-Match` names a version that is not the current one.
    PreconditionFailed,
    /// The request requires an `If-Match` header.
    PreconditionRequired,
    /// The requested range is outside of the content.
    RangeNotSatisfiable,
    /// The path supports WebSocket connections only.
    UpgradeRequired,
    /// The resource existed and its time has ended.
    Gone,
    /// The request or its content is too large.
    TooLarge,
    /// A call exceeded its time limit.
    TimedOut,
    /// The content type of the body is not supported.
    UnsupportedMediaType,
    /// Too many requests or tokens at the moment.
    RateLimited,
    /// A quota of the plan or a budget is exhausted.
    QuotaExceeded,
    /// The budget for a key, a model or a call is exhausted.
    BudgetExhausted,
    /// Every provider of the chain failed.
    ProviderFailed,
    /// The price of the model is unknown, so that a budget cannot be kept.
    ModelUnpriced,
    /// The model is known, but its provider is not configured.
    ModelUnconfigured,
    /// A component of the server is down, restarting, loading or overloaded; the request can be retried.
    Unavailable,
    /// An internal error.
    Internal,
}

/// A failed check of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldError {
    /// `missing`, `type_error`, `value_error` or `json_invalid`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Path of the field, beginning with `body`, `query` or `path`.
    pub loc: Vec<String>,
    /// What is wrong, in plain text.
    pub msg: String,
    /// The rejected value.
    pub input: serde_json::Value,
}

/// An error returned to a caller.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Kind of the error.
    pub kind: Kind,
    /// What is wrong and how to correct it, in plain text. Never contains a secret.
    pub message: String,
    /// All failed checks, for `Kind::Invalid` and similar kinds.
    pub fields: Vec<FieldError>,
    /// Time after which the request can be retried.
    pub retry_after: Option<Duration>,
    /// Methods that the path supports, for `Kind::MethodNotAllowed`.
    pub allow: Option<String>,
    /// A stable code more specific than that of the kind, such as `invalid_credentials`.
    pub code: Option<&'static str>,
    /// Machine-readable details, such as the state transitions that are allowed.
    pub details: Option<Box<serde_json::Value>>,
}

impl Error {
    /// Creates an error without details.
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

    /// Creates an error about a single field. `loc` is its path, such as `["body", "messages"]`.
    pub fn field(kind: Kind, loc: &[&str], msg: impl Into<String>, input: serde_json::Value) -> Self {
        let msg = msg.into();
        let name = loc.get(1..).unwrap_or_default().join(".");
        let message = if name.is_empty() { msg.clone() } else { format!("{name}: {msg}") };
        let field =
            FieldError { kind: "value_error", loc: loc.iter().map(|&part| part.to_owned()).collect(), msg, input };
        Self { fields: vec![field], ..Self::new(kind, message) }
    }

    /// Sets a code more specific than that of the kind.
    #[must_use]
    pub fn coded(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Sets machine-readable details.
    #[must_use]
    pub fn detailing(mut self, details: serde_json::Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Sets the methods that the path supports.
    #[must_use]
    pub fn allowing(mut self, methods: &str) -> Self {
        self.allow = Some(methods.to_owned());
        self
    }

    /// Sets the time after which the request can be retried.
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
            let message = "the store does not accept writes at the moment: try again later";
            Self::new(Kind::Unavailable, message).retry_in(Duration::from_secs(seconds))
        };
        match error {
            StoreError::Conflict => Self::new(Kind::Conflict, message),
            StoreError::Busy => unavailable(1),
            StoreError::Poisoned(_) | StoreError::Io(_) | StoreError::Locked(_) => unavailable(30),
            StoreError::Corrupt(_) | StoreError::NewerSchema { .. } | StoreError::BadRequest(_) => {
                tracing::error!(error = %message, "the store rejected a request");
                Self::new(Kind::Internal, "stored data could not be read: run `muster doctor`")
            }
        }
    }
}
