//! What an `error` reply says: one table of codes.

use serde_json::{Value, json};

/// A request that is refused while its connection goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// For people: what is wrong and how to mend it.
    pub message: String,
    /// What programs need besides, such as the present status of a task that refuses a control.
    pub details: Option<Value>,
}

/// The kinds of refusals, each with one code on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A field is missing, of the wrong type or out of its range.
    BadRequest,
    PermissionDenied,
    /// There is nothing of that name, or it is not for the asker: the two look the same.
    NotFound,
    AlreadySubscribed,
    /// The same `idem` with another command.
    IdempotencyConflict,
    /// What the command would do is not possible as things stand.
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

    /// The code and the reason on the wire; the last two digits are those of the HTTP status of the same meaning.
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

    /// Whether the same request may succeed later.
    pub const fn retryable(self) -> bool {
        matches!(self, Self::TooManyRequests | Self::Internal | Self::Unavailable)
    }
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None }
    }

    /// As on the wire.
    pub fn json(&self) -> Value {
        let (code, reason) = self.kind.row();
        let mut said =
            json!({ "code": code, "reason": reason, "message": self.message, "retryable": self.kind.retryable() });
        if let (Some(details), Some(said)) = (&self.details, said.as_object_mut()) {
            said.insert("details".to_owned(), details.clone());
        }
        said
    }
}
