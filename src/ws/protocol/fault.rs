//! Errors in replies: one table of codes.

use serde_json::{Value, json};

/// An error of a request; the connection remains open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// Human-readable message: what is wrong and how to fix it.
    pub message: String,
    /// Details for programs, such as the present status of a task that rejects a control.
    pub details: Option<Value>,
}

/// The kinds of errors, each with one code on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A field is missing, has the wrong type or is out of its range.
    BadRequest,
    PermissionDenied,
    /// The name is unknown or not visible to the client; the two cannot be distinguished.
    NotFound,
    AlreadySubscribed,
    /// The `idem` was used with another command.
    IdempotencyConflict,
    /// The command is not possible in the present state.
    Conflict,
    TooManySubscriptions,
    UnknownCommand,
    /// Too many requests wait for their replies.
    TooManyRequests,
    Internal,
    Unavailable,
}

impl FaultKind {
    pub const ALL: [Self; 11] = [
        Self::BadRequest,
        Self::PermissionDenied,
        Self::NotFound,
        Self::AlreadySubscribed,
        Self::IdempotencyConflict,
        Self::Conflict,
        Self::TooManySubscriptions,
        Self::UnknownCommand,
        Self::TooManyRequests,
        Self::Internal,
        Self::Unavailable,
    ];

    /// Returns code and reason on the wire. The last two digits are those of the HTTP status with the same meaning.
    pub const fn row(self) -> (u16, &'static str) {
        match self {
            Self::BadRequest => (2400, "bad_request"),
            Self::PermissionDenied => (2403, "permission_denied"),
            Self::NotFound => (2404, "not_found"),
            Self::AlreadySubscribed => (2405, "already_subscribed"),
            Self::IdempotencyConflict => (2406, "idempotency_conflict"),
            Self::Conflict => (2409, "conflict"),
            Self::TooManySubscriptions => (2413, "too_many_subscriptions"),
            Self::UnknownCommand => (2422, "unknown_command"),
            Self::TooManyRequests => (2429, "too_many_requests"),
            Self::Internal => (2500, "internal"),
            Self::Unavailable => (2503, "unavailable"),
        }
    }

    /// Returns whether the same request may succeed later.
    pub const fn retryable(self) -> bool {
        matches!(self, Self::TooManyRequests | Self::Internal | Self::Unavailable)
    }
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None }
    }

    /// Returns the error as on the wire.
    pub fn json(&self) -> Value {
        let (code, reason) = self.kind.row();
        let mut error =
            json!({ "code": code, "reason": reason, "message": self.message, "retryable": self.kind.retryable() });
        if let (Some(details), Some(error)) = (&self.details, error.as_object_mut()) {
            error.insert("details".to_owned(), details.clone());
        }
        error
    }
}
