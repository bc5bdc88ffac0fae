//! Public status of a breaker.

use std::sync::Arc;

use muster_providers::FaultClass;
use serde::Serialize;

use super::state::{BreakerState, Reason};
use muster_core::Millis;

/// Current status of a breaker.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakerStatus {
    /// Current state.
    pub state: BreakerState,
    /// Reason of the current state.
    pub reason: Reason,
    /// Share of failures among the calls of the window, 0 to 1.
    pub failure_share: f64,
    /// Calls of the window that count: without client faults and cancelled calls.
    pub calls: u32,
    /// Median of the latest 64 successful calls: to the first delta of a stream, to the end of a complete answer.
    pub p50_latency_ms: Option<u32>,
    /// When a call last succeeded.
    pub last_success_at: Option<Millis>,
    /// The latest failure caused by the provider.
    pub last_fault: Option<LastFault>,
    /// When the next probe is admitted, while open.
    pub cooldown_until: Option<Millis>,
    /// How often the breaker has opened.
    pub opened_count: u64,
    /// Models whose own breaker is not closed, while the provider's other models are in service.
    pub models: Vec<ModelBreakerStatus>,
}

/// Current status of the breaker of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelBreakerStatus {
    /// Name of the model at the provider.
    pub model: String,
    /// Current state.
    pub state: BreakerState,
    /// Reason of the current state.
    pub reason: Reason,
    /// Share of failures among the calls of the window, 0 to 1.
    pub failure_share: f64,
    /// Calls of the window that count.
    pub calls: u32,
    /// When the next probe is admitted, while open.
    pub cooldown_until: Option<Millis>,
    /// How often the breaker has opened.
    pub opened_count: u64,
}

/// The latest failure caused by the provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastFault {
    /// When it happened.
    pub at: Millis,
    /// Class of the fault.
    pub class: FaultClass,
    /// The fault's message; contains no secret and no prompt.
    #[serde(serialize_with = "as_str")]
    pub message: Arc<str>,
}

/// Event: a breaker changed state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BreakerChanged {
    /// Provider id.
    #[serde(serialize_with = "as_str")]
    pub provider: Arc<str>,
    /// Name of the model at the provider, if only this model's breaker changed.
    #[serde(skip)]
    pub model: Option<Arc<str>>,
    /// State before.
    pub from: BreakerState,
    /// State after.
    pub to: BreakerState,
    /// Reason of the change.
    pub reason: Reason,
    /// When it happened.
    pub at: Millis,
    /// When the next probe is admitted, if the breaker opened.
    pub cooldown_until: Option<Millis>,
}

fn as_str<S: serde::Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}
