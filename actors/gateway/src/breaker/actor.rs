//! Actor of a circuit breaker: one decision per call; state changes are published as events.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message, MessageResult};
use muster_providers::FaultScope;

use super::circuits::{CircuitAdmission, CircuitGrant};
use super::handle::Entry;
use super::handle::{BreakerShared, BreakerSnapshot};
use super::permit::{CallReport, Permit, PermitDecision};
use super::state::{Breaker, BreakerState, Outcome, Reason};
use super::status::{BreakerChanged, LastFault};

/// Interval at which deferred reports of a healthy provider are applied.
const DEFERRED_EVERY: Duration = Duration::from_millis(250);

/// Requests a permit for one call of a model.
#[derive(Debug, Message)]
#[rtype(result = "PermitDecision")]
pub(super) struct Admit {
    pub(super) model: Arc<str>,
    pub(super) entry: Entry,
}

/// Reports how a call went.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(super) struct BreakerReport {
    pub(super) grant: CircuitGrant,
    /// When the outcome happened, in the breaker's own time. Retry times that were announced to clients count from
    /// here: a client that waits as announced must not be rejected because the actor processed the report later.
    pub(super) at: Duration,
    pub(super) report: CallReport,
}

/// Owns the circuit breakers of one provider and of its models.
#[derive(Debug)]
pub struct BreakerActor {
    core: Arc<BreakerShared>,
    snapshot: BreakerSnapshot,
}

/// States of the breakers of a provider and of one of its models.
#[derive(Debug, Clone, Copy)]
struct States {
    provider: BreakerState,
    model: BreakerState,
}

impl BreakerActor {
    /// Continues from the snapshot of the previous incarnation.
    pub(super) fn resume(core: Arc<BreakerShared>) -> Self {
        let snapshot = core.snapshot.borrow().clone();
        Self { core, snapshot }
    }

    fn apply(&mut self, BreakerReport { grant, at: happened, report }: BreakerReport) {
        let at = self.core.clock.now();
        let (outcome, scope) = match report {
            CallReport::Alive => {
                self.snapshot.last_success_at = Some(at);
                (Outcome::Alive, FaultScope::Model)
            }
            CallReport::Done { latency } => {
                self.snapshot.latencies.record(latency);
                self.snapshot.last_success_at = Some(at);
                (Outcome::Success, FaultScope::Model)
            }
            CallReport::Fault { outcome, scope, class, message } => {
                self.snapshot.last_fault = Some(LastFault { at, class, message });
                (outcome, scope)
            }
            CallReport::ClientFault => (Outcome::ClientFault, FaultScope::Model),
            CallReport::Cancelled => (Outcome::Cancelled, FaultScope::Model),
        };
        self.snapshot.circuits.report(happened, &grant, outcome, scope, self.core.jitter.draw());
    }

    /// Applies the reports that were queued without a message to the actor.
    fn apply_deferred(&mut self) {
        while let Some(report) = self.core.deferred.pop() {
            self.apply(report);
        }
    }

    /// Returns the states that a call of this model may change.
    fn states(&self, model: &str) -> States {
        let circuits = &self.snapshot.circuits;
        States { provider: circuits.provider().state(), model: circuits.model_state(model) }
    }

    /// Publishes the current snapshot, and the changes of state if there were any.
    fn publish(&self, before: States, model: &Arc<str>) {
        self.core.snapshot.send_replace(self.snapshot.clone());
        let circuits = &self.snapshot.circuits;
        self.publish_change(before.provider, circuits.provider(), None);
        if let Some(breaker) = circuits.model(model) {
            self.publish_change(before.model, breaker, Some(model));
        }
    }

    fn publish_change(&self, before: BreakerState, breaker: &Breaker, model: Option<&Arc<str>>) {
        if breaker.state() == before {
            return;
        }
        let changed = BreakerChanged {
            provider: Arc::clone(&self.core.provider),
            model: model.cloned(),
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
        let model = changed.model.as_deref().unwrap_or("all");
        let fault = self.snapshot.last_fault.as_ref().map_or("none", |fault| &*fault.message);
        let until = changed.cooldown_until.map(muster_core::Millis::rfc3339).unwrap_or_default();
        match (changed.to, changed.reason) {
            (BreakerState::Open, Reason::Rejected) if changed.model.is_some() => {
                tracing::error!(provider, model, fault, until, "provider does not have this model: correct its name");
            }
            (BreakerState::Open, Reason::Rejected) => {
                tracing::error!(provider, fault, until, "provider refuses our key or account: mend its key or billing");
            }
            (BreakerState::Open, reason) => {
                tracing::warn!(provider, model, ?reason, fault, until, "provider is taken out of the chain");
            }
            (BreakerState::HalfOpen, _) => tracing::info!(provider, model, "provider is probed"),
            (BreakerState::Closed, _) => tracing::warn!(provider, model, "provider is back in the chain"),
        }
    }
}

impl Actor for BreakerActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(DEFERRED_EVERY, |actor, _| {
            if !actor.core.deferred.is_empty() {
                // Deferred reports change no state.
                actor.apply_deferred();
                actor.core.snapshot.send_replace(actor.snapshot.clone());
            }
        });
    }
}

impl Handler<Admit> for BreakerActor {
    type Result = MessageResult<Admit>;

    fn handle(&mut self, Admit { model, entry }: Admit, _: &mut Context<Self>) -> Self::Result {
        let before = self.states(&model);
        self.apply_deferred();
        let (circuits, now) = (&mut self.snapshot.circuits, self.core.elapsed());
        let admission = match entry {
            Entry::Regular => circuits.admit(&model, now),
            Entry::DespiteOpen => circuits.admit_despite_open(&model, now),
        };
        let decision = match admission {
            // If the caller no longer waits, the permit is dropped and reports itself as cancelled.
            CircuitAdmission::Granted(grant) => PermitDecision::Granted(Permit::new(Arc::clone(&self.core), grant)),
            CircuitAdmission::Refused { retry_in, reason } => {
                return MessageResult(PermitDecision::Refused { retry_in, reason });
            }
        };
        self.publish(before, &model);
        MessageResult(decision)
    }
}

impl Handler<BreakerReport> for BreakerActor {
    type Result = ();

    fn handle(&mut self, report: BreakerReport, _: &mut Context<Self>) {
        let model = Arc::clone(&report.grant.name);
        let before = self.states(&model);
        self.apply_deferred();
        self.apply(report);
        self.publish(before, &model);
    }
}
