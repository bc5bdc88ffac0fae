//! How soon a kill is felt: from when it came in to the drop of the step's future.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Who is told how long each kill took that dropped a step.
#[derive(Clone, Default)]
pub struct KillTimes(Option<Arc<dyn Fn(Duration) + Send + Sync>>);

impl KillTimes {
    /// Told on whatever thread dropped the step: it must be quick.
    pub fn told_to(tell: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// Of a kill that came in then.
    pub(super) fn since(&self, asked: Instant) -> Option<Stopwatch> {
        self.0.clone().map(|tell| Stopwatch { asked, tell })
    }
}

impl std::fmt::Debug for KillTimes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("KillTimes").field(&self.0.is_some()).finish()
    }
}

/// Runs until the step is dropped. One that is forgotten tells nothing: there was nothing to drop.
pub(super) struct Stopwatch {
    asked: Instant,
    tell: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl Stopwatch {
    pub(super) fn stop(self) {
        (self.tell)(self.asked.elapsed());
    }
}

impl std::fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stopwatch").field("asked", &self.asked).finish_non_exhaustive()
    }
}
