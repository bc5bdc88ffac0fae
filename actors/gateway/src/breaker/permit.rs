//! Permit for one call, which reports the call's outcome, also when it is dropped.

use std::sync::Arc;
use std::time::Duration;

use muster_providers::{Fault, FaultClass};

use super::actor::BreakerReport;
use super::handle::BreakerShared;
use super::state::{Grant, Outcome};

/// Result of a request for a permit.
#[derive(Debug)]
pub(crate) enum PermitDecision {
    Granted(Permit),
    Refused { retry_in: Duration },
}

/// Outcome of a call, as reported by its permit.
#[derive(Debug, Clone)]
pub(super) enum CallReport {
    Alive,
    Done { latency: Duration },
    Fault { outcome: Outcome, class: FaultClass, message: Arc<str> },
    ClientFault,
    Cancelled,
}

/// Delays for sending a probe's report again when its actor was dead. A lost probe report would block all other calls
/// until the probe's lease ends; the report of any other call may be lost.
const RESEND_DELAYS: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(10)];

/// Permit for one call. Dropped without a report, it counts as cancelled: the caller has disconnected.
#[derive(Debug)]
pub(crate) struct Permit {
    core: Arc<BreakerShared>,
    grant: Grant,
    open: bool,
}

impl Permit {
    pub(super) fn new(core: Arc<BreakerShared>, grant: Grant) -> Self {
        Self { core, grant, open: true }
    }

    /// Reports that a stream has begun, so that a probe closes the breaker without waiting for the stream's end. The
    /// end is still to be reported.
    pub(crate) fn alive(&self) {
        if self.grant.probe {
            self.send(CallReport::Alive);
        }
    }

    pub(crate) fn done(self, latency: Duration) {
        self.close(CallReport::Done { latency });
    }

    /// Reports that the provider answered and the request was at fault.
    pub(crate) fn client_fault(self) {
        self.close(CallReport::ClientFault);
    }

    pub(crate) fn fault(self, fault: &Fault) {
        let retry_after = fault.retry_after;
        let outcome = match fault.class {
            FaultClass::Transient => Outcome::Failure { retry_after },
            FaultClass::Throttled => Outcome::Throttled { retry_after },
            FaultClass::Hard => Outcome::Hard,
            FaultClass::Client => return self.client_fault(),
        };
        self.close(CallReport::Fault { outcome, class: fault.class, message: Arc::from(fault.message.as_str()) });
    }

    fn close(mut self, report: CallReport) {
        self.open = false;
        self.send(report);
    }

    fn send(&self, report: CallReport) {
        let report = BreakerReport { grant: self.grant, at: self.core.elapsed(), report };
        if !self.grant.probe && !matches!(report.report, CallReport::Fault { .. }) {
            // Such a report changes no state by itself, so the actor need not be woken.
            self.core.deferred.push(report);
            return;
        }
        let Some(handle) = self.core.handle() else { return };
        let Err(error) = handle.try_send(report.clone()) else { return };
        tracing::debug!(provider = &*self.core.provider, %error, "report to the breaker was not taken");
        if !self.grant.probe {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let handle = handle.clone();
        runtime.spawn(async move {
            for wait in RESEND_DELAYS {
                tokio::time::sleep(wait).await;
                if handle.try_send(report.clone()).is_ok() {
                    return;
                }
            }
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.open {
            self.send(CallReport::Cancelled);
        }
    }
}
