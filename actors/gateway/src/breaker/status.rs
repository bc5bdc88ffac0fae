//! What is shown of a breaker.

use std::sync::Arc;

use muster_providers::FaultClass;
use serde::Serialize;

use super::state::{BreakerState, Reason};
use muster_core::Millis;

/// A breaker as it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakerStatus {
    pub state: BreakerState,
    /// Why it is in this state.
    pub reason: Reason,
    /// Failures among the calls of the window, 0 to 1.
    pub failure_share: f64,
    /// Calls of the window that count: neither the client's own faults nor those it gave up.
    pub calls: u32,
    /// The median of the latest 64 good calls: to the first delta of a stream, to the end of a whole answer.
    pub p50_latency_ms: Option<u32>,
    pub last_success_at: Option<Millis>,
    pub last_fault: Option<LastFault>,
    /// When the next probe is let through, while open.
    pub cooldown_until: Option<Millis>,
    pub opened_count: u64,
}

/// The latest failure that was the provider's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastFault {
    pub at: Millis,
    pub class: FaultClass,
    /// The fault's words: no secret, no prompt.
    #[serde(serialize_with = "as_str")]
    pub message: Arc<str>,
}

/// A breaker went from one state to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BreakerChanged {
    #[serde(serialize_with = "as_str")]
    pub provider: Arc<str>,
    pub from: BreakerState,
    pub to: BreakerState,
    pub reason: Reason,
    pub at: Millis,
    pub cooldown_until: Option<Millis>,
}

fn as_str<S: serde::Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}
