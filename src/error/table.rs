//! The table of error kinds: status, code and type in each dialect.

use actix_web::http::StatusCode;
use muster_core::{Error, Kind};

use super::Dialect;

/// The row of a kind: its status, its stable code, and its class in interface B.
struct Row {
    status: u16,
    code: &'static str,
    /// `type` and `code` of interface B.
    b: (&'static str, &'static str),
}

const INVALID: &str = "invalid_request_error";
const LIMIT: &str = "rate_limit_error";
const DOWN: &str = "service_unavailable_error";

const fn row(kind: Kind) -> Row {
    let (status, code, b) = match kind {
        Kind::InvalidJson => (400, "invalid_json", (INVALID, "invalid_json")),
        Kind::Invalid => (400, "invalid_request", (INVALID, "invalid_value")),
        Kind::NoAnswer => (422, "no_answer", (INVALID, "no_answer")),
        Kind::UnsupportedValue => (400, "unsupported_value", (INVALID, "unsupported_value")),
        Kind::ContextLengthExceeded => (400, "context_length_exceeded", (INVALID, "context_length_exceeded")),
        Kind::Unauthenticated => (401, "unauthorized", (INVALID, "invalid_api_key")),
        Kind::Forbidden => (403, "forbidden", ("permission_error", "insufficient_permissions")),
        Kind::ModelNotAllowed => (403, "model_not_allowed", ("permission_error", "model_not_allowed")),
        Kind::NotFound => (404, "not_found", (INVALID, "not_found")),
        Kind::ModelNotFound => (404, "model_not_found", (INVALID, "model_not_found")),
        Kind::MethodNotAllowed => (405, "method_not_allowed", (INVALID, "method_not_allowed")),
        Kind::Conflict => (409, "conflict", (INVALID, "conflict")),
        Kind::IdempotencyConflict => (409, "idempotency_conflict", (INVALID, "idempotency_conflict")),
        Kind::PreconditionFailed => (412, "precondition_failed", (INVALID, "precondition_failed")),
        Kind::PreconditionRequired => (428, "precondition_required", (INVALID, "precondition_required")),
        Kind::RangeNotSatisfiable => (416, "range_not_satisfiable", (INVALID, "range_not_satisfiable")),
        Kind::UpgradeRequired => (426, "upgrade_required", (INVALID, "upgrade_required")),
        Kind::Gone => (410, "gone", (INVALID, "gone")),
        Kind::TooLarge => (413, "payload_too_large", (INVALID, "payload_too_large")),
        Kind::UnsupportedMediaType => (415, "unsupported_media_type", (INVALID, "unsupported_media_type")),
        Kind::RateLimited => (429, "rate_limit_exceeded", (LIMIT, "rate_limit_exceeded")),
        Kind::QuotaExceeded => (429, "insufficient_quota", (LIMIT, "insufficient_quota")),
        Kind::TimedOut => (408, "timed_out", (INVALID, "timed_out")),
        Kind::BudgetExhausted => (429, "budget_exhausted", (LIMIT, "insufficient_quota")),
        Kind::ProviderFailed => (503, "provider_failed", ("server_error", "provider_failed")),
        Kind::ModelUnpriced => (403, "model_unpriced", ("permission_error", "model_unpriced")),
        Kind::ModelUnconfigured => (503, "model_unconfigured", (DOWN, "model_unconfigured")),
        Kind::Unavailable => (503, "service_unavailable", (DOWN, "service_unavailable")),
        Kind::Internal => (500, "internal_error", ("server_error", "internal_error")),
    };
    Row { status, code, b }
}

/// Returns the status of a kind in a dialect.
pub fn status(kind: Kind, dialect: Dialect) -> StatusCode {
    let status = match (kind, dialect) {
        // The agent platform reports failed checks as 422; clients of AI providers expect 502 for a failed upstream.
        (Kind::Invalid, Dialect::Agent) => 422,
        (Kind::ProviderFailed, Dialect::B | Dialect::Messages) => 502,
        _ => row(kind).status,
    };
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns the stable code of an error as all dialects but B show it: its own, or that of its kind.
pub fn code(error: &Error) -> &'static str {
    error.code.unwrap_or_else(|| row(error.kind).code)
}

/// Returns the `type` of the Messages API, one of those that its clients know.
pub(super) fn class_messages(kind: Kind) -> &'static str {
    match status(kind, Dialect::Messages).as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 => "overloaded_error",
        500.. => "api_error",
        _ => INVALID,
    }
}

/// Returns `type` and `code` of interface B.
pub(super) fn class_b(kind: Kind) -> (&'static str, &'static str) {
    row(kind).b
}

/// Codes of errors that interface B shows instead of those of their kinds: OpenAI's clients know the first one, and the
/// others name what has to be mended.
const OWN_CODES_B: [&str; 7] = [
    "content_policy_violation",
    "image_quota",
    "image_storage_full",
    "image_too_large",
    "model_absent",
    "url_failed",
    "url_not_allowed",
];

/// Returns the code of an error in interface B, if it has one of its own there.
pub(super) fn own_code_b(error: &Error) -> Option<&'static str> {
    error.code.filter(|code| OWN_CODES_B.contains(code))
}
