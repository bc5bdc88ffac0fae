//! Classification of provider errors by status and body.

use std::time::Duration;

use serde_json::Value;

use crate::retry_after::MAX_RETRY_AFTER;
use crate::{ClientFault, FaultClass};

/// An error body in any of the known shapes: OpenAI `{"error":{message,type,param,code}}`, older vLLM and Mistral the
/// same at the top level with `"object":"error"`, Ollama `{"error":"…"}`, xAI `{"code":"…","error":"…"}`, FastAPI
/// `{"detail":…}`, Google `{"error":{code,message,status,details}}`, also inside a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ErrorBody {
    pub(crate) message: Option<String>,
    pub(crate) param: Option<String>,
    /// A numeric `code` that is an HTTP status: OpenRouter, llama.cpp and vLLM send it inside a 200.
    pub(crate) status: Option<u16>,
    /// Retry delay requested by Google: `retryDelay` among the details.
    pub(crate) retry_after: Option<Duration>,
    /// `code`, `type`, `status` and the reasons among the details, in lower case.
    labels: Vec<String>,
}

impl ErrorBody {
    pub(crate) fn from_json(body: &Value) -> Self {
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        let inner = match body.get("error") {
            Some(error @ Value::Object(_)) => error,
            _ => body,
        };
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(value @ (Value::Object(_) | Value::Array(_))) => Some(value.to_string()),
            _ => None,
        };
        let message = text(inner.get("message"))
            .or_else(|| text(inner.get("error")))
            .or_else(|| text(inner.get("detail")))
            .or_else(|| text(body.get("message")));
        let status = [inner.get("code"), inner.get("status")]
            .into_iter()
            .flatten()
            .filter_map(Value::as_u64)
            .filter_map(|n| u16::try_from(n).ok())
            .find(|n| (400..600).contains(n));
        let details = inner.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let labels = [inner.get("code"), inner.get("type"), inner.get("status"), body.get("code")]
            .into_iter()
            .chain(details.iter().map(|detail| detail.get("reason")))
            .filter_map(|v| v?.as_str())
            .map(str::to_ascii_lowercase)
            .collect();
        let retry_after = details.iter().find_map(|detail| seconds(detail.get("retryDelay")?.as_str()?));
        Self { message, param: text(inner.get("param")), status, retry_after, labels }
    }

    /// A body that is not JSON, such as a gateway's error page.
    pub(crate) fn from_text(text: &str) -> Self {
        let text = text.trim();
        Self { message: (!text.is_empty()).then(|| text.to_owned()), ..Self::default() }
    }

    pub(crate) fn labelled(&self, any: &[&str]) -> bool {
        self.labels.iter().any(|label| any.contains(&label.as_str()))
    }

    /// Returns whether the message contains one of these lower-case phrases.
    pub(crate) fn message_contains(&self, any: &[&str]) -> bool {
        let Some(message) = &self.message else {
            return false;
        };
        let message = message.to_ascii_lowercase();
        any.iter().any(|part| message.contains(part))
    }

    /// The prompt does not fit the context: by code where the server has one, else by the wordings of OpenAI, vLLM,
    /// llama.cpp, Ollama, Mistral and xAI.
    fn context_too_long(&self) -> bool {
        if self.labelled(&["context_length_exceeded", "exceed_context_size_error"]) {
            return true;
        }
        // A limit of tokens per minute mentions tokens too.
        !self.message_contains(&["per minute", "rate limit"])
            && self.message_contains(&[
                "maximum context length",
                "longer than the maximum model length",
                "too long to fit into the model",
                "exceeds the available context size",
                "exceeded max context length",
                "exceeds the context length",
                "exceeds maximum context length",
                "maximum prompt length",
                "exceeds the context window",
                "context_length_exceeded",
            ])
    }

    /// Billing failure: waiting does not help. By code only, as some providers word a rate limit the same way.
    fn billing(&self) -> bool {
        self.labelled(&["insufficient_quota", "insufficient_balance", "insufficient_credits", "payment_required"])
            || self.labels.iter().any(|label| label.contains("billing"))
    }

    fn bad_key(&self) -> bool {
        self.labelled(&["invalid_api_key", "authentication_error", "permission_error", "permission_denied"])
            || self.message_contains(&["incorrect api key", "api key not valid", "invalid api key"])
    }

    pub(super) fn unknown_model(&self) -> bool {
        self.labelled(&["model_not_found"]) || self.message_contains(&["model not exist", "is not a valid model id"])
    }

    fn throttled(&self) -> bool {
        self.labels.iter().any(|label| label.starts_with("rate_limit") || label == "too_many_requests")
    }

    fn client_fault(&self) -> ClientFault {
        // OpenAI's codes of a refused prompt, of pictures and of texts; DALL·E 2 had only a wording.
        let refused = self.labelled(&["content_policy_violation", "moderation_blocked"])
            || self.message_contains(&["rejected by the safety system", "rejected as a result of our safety system"]);
        if refused {
            ClientFault::ContentPolicy
        } else if self.labelled(&["unsupported_value", "unsupported_parameter"]) {
            ClientFault::UnsupportedValue
        } else {
            ClientFault::InvalidRequest
        }
    }
}

/// Parses a duration in protobuf's JSON form: `12s`, `0.5s`.
fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.strip_suffix('s')?.parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds).ok()?.min(MAX_RETRY_AFTER))
}

/// Classification function of a wire protocol.
pub(crate) type Classify = fn(Option<u16>, &ErrorBody) -> (FaultClass, Option<ClientFault>);

/// Classifies an error by its status or, without one (inside a successful response), by its labels.
///
/// A model unknown to the provider (404, or a 400 with such a message) and an unknown method or path (405, 410) are `Hard`:
/// the name and the URL come from the operator's settings, so clients cannot fix them. When the name came from the
/// client, through `*`, the candidate shows it (`Candidate::excuses`).
pub(crate) fn classify(status: Option<u16>, error_body: &ErrorBody) -> (FaultClass, Option<ClientFault>) {
    let too_long = error_body.context_too_long();
    let class = match status {
        // llama.cpp and Ollama have returned 500 for it.
        None | Some(400 | 413 | 422 | 500) if too_long => FaultClass::Client,
        Some(401..=405 | 410) => FaultClass::Hard,
        Some(429) if error_body.billing() => FaultClass::Hard,
        Some(429) => FaultClass::Throttled,
        Some(400 | 413 | 422) if error_body.billing() || error_body.bad_key() || error_body.unknown_model() => {
            FaultClass::Hard
        }
        Some(400 | 413 | 422) => FaultClass::Client,
        Some(_) => FaultClass::Transient,
        None => unnumbered(error_body),
    };
    let client = match class {
        FaultClass::Client if too_long => Some(ClientFault::ContextLengthExceeded),
        FaultClass::Client => Some(error_body.client_fault()),
        FaultClass::Transient | FaultClass::Throttled | FaultClass::Hard => None,
    };
    (class, client)
}

fn unnumbered(error_body: &ErrorBody) -> FaultClass {
    if error_body.billing() || error_body.bad_key() || error_body.unknown_model() {
        FaultClass::Hard
    } else if error_body.throttled() {
        FaultClass::Throttled
    } else if error_body.labelled(&["invalid_request_error", "badrequesterror", "unsupported_value"]) {
        FaultClass::Client
    } else {
        FaultClass::Transient
    }
}
