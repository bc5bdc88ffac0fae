//! The probe of a module.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

/// Result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    /// The module works.
    Healthy,
    /// The module works with limitations.
    Degraded(String),
    /// The module does not work.
    Unhealthy(String),
}

type Run = Arc<dyn Fn() -> BoxFuture<'static, ProbeResult> + Send + Sync>;

/// A module and how to probe it.
#[derive(Clone)]
pub struct Probe {
    /// Name of the module.
    pub module: &'static str,
    /// Whether the server is in outage while this module is unhealthy.
    pub critical: bool,
    /// Weight of the module in the score.
    pub weight: u32,
    /// Interval between the end of one run and the start of the next.
    pub every: Duration,
    pub(super) run: Run,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").field("module", &self.module).finish_non_exhaustive()
    }
}

impl Probe {
    /// Creates the probe of a module that is not critical.
    pub fn new<F, Fut>(module: &'static str, weight: u32, every: Duration, run: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ProbeResult> + Send + 'static,
    {
        Self { module, critical: false, weight, every, run: Arc::new(move || Box::pin(run())) }
    }

    /// Marks the module as critical.
    #[must_use]
    pub fn critical(mut self) -> Self {
        self.critical = true;
        self
    }
}
