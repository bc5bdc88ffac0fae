//! Latency of kills: from receiving the request to dropping the step's future.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Receives the latency of each kill that dropped a step.
#[derive(Clone, Default)]
pub struct KillLatency(Option<Arc<dyn Fn(Duration) + Send + Sync>>);

impl KillLatency {
    /// Creates a receiver, which is called on whatever thread dropped the step and must be fast.
    pub fn new(observe: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observe)))
    }

    /// Starts a stopwatch for a kill received at `received_at`.
    pub(super) fn since(&self, received_at: Instant) -> Option<Stopwatch> {
        self.0.clone().map(|observe| Stopwatch { received_at, observe })
    }
}

impl std::fmt::Debug for KillLatency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("KillLatency").field(&self.0.is_some()).finish()
    }
}

/// Measures until the step is dropped. Dropping the stopwatch reports nothing: there was no step to drop.
pub(super) struct Stopwatch {
    received_at: Instant,
    observe: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl Stopwatch {
    pub(super) fn stop(self) {
        (self.observe)(self.received_at.elapsed());
    }
}

impl std::fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stopwatch").field("received_at", &self.received_at).finish_non_exhaustive()
    }
}
