//! State shared by a breaker's actor, its permits and its readers: only the latest snapshot, never the state itself.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_rt::ArbiterHandle;
use crossbeam_queue::SegQueue;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::actor::{Admit, BreakerActor, BreakerReport};
use super::circuits::Circuits;
use super::latencies::Latencies;
use super::permit::{Permit, PermitDecision};
use super::state::{Breaker, BreakerOptions, BreakerState};
use super::status::{BreakerChanged, BreakerStatus, LastFault, ModelBreakerStatus};
use crate::Jitter;
use muster_core::supervise::{CallError, ChildSpec, Group, Handle};
use muster_core::{Clock, Millis};

/// Maximum wait for a permit; a healthy actor answers within microseconds.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Snapshot of a breaker: published after each change, and restored by the next incarnation of the actor.
#[derive(Debug, Clone)]
pub(super) struct BreakerSnapshot {
    pub(super) circuits: Circuits,
    pub(super) latencies: Latencies,
    pub(super) last_success_at: Option<Millis>,
    pub(super) last_fault: Option<LastFault>,
}

pub(super) struct BreakerShared {
    pub(super) provider: Arc<str>,
    pub(super) jitter: Jitter,
    pub(super) clock: Clock,
    /// Origin of the breaker's own time, which does not change with the wall clock.
    origin: Instant,
    pub(super) snapshot: watch::Sender<BreakerSnapshot>,
    pub(super) changes: broadcast::Sender<BreakerChanged>,
    /// Reports that change no state by themselves, applied before the next one that may.
    pub(super) deferred: SegQueue<BreakerReport>,
    handle: OnceLock<Handle<BreakerActor>>,
}

impl std::fmt::Debug for BreakerShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BreakerShared").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl BreakerShared {
    pub(super) fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Destination of reports; set before the first permit exists.
    pub(super) fn handle(&self) -> Option<&Handle<BreakerActor>> {
        self.handle.get()
    }

    pub(super) fn cooldown_until(&self, breaker: &Breaker) -> Option<Millis> {
        let left = breaker.cooldown_until()?.saturating_sub(self.elapsed());
        Some(self.clock.now().plus(left))
    }
}

/// How a call asks to be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    Regular,
    /// Nothing else could answer: one call in some passes an open breaker.
    DespiteOpen,
}

/// Client of one provider's breakers.
#[derive(Debug, Clone)]
pub(crate) struct BreakerHandle {
    core: Arc<BreakerShared>,
    handle: Handle<BreakerActor>,
}

impl BreakerHandle {
    /// Starts the actor `breaker-<provider>` in the group.
    pub(crate) fn start(
        group: &Group,
        arbiter: ArbiterHandle,
        provider: &str,
        options: BreakerOptions,
        jitter: Jitter,
        clock: Clock,
        changes: broadcast::Sender<BreakerChanged>,
    ) -> Self {
        let snapshot = BreakerSnapshot {
            circuits: Circuits::new(options),
            latencies: Latencies::default(),
            last_success_at: None,
            last_fault: None,
        };
        let core = Arc::new(BreakerShared {
            provider: Arc::from(provider),
            jitter,
            clock,
            origin: Instant::now(),
            snapshot: watch::Sender::new(snapshot),
            changes,
            deferred: SegQueue::new(),
            handle: OnceLock::new(),
        });
        let shared = Arc::clone(&core);
        let spec = ChildSpec::new(format!("breaker-{provider}"), arbiter, move |_| {
            let actor = BreakerActor::resume(Arc::clone(&shared));
            async move { Ok(actor) }
        });
        let handle = group.start(spec.capacity(4096));
        // Empty until now: set nowhere else.
        let _ = core.handle.set(handle.clone());
        Self { core, handle }
    }

    /// Number of references to the shared state: the number at start plus one per outstanding permit.
    #[cfg(test)]
    pub(crate) fn holders(&self) -> usize {
        Arc::strong_count(&self.core)
    }

    /// Requests a permit to call the provider. While the breaker is closed, the published snapshot suffices; the actor
    /// is only called when there is a decision to make.
    pub(crate) async fn admit(
        &self,
        model: &str,
        entry: Entry,
        timeout: Duration,
    ) -> Result<PermitDecision, CallError> {
        let admit_closed = self.core.snapshot.borrow().circuits.admit_closed(model);
        if let Some(grant) = admit_closed {
            return Ok(PermitDecision::Granted(Permit::new(Arc::clone(&self.core), grant)));
        }
        self.handle.ask_within(timeout.min(PERMIT_TIMEOUT), Admit { model: Arc::from(model), entry }).await
    }

    /// Stops the actor for good: the provider was removed.
    pub(crate) fn retire(&self) {
        self.handle.retire();
    }

    /// Returns how long a caller of any of these models would have to wait now, by the latest snapshot; `None` if one of
    /// them can be called. Without models, the provider as a whole.
    pub(crate) fn wait(&self, models: &[String]) -> Option<Duration> {
        let (snapshot, now) = (self.core.snapshot.borrow(), self.core.elapsed());
        let provider = snapshot.circuits.provider().wait(now);
        let waits = models.iter().map(|model| snapshot.circuits.wait(model, now));
        // A model that can be called needs no wait.
        waits.reduce(|least, wait| least.min(wait)).unwrap_or(provider)
    }

    /// Returns whether a call of this model would be admitted now, by the latest snapshot: as a probe, too.
    pub(crate) fn is_ready(&self, model: &str) -> bool {
        self.core.snapshot.borrow().circuits.wait(model, self.core.elapsed()).is_none()
    }

    /// Returns whether calls of this model are refused now, or only probed.
    pub(crate) fn is_open(&self, model: &str) -> bool {
        let snapshot = self.core.snapshot.borrow();
        let states = [snapshot.circuits.provider().state(), snapshot.circuits.model_state(model)];
        states.contains(&BreakerState::Open)
    }

    /// Returns the status; `models` are those that the settings name. Where each of them is out of service, so is the
    /// provider.
    pub(crate) fn status(&self, models: &[String]) -> BreakerStatus {
        let snapshot = self.core.snapshot.borrow().clone();
        let now = self.core.elapsed();
        let tally = snapshot.circuits.tally(now);
        let troubled = snapshot.circuits.troubled();
        let breaker = shown(&snapshot.circuits, models, now);
        BreakerStatus {
            state: breaker.state(),
            reason: breaker.reason(),
            models: troubled.iter().map(|view| self.model_status(view.name, view.breaker, now)).collect(),
            failure_share: tally.failure_share(),
            calls: tally.calls,
            p50_latency_ms: snapshot.latencies.p50(),
            last_success_at: snapshot.last_success_at,
            last_fault: snapshot.last_fault,
            cooldown_until: self.core.cooldown_until(breaker),
            opened_count: breaker.opened_count(),
        }
    }

    fn model_status(&self, name: &str, breaker: &Breaker, now: Duration) -> ModelBreakerStatus {
        let tally = breaker.tally(now);
        ModelBreakerStatus {
            model: name.to_owned(),
            state: breaker.state(),
            reason: breaker.reason(),
            failure_share: tally.failure_share(),
            calls: tally.calls,
            cooldown_until: self.core.cooldown_until(breaker),
            opened_count: breaker.opened_count(),
        }
    }
}

/// Returns the breaker that stands for the provider: its own, or where that is closed and no model is in service, the one
/// of the model that will be tried first.
fn shown<'a>(circuits: &'a Circuits, models: &[String], now: Duration) -> &'a Breaker {
    let provider = circuits.provider();
    let closed = |model: &String| circuits.model_state(model) == BreakerState::Closed;
    if provider.state() != BreakerState::Closed || models.iter().any(closed) {
        return provider;
    }
    let breakers = models.iter().filter_map(|model| circuits.model(model));
    breakers.min_by_key(|breaker| breaker.wait(now)).unwrap_or(provider)
}
