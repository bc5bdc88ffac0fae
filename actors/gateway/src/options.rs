//! What the chain is made of.

use std::sync::Arc;
use std::time::Duration;

use muster_providers::{Adapter, ChatRequest, ProviderKind, Timeouts};

use super::breaker::BreakerOptions;
use super::jitter::Jitter;

/// The bounds of the chain's work.
#[derive(Debug, Clone)]
pub struct ChainOptions {
    /// Bounds of each phase of one call; the adapters keep them.
    pub timeouts: Timeouts,
    /// Bounds the whole request, waits and all providers included: a whole answer to its end, a stream to its first
    /// delta. A request may set its own.
    pub deadline: Duration,
    /// Bounds a stream as a whole, from the request.
    pub stream_total: Duration,
    /// Calls of providers for one request, at most.
    pub max_attempts: usize,
    /// How often the chain is gone through again after transient faults, with back-off.
    pub retries: u32,
    /// The first back-off is up to this long, and each next up to twice as long ...
    pub backoff: Duration,
    /// ... up to this.
    pub max_backoff: Duration,
    /// Holds a stream back for this long after its first delta: a provider that breaks within it is still replaced
    /// unseen.
    pub hold_back: Option<Duration>,
    pub breaker: BreakerOptions,
    pub jitter: Jitter,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self {
            timeouts: Timeouts {
                connect: Duration::from_secs(5),
                headers: Duration::from_secs(20),
                first_delta: Duration::from_secs(30),
                between_deltas: Duration::from_secs(30),
            },
            deadline: Duration::from_secs(60),
            stream_total: Duration::from_secs(600),
            max_attempts: 6,
            retries: 1,
            backoff: Duration::from_millis(250),
            max_backoff: Duration::from_secs(5),
            hold_back: None,
            breaker: BreakerOptions::default(),
            jitter: Jitter::system(),
        }
    }
}

/// A provider and the way to speak to it.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Its id in the registry.
    pub id: String,
    pub kind: ProviderKind,
    /// The names of its models as configured, for status.
    pub models: Vec<String>,
    pub adapter: Arc<dyn Adapter>,
}

/// Counts tokens where a provider gives no figures and its adapter has no tokenizer. Called on the thread that serves
/// the request: at most a few milliseconds.
pub trait TokenCounter: Send + Sync + std::fmt::Debug + 'static {
    /// Tokens of the whole prompt.
    fn prompt(&self, model_id: &str, request: &ChatRequest) -> u32;

    /// Tokens of a part of an answer.
    fn text(&self, model_id: &str, text: &str) -> u32;
}
