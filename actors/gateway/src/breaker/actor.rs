//! Actor of a circuit breaker: one decision per call; state changes are published as events.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message, MessageResult};

use super::handle::{BreakerShared, BreakerSnapshot};
use super::permit::{CallReport, Permit, PermitDecision};
use super::state::{Admission, BreakerState, Grant, Outcome, Reason};
use super::status::{BreakerChanged, LastFault};

/// Interval at which deferred reports of a healthy provider are applied.
const DEFERRED_EVERY: Duration = Duration::from_millis(250);

/// Requests a permit for one call.
#[derive(Debug, Message)]
#[rtype(result = "PermitDecision")]
pub(super) struct Admit;

/// Reports how a call went.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(super) struct BreakerReport {
    pub(super) grant: Grant,
    /// When the outcome happened, in the breaker's own time. Retry times that were announced to clients count from
    /// here: a client that waits as announced must not be rejected because the actor processed the report later.
    pub(super) at: Duration,
    pub(super) report: CallReport,
}

/// Owns the circuit breaker of one provider.
#[derive(Debug)]
pub struct BreakerActor {
    core: Arc<BreakerShared>,
    snapshot: BreakerSnapshot,
}

impl BreakerActor {
    /// Continues from the snapshot of the previous incarnation.
    pub(super) fn resume(core: Arc<BreakerShared>) -> Self {
        let snapshot = core.snapshot.borrow().clone();
        Self { core, snapshot }
    }

    fn apply(&mut self, BreakerReport { grant, at: happened, report }: BreakerReport) {
        let at = self.core.clock.now();
        let outcome = match report {
            CallReport::Alive => {
                self.snapshot.last_success_at = Some(at);
                Outcome::Alive
            }
            CallReport::Done { latency } => {
                self.snapshot.latencies.record(latency);
                self.snapshot.last_success_at = Some(at);
                Outcome::Success
            }
            CallReport::Fault { outcome, class, message } => {
                self.snapshot.last_fault = Some(LastFault { at, class, message });
                outcome
            }
            CallReport::ClientFault => Outcome::ClientFault,
            CallReport::Cancelled => Outcome::Cancelled,
        };
        self.snapshot.breaker.report(happened, grant, outcome, self.core.jitter.draw());
    }

    /// Applies the reports that were queued without a message to the actor.
    fn apply_deferred(&mut self) {
        while let Some(report) = self.core.deferred.pop() {
            self.apply(report);
        }
    }

    /// Publishes the current snapshot, and the change of state if there was one.
    fn publish(&self, before: BreakerState) {
        self.core.snapshot.send_replace(self.snapshot.clone());
        let breaker = &self.snapshot.breaker;
        if breaker.state() == before {
            return;
        }
        let changed = BreakerChanged {
            provider: Arc::clone(&self.core.provider),
            from: before,
            to: breaker.state(),
            reason: breaker.reason(),
            at: self.core.clock.now(),
            cooldown_until: self.core.cooldown_until(breaker),
        };
        self.log(&changed);
        // Fails only when there is no subscriber.
        let _ = self.core.changes.send(changed);
    }

    fn log(&self, changed: &BreakerChanged) {
        let provider = &*changed.provider;
        let fault = self.snapshot.last_fault.as_ref().map_or("none", |fault| &*fault.message);
        let until = changed.cooldown_until.map(muster_core::Millis::rfc3339).unwrap_or_default();
        match (changed.to, changed.reason) {
            (BreakerState::Open, Reason::Rejected) => {
                tracing::error!(provider, fault, until, "provider refuses our key or account: mend its key or billing");
            }
            (BreakerState::Open, reason) => {
                tracing::warn!(provider, ?reason, fault, until, "provider is taken out of the chain");
            }
            (BreakerState::HalfOpen, _) => tracing::info!(provider, "provider is probed"),
            (BreakerState::Closed, _) => tracing::warn!(provider, "provider is back in the chain"),
        }
    }
}

impl Actor for BreakerActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(DEFERRED_EVERY, |actor, _| {
            if !actor.core.deferred.is_empty() {
                let before = actor.snapshot.breaker.state();
                actor.apply_deferred();
                actor.publish(before);
            }
        });
    }
}

impl Handler<Admit> for BreakerActor {
    type Result = MessageResult<Admit>;

    fn handle(&mut self, _: Admit, _: &mut Context<Self>) -> Self::Result {
        let before = self.snapshot.breaker.state();
        self.apply_deferred();
        let decision = match self.snapshot.breaker.admit(self.core.elapsed()) {
            // If the caller no longer waits, the permit is dropped and reports itself as cancelled.
            Admission::Granted(grant) => PermitDecision::Granted(Permit::new(Arc::clone(&self.core), grant)),
            Admission::Refused { retry_in } => return MessageResult(PermitDecision::Refused { retry_in }),
        };
        self.publish(before);
        MessageResult(decision)
    }
}

impl Handler<BreakerReport> for BreakerActor {
    type Result = ();

    fn handle(&mut self, report: BreakerReport, _: &mut Context<Self>) {
        let before = self.snapshot.breaker.state();
        self.apply_deferred();
        self.apply(report);
        self.publish(before);
    }
}
