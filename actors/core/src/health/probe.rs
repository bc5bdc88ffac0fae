//! One module's probe.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Healthy,
    Degraded(String),
    Unhealthy(String),
}

type Run = Arc<dyn Fn() -> BoxFuture<'static, Verdict> + Send + Sync>;

/// A module and how it is probed.
#[derive(Clone)]
pub struct Probe {
    pub module: &'static str,
    /// The server is in outage while a critical module is unhealthy.
    pub critical: bool,
    /// Share of the score.
    pub weight: u32,
    pub every: Duration,
    pub(super) run: Run,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").field("module", &self.module).finish_non_exhaustive()
    }
}

impl Probe {
    pub fn new<F, Fut>(module: &'static str, weight: u32, every: Duration, run: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Verdict> + Send + 'static,
    {
        Self { module, critical: false, weight, every, run: Arc::new(move || Box::pin(run())) }
    }

    #[must_use]
    pub fn critical(mut self) -> Self {
        self.critical = true;
        self
    }
}
