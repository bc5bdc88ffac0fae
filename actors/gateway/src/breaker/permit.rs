//! Permit for one call, which reports the call's outcome, also when it is dropped.

use std::sync::Arc;
use std::time::Duration;

use muster_providers::{Fault, FaultClass, FaultScope};

use super::actor::BreakerReport;
use super::circuits::CircuitGrant;
use super::handle::BreakerShared;
use super::state::{Outcome, Reason};

/// Result of a request for a permit.
#[derive(Debug)]
pub(crate) enum PermitDecision {
    Granted(Permit),
    Refused { retry_in: Duration, reason: Reason },
}

/// Outcome of a call, as reported by its permit.
#[derive(Debug, Clone)]
pub(super) enum CallReport {
    Alive,
    Done { latency: Duration },
    Fault { outcome: Outcome, scope: FaultScope, class: FaultClass, message: Arc<str> },
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
    grant: CircuitGrant,
    open: bool,
}

impl Permit {
    pub(super) fn new(core: Arc<BreakerShared>, grant: CircuitGrant) -> Self {
        Self { core, grant, open: true }
    }

    /// Reports that a stream has begun, so that a probe closes the breaker without waiting for the stream's end. The
    /// end is still to be reported.
    pub(crate) fn alive(&self) {
        if self.grant.decides() {
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
        let scope = if throttles_model(fault, &self.grant.name) { FaultScope::Model } else { fault.scope };
        let message = Arc::from(fault.message.as_str());
        self.close(CallReport::Fault { outcome, scope, class: fault.class, message });
    }

    fn close(mut self, report: CallReport) {
        self.open = false;
        self.send(report);
    }

    fn send(&self, report: CallReport) {
        let report = BreakerReport { grant: self.grant.clone(), at: self.core.elapsed(), report };
        if !self.grant.decides() && !matches!(report.report, CallReport::Fault { .. }) {
            // Such a report changes no state by itself, so the actor need not be woken.
            self.core.deferred.push(report);
            return;
        }
        let Some(handle) = self.core.handle() else { return };
        let Err(error) = handle.try_send(report.clone()) else { return };
        tracing::debug!(provider = &*self.core.provider, %error, "report to the breaker was not taken");
        if !self.grant.decides() {
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

/// Returns whether a provider refuses only this model, because the limit that it names is the model's: its message
/// contains the name as a word.
fn throttles_model(fault: &Fault, model: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    fault.class == FaultClass::Throttled
        && fault.message.match_indices(model).any(|(at, _)| {
            let (before, after) = (fault.message.get(..at), fault.message.get(at + model.len()..));
            // A full stop may end the sentence.
            let ends = |rest: &str| !rest.trim_start_matches('.').starts_with(in_name) || rest.starts_with(". ");
            before.is_some_and(|text| !text.ends_with(in_name)) && after.is_some_and(ends)
        })
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.open {
            self.send(CallReport::Cancelled);
        }
    }
}
