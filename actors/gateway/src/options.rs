//! Options and members of the chain.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use muster_providers::{Adapter, ChatRequest, ProviderKind, TimeoutOverrides, Timeouts};

use super::balance::Balance;
use super::breaker::BreakerOptions;
use super::jitter::Jitter;

/// Limits of a request through the chain.
#[derive(Debug, Clone)]
pub struct ChainOptions {
    /// Time limits of each phase of one call, enforced by the adapters.
    pub timeouts: Timeouts,
    /// Bounds the whole request including waits and all attempts: a complete answer until its end, a stream until its
    /// first delta. A request may override it.
    pub deadline: Duration,
    /// Bounds the whole stream, measured from the request.
    pub stream_total: Duration,
    /// Maximum number of provider calls per request.
    pub max_attempts: usize,
    /// Additional rounds through the chain after transient faults, each after a back-off: only for calls that did not
    /// run at the provider.
    pub retries: u32,
    /// Whether another provider is called after one that may have run the request and did not answer it: a time-out, a
    /// broken connection, a malformed answer. Both may bill for it.
    pub failover_after_start: bool,
    /// Upper bound of the first back-off; it doubles with each round ...
    pub backoff: Duration,
    /// ... up to this.
    pub max_backoff: Duration,
    /// Buffers a stream for this long after its first delta, so that a provider that breaks within it can still be
    /// replaced without the client seeing it.
    pub hold_back: Option<Duration>,
    /// How the providers of one model share its requests.
    pub balance: Balance,
    /// Options of the circuit breakers.
    pub breaker: BreakerOptions,
    /// Bytes of answers that are cached at most; fixed at the start of the chain.
    pub cache_bytes: usize,
    /// Source of randomness for back-offs, cool-downs and the balance.
    pub jitter: Jitter,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self {
            timeouts: Timeouts {
                connect: Duration::from_secs(5),
                headers: Duration::from_secs(600),
                first_delta: Duration::from_secs(600),
                between_deltas: Duration::from_secs(120),
            },
            deadline: Duration::from_secs(600),
            stream_total: Duration::from_secs(600),
            max_attempts: 6,
            retries: 1,
            failover_after_start: true,
            backoff: Duration::from_millis(250),
            max_backoff: Duration::from_secs(5),
            hold_back: None,
            balance: Balance::default(),
            breaker: BreakerOptions::default(),
            cache_bytes: 0,
            jitter: Jitter::system(),
        }
    }
}

/// A provider and the adapter that calls it.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Id in the registry.
    pub id: String,
    /// Wire protocol of the provider.
    pub kind: ProviderKind,
    /// Configured model names, for status.
    pub models: Vec<String>,
    /// Adapter that makes the calls.
    pub adapter: Arc<dyn Adapter>,
    /// Time limits that differ from those of the chain.
    pub timeouts: ProviderTimeouts,
    /// Share of the requests of a model that several providers have, where they are balanced by weight.
    pub weight: u32,
}

/// Time limits of one provider that differ from those of the chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderTimeouts {
    /// For all of its models.
    pub all: TimeoutOverrides,
    /// For single models, by our id or by the provider's name; these come before `all`.
    pub models: HashMap<String, TimeoutOverrides>,
}

impl ProviderTimeouts {
    /// Returns the limits of a call of the model that has these names.
    pub fn of(&self, chain: Timeouts, names: [&str; 2]) -> Timeouts {
        let own = names.iter().find_map(|name| self.models.get(*name)).copied().unwrap_or_default();
        chain.with(&self.all).with(&own)
    }
}

/// Counts tokens where a provider reports no usage and its adapter has no tokenizer. Called on the thread that serves
/// the request, so a call must take at most a few milliseconds.
pub trait TokenCounter: Send + Sync + std::fmt::Debug + 'static {
    /// Counts the tokens of the whole prompt without its images.
    fn prompt(&self, model_id: &str, request: &ChatRequest) -> u32;

    /// Counts the tokens of a part of an answer.
    fn text(&self, model_id: &str, text: &str) -> u32;
}
