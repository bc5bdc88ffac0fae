//! Renders the body and headers of an error in the dialect of its route.

use actix_web::HttpResponse;
use actix_web::http::header;
use muster_core::{Error, FieldError, Kind, Millis};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{Dialect, code, status, table};

/// Number of seconds above which a client that sleeps for `Retry-After` should give up instead.
const LONG_WAIT_SECONDS: u64 = 120;

/// The error body of the disaster network.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDisaster {
    /// Always false.
    pub success: bool,
    pub message: String,
    pub error: ErrorDisasterDetail,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDisasterDetail {
    pub code: String,
    /// Details for programs: every invalid field, the permitted transitions, or the present version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::schema::ChecksOrObject>)]
    pub details: Option<Value>,
}

/// One failed check of a request.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a check as it is serialized")]
pub struct FailedCheck {
    /// `missing`, `type_error`, `value_error`, `unsupported_value`, or `extra_forbidden` for an unknown member.
    pub r#type: String,
    /// Path from `body`, `query`, `path` or `header` to the field.
    pub loc: Vec<String>,
    /// What is wrong, and how to mend it: unknown field `gruops`: did you mean `groups`?
    pub msg: String,
    /// What was sent, shortened.
    pub input: Value,
}

/// The error body of interface A and of the medical interface.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorA {
    /// Always false.
    pub success: bool,
    pub error: ErrorADetail,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorADetail {
    pub code: String,
    pub message: String,
    /// The first invalid field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Every invalid field, or details for programs, such as the engines that were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::schema::ChecksOrObject>)]
    pub details: Option<Value>,
}

/// The error body of interface B, the format of OpenAI: all four keys are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorB {
    pub error: ErrorBDetail,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBDetail {
    pub message: String,
    pub r#type: String,
    pub param: Option<String>,
    pub code: Option<String>,
}

/// The error body of the Messages API, the format of Anthropic.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorMessages {
    /// Always `error`.
    pub r#type: &'static str,
    pub error: ErrorMessagesDetail,
    /// Same as the header `request-id`. Always present in a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorMessagesDetail {
    /// `invalid_request_error`, `authentication_error`, `permission_error`, `not_found_error`, `request_too_large`,
    /// `rate_limit_error`, `api_error` or `overloaded_error`.
    pub r#type: String,
    /// Begins with the invalid field, if there is one.
    pub message: String,
}

impl ErrorMessages {
    pub fn new(error: &Error, request_id: Option<&str>) -> Self {
        let class = table::class_messages(error.kind).to_owned();
        let detail = ErrorMessagesDetail { r#type: class, message: error.message.clone() };
        Self { r#type: "error", error: detail, request_id: request_id.map(str::to_owned) }
    }
}

/// The error body of the agent platform. For 422, `detail` is the list of every failed check.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorAgent {
    /// Human-readable message; for 422 the list of failed checks.
    #[schema(value_type = crate::schema::MessageOrChecks)]
    pub detail: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The task that the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Details for programs, such as the present `status` and `seq` of a task that rejected a control.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::schema::AnyObject>)]
    pub details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// Renders the body of an error.
pub fn body(error: &Error, dialect: Dialect, now: Millis) -> Value {
    let message = error.message.clone();
    // That of the body as a whole has no name.
    let field = error.fields.first().map(field_name).filter(|name| !name.is_empty());
    match dialect {
        Dialect::Disaster => {
            let fields = || (!error.fields.is_empty()).then(|| value(&error.fields));
            let details = error.details.as_deref().cloned().or_else(fields);
            let error = ErrorDisasterDetail { code: code(error).to_owned(), details };
            value(&ErrorDisaster { success: false, message, error, timestamp: now.rfc3339() })
        }
        Dialect::A | Dialect::Medical => {
            let fields = || (!error.fields.is_empty()).then(|| value(&error.fields));
            let details = error.details.as_deref().cloned().or_else(fields);
            let error = ErrorADetail { code: code(error).to_owned(), message, field, details };
            value(&ErrorA { success: false, error, timestamp: now.rfc3339() })
        }
        Dialect::B => {
            let (class, code) = table::class_b(error.kind);
            let code = table::own_code_b(error).unwrap_or(code);
            let error = ErrorBDetail { message, r#type: class.to_owned(), param: field, code: Some(code.to_owned()) };
            value(&ErrorB { error })
        }
        Dialect::Messages => value(&ErrorMessages::new(error, None)),
        // An error that concerns no single field, such as one of a provider, is reported for the body as a whole.
        Dialect::Agent if error.kind == Kind::Invalid && error.fields.is_empty() => {
            let checks = json!([{ "type": "value_error", "loc": ["body"], "msg": error.message, "input": null }]);
            match error.code {
                Some(code) => json!({ "detail": checks, "error_code": code.to_uppercase() }),
                None => json!({ "detail": checks }),
            }
        }
        Dialect::Agent if error.kind == Kind::Invalid => json!({ "detail": error.fields }),
        Dialect::Agent => value(&ErrorAgent {
            detail: message.into(),
            error_code: Some(code(error).to_uppercase()),
            task_id: error.details.as_ref().and_then(|details| details.get("task_id")?.as_str().map(str::to_owned)),
            details: error.details.as_deref().cloned(),
            timestamp: Some(now.rfc3339()),
        }),
    }
}

fn value(body: &impl Serialize) -> Value {
    serde_json::to_value(body).unwrap_or_default()
}

fn field_name(field: &FieldError) -> String {
    field.loc.get(1..).unwrap_or_default().join(".")
}

/// Returns whether a request contained a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    Sent,
    Missing,
}

/// Renders the complete response to a rejected request with this identifier.
pub fn render(error: &Error, dialect: Dialect, now: Millis, credential: Credential, request_id: &str) -> HttpResponse {
    let mut response = HttpResponse::build(status(error.kind, dialect));
    if error.kind == Kind::Unauthenticated {
        // RFC 6750, section 3.1: an error code is included only if a credential was sent.
        let scheme = if dialect == Dialect::Medical { "ApiKey" } else { "Bearer" };
        let value = if credential == Credential::Sent { ", error=\"invalid_token\"" } else { "" };
        response.insert_header((header::WWW_AUTHENTICATE, format!("{scheme} realm=\"muster\"{value}")));
        if let Some(code @ "invalid_dpop_proof") = error.code {
            // RFC 9449, section 7.1.
            let challenge = format!("DPoP realm=\"muster\", error=\"{code}\", algs=\"EdDSA ES256\"");
            response.insert_header((header::WWW_AUTHENTICATE, challenge));
        }
    }
    if error.kind == Kind::UpgradeRequired {
        response.insert_header((header::UPGRADE, "websocket"));
    }
    if let Some(methods) = &error.allow {
        response.insert_header((header::ALLOW, methods.as_str()));
    }
    let asks_to_wait = matches!(
        error.kind,
        Kind::RateLimited | Kind::QuotaExceeded | Kind::Unavailable | Kind::ProviderFailed | Kind::ModelUnconfigured
    );
    // Waiting adds no engine: an operator has to.
    let waits_in_vain = error.code == Some("no_engine_for_pair");
    if (asks_to_wait && !waits_in_vain) || error.retry_after.is_some() {
        let after = error.retry_after.unwrap_or(std::time::Duration::from_secs(1));
        let seconds = u64::try_from(after.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1);
        response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        if matches!(dialect, Dialect::B | Dialect::Messages) && seconds > LONG_WAIT_SECONDS {
            response.insert_header(("x-should-retry", "false"));
        }
    }
    match dialect {
        Dialect::Messages => response.json(ErrorMessages::new(error, Some(request_id))),
        _ => response.json(body(error, dialect, now)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Millis = Millis(1_767_225_600_000);

    fn all(error: &Error) -> [Value; 6] {
        [Dialect::Disaster, Dialect::A, Dialect::B, Dialect::Messages, Dialect::Medical, Dialect::Agent]
            .map(|dialect| body(error, dialect, NOW))
    }

    #[test]
    fn an_error_is_rendered_in_six_dialects() {
        let error = Error::new(Kind::Forbidden, "needs the scope chat");
        let a = json!({"success": false, "error": {"code": "forbidden", "message": "needs the scope chat"},
                       "timestamp": "2026-01-01T00:00:00.000Z"});
        assert_eq!(
            all(&error),
            [
                json!({"success": false, "message": "needs the scope chat", "error": {"code": "forbidden"},
                       "timestamp": "2026-01-01T00:00:00.000Z"}),
                a.clone(),
                json!({"error": {"message": "needs the scope chat", "type": "permission_error", "param": null,
                                 "code": "insufficient_permissions"}}),
                json!({"type": "error", "error": {"type": "permission_error", "message": "needs the scope chat"}}),
                a,
                json!({"detail": "needs the scope chat", "error_code": "FORBIDDEN",
                       "timestamp": "2026-01-01T00:00:00.000Z"}),
            ]
        );
    }

    #[test]
    fn a_failed_check_names_its_field_in_each_dialect() {
        let error = Error::field(Kind::Invalid, &["body", "temperature"], "must be 0 to 1", json!(7));
        let check = json!({"type": "value_error", "loc": ["body", "temperature"], "msg": "must be 0 to 1", "input": 7});
        let [disaster, a, b, messages, medical, agent] = all(&error);
        assert_eq!(disaster["error"]["details"], json!([check]));
        assert_eq!((&a["error"]["field"], &a["error"]["details"]), (&json!("temperature"), &json!([check])));
        assert_eq!(b["error"]["param"], "temperature");
        assert_eq!(messages["error"]["message"], "temperature: must be 0 to 1");
        assert_eq!(medical["error"]["field"], "temperature");
        assert_eq!(agent, json!({"detail": [check]}));
        assert_eq!(status(Kind::Invalid, Dialect::Agent), 422);
        assert_eq!(status(Kind::Invalid, Dialect::B), 400);
    }

    #[test]
    fn an_error_contains_the_time_to_wait_and_whether_to_retry() {
        let wait =
            |seconds: u64| Error::new(Kind::RateLimited, "later").retry_in(Duration::from_millis(seconds * 1000 - 900));
        let headers = |error: &Error, dialect| render(error, dialect, NOW, Credential::Sent, "req_1").headers().clone();
        let value = |error: &Error, dialect, name: &str| {
            headers(error, dialect).get(name).unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(value(&wait(2), Dialect::A, "retry-after"), "2", "rounded up");
        assert!(value(&wait(121), Dialect::B, "x-should-retry") == "false");
        assert!(!headers(&wait(120), Dialect::B).contains_key("x-should-retry"));
        assert_eq!(value(&Error::new(Kind::Unavailable, "down"), Dialect::Agent, "retry-after"), "1");
        let challenge = value(&Error::new(Kind::Unauthenticated, "no key"), Dialect::Agent, "www-authenticate");
        assert!(challenge.starts_with("Bearer "));
    }

    /// The error types that Anthropic documents, by status; 529 is sent as 503.
    #[test]
    fn each_status_has_the_error_type_of_the_messages_api() {
        for (kind, status_code, class) in [
            (Kind::Invalid, 400, "invalid_request_error"),
            (Kind::InvalidJson, 400, "invalid_request_error"),
            (Kind::Unauthenticated, 401, "authentication_error"),
            (Kind::Forbidden, 403, "permission_error"),
            (Kind::ModelNotFound, 404, "not_found_error"),
            (Kind::MethodNotAllowed, 405, "invalid_request_error"),
            (Kind::TooLarge, 413, "request_too_large"),
            (Kind::RateLimited, 429, "rate_limit_error"),
            (Kind::BudgetExhausted, 429, "rate_limit_error"),
            (Kind::Internal, 500, "api_error"),
            (Kind::ProviderFailed, 502, "api_error"),
            (Kind::Unavailable, 503, "overloaded_error"),
            (Kind::ModelUnconfigured, 503, "overloaded_error"),
        ] {
            assert_eq!(status(kind, Dialect::Messages).as_u16(), status_code, "{kind:?}");
            let value = serde_json::to_value(ErrorMessages::new(&Error::new(kind, "why"), Some("req_1"))).unwrap();
            let error = json!({"type": class, "message": "why"});
            assert_eq!(value, json!({"type": "error", "error": error, "request_id": "req_1"}), "{kind:?}");
        }
    }
}
