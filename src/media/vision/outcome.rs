//! The outcome of a task, and who pays for it.

use actix_web::HttpRequest;
use muster_gateway::Attempt;
use muster_providers::Usage;

use super::VisionResult;
use crate::guard::Reservation;

/// Who requests a task: their limits, budget and models apply to calls of providers.
#[derive(Debug)]
pub struct Payer {
    /// The request.
    pub http: HttpRequest,
    /// Its reserved tokens.
    pub reservation: Reservation,
}

/// A result, and how it came about.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub result: VisionResult,
    /// `embedded`, or a provider; several are joined by `+`.
    pub provider: String,
    /// Model; several are joined by `+`.
    pub model: String,
    /// `neural`, `model`, `moderation`, `neural+moderation`, `tesseract` or `facts`.
    pub method: &'static str,
    /// Codes.
    pub warnings: Vec<&'static str>,
    /// Calls of providers.
    pub attempts: Vec<AttemptA>,
    /// Tokens of all calls; `None` where no provider was called.
    pub usage: Option<Usage>,
    /// Cost in billionths of a US dollar; `None` if a price is unknown.
    pub cost_nanos: Option<u64>,
}

/// A call of a provider.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct AttemptA {
    pub provider: String,
    pub model: String,
    /// `ok`, `malformed` for an answer that breaks the schema, or how the call failed.
    pub outcome: &'static str,
    pub latency_ms: u64,
}

impl From<&Attempt> for AttemptA {
    fn from(attempt: &Attempt) -> Self {
        Self {
            provider: attempt.provider.clone(),
            model: attempt.model.clone(),
            outcome: attempt.outcome.name(),
            latency_ms: attempt.latency_ms,
        }
    }
}

impl Outcome {
    /// The outcome of a model in this process.
    pub fn embedded(model: &str, result: VisionResult) -> Self {
        Self {
            result,
            provider: "embedded".to_owned(),
            model: model.to_owned(),
            method: "neural",
            warnings: Vec::new(),
            attempts: Vec::new(),
            usage: None,
            cost_nanos: Some(0),
        }
    }
}
