//! The actor around the breaker: one decision a call, state changes as events.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message, MessageResult};

use super::permit::{Entry, News, Permit};
use super::port::{Core, Kept};
use super::state::{Admission, BreakerState, Grant, Outcome, Reason};
use super::status::{BreakerChanged, LastFault};

/// How often the quiet reports of a provider that does not fail are taken.
const QUIET_EVERY: Duration = Duration::from_millis(250);

/// Asks for leave to make one call.
#[derive(Debug, Message)]
#[rtype(result = "Entry")]
pub(super) struct Admit;

/// Tells how a call went.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(super) struct Report {
    pub(super) grant: Grant,
    /// When it went so, by the breaker's own time. A wait that was told counts from there: whoever keeps to it must not
    /// be refused because the actor heard of it later.
    pub(super) at: Duration,
    pub(super) news: News,
}

/// Keeps one provider's breaker.
#[derive(Debug)]
pub struct BreakerActor {
    core: Arc<Core>,
    kept: Kept,
}

impl BreakerActor {
    /// Goes on from where the last incarnation was.
    pub(super) fn resume(core: Arc<Core>) -> Self {
        let kept = core.kept.borrow().clone();
        Self { core, kept }
    }

    fn learn(&mut self, Report { grant, at: happened, news }: Report) {
        let at = self.core.clock.now();
        let outcome = match news {
            News::Alive => {
                self.kept.last_success_at = Some(at);
                Outcome::Alive
            }
            News::Done { latency } => {
                self.kept.latencies.record(latency);
                self.kept.last_success_at = Some(at);
                Outcome::Success
            }
            News::Fault { outcome, class, message } => {
                self.kept.last_fault = Some(LastFault { at, class, message });
                outcome
            }
            News::ClientFault => Outcome::ClientFault,
            News::Cancelled => Outcome::Cancelled,
        };
        self.kept.breaker.report(happened, grant, outcome, self.core.jitter.draw());
    }

    /// Learns what was reported without a word to the actor.
    fn take_quiet(&mut self) {
        while let Some(report) = self.core.quiet.pop() {
            self.learn(report);
        }
    }

    /// Publishes what is known now, and the change of state if there was one.
    fn publish(&self, before: BreakerState) {
        self.core.kept.send_replace(self.kept.clone());
        let breaker = &self.kept.breaker;
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
        // Fails only where nobody listens.
        let _ = self.core.changes.send(changed);
    }

    fn log(&self, changed: &BreakerChanged) {
        let provider = &*changed.provider;
        let fault = self.kept.last_fault.as_ref().map_or("none", |fault| &*fault.message);
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
        context.run_interval(QUIET_EVERY, |actor, _| {
            if !actor.core.quiet.is_empty() {
                let before = actor.kept.breaker.state();
                actor.take_quiet();
                actor.publish(before);
            }
        });
    }
}

impl Handler<Admit> for BreakerActor {
    type Result = MessageResult<Admit>;

    fn handle(&mut self, _: Admit, _: &mut Context<Self>) -> Self::Result {
        let before = self.kept.breaker.state();
        self.take_quiet();
        let entry = match self.kept.breaker.admit(self.core.elapsed()) {
            // A permit that finds its caller gone is dropped, and so reports itself cancelled.
            Admission::Granted(grant) => Entry::Granted(Permit::new(Arc::clone(&self.core), grant)),
            Admission::Refused { retry_in } => return MessageResult(Entry::Refused { retry_in }),
        };
        self.publish(before);
        MessageResult(entry)
    }
}

impl Handler<Report> for BreakerActor {
    type Result = ();

    fn handle(&mut self, report: Report, _: &mut Context<Self>) {
        let before = self.kept.breaker.state();
        self.take_quiet();
        self.learn(report);
        self.publish(before);
    }
}
