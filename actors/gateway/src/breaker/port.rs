//! What a breaker's actor, its permits and its onlookers share: never the state itself, only its latest snapshot.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_rt::ArbiterHandle;
use crossbeam_queue::SegQueue;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::actor::{Admit, BreakerActor, Report};
use super::latencies::Latencies;
use super::permit::{Entry, Permit};
use super::state::{Breaker, BreakerOptions};
use super::status::{BreakerChanged, BreakerStatus, LastFault};
use crate::Jitter;
use muster_core::supervise::{CallError, ChildSpec, Group, Handle};
use muster_core::{Clock, Millis};

/// How long a caller waits for leave: the answer takes microseconds where the actor is well.
const PATIENCE: Duration = Duration::from_secs(1);

/// Everything a breaker knows: published after each step, and read back by its next incarnation.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) breaker: Breaker,
    pub(super) latencies: Latencies,
    pub(super) last_success_at: Option<Millis>,
    pub(super) last_fault: Option<LastFault>,
}

pub(super) struct Core {
    pub(super) provider: Arc<str>,
    pub(super) jitter: Jitter,
    pub(super) clock: Clock,
    /// The origin of the breaker's own time, which no change of the wall clock moves.
    origin: Instant,
    pub(super) kept: watch::Sender<Kept>,
    pub(super) changes: broadcast::Sender<BreakerChanged>,
    /// Reports that change no decision by themselves, taken before the next one that may.
    pub(super) quiet: SegQueue<Report>,
    handle: OnceLock<Handle<BreakerActor>>,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl Core {
    pub(super) fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Where reports go; set before the first permit exists.
    pub(super) fn handle(&self) -> Option<&Handle<BreakerActor>> {
        self.handle.get()
    }

    pub(super) fn cooldown_until(&self, breaker: &Breaker) -> Option<Millis> {
        let left = breaker.cooldown_until()?.saturating_sub(self.elapsed());
        Some(self.clock.now().plus(left))
    }
}

/// How the chain reaches one provider's breaker.
#[derive(Debug, Clone)]
pub(crate) struct BreakerPort {
    core: Arc<Core>,
    handle: Handle<BreakerActor>,
}

impl BreakerPort {
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
        let kept = Kept {
            breaker: Breaker::new(options),
            latencies: Latencies::default(),
            last_success_at: None,
            last_fault: None,
        };
        let core = Arc::new(Core {
            provider: Arc::from(provider),
            jitter,
            clock,
            origin: Instant::now(),
            kept: watch::Sender::new(kept),
            changes,
            quiet: SegQueue::new(),
            handle: OnceLock::new(),
        });
        let shared = Arc::clone(&core);
        let spec = ChildSpec::new(format!("breaker-{provider}"), arbiter, move |_| {
            let actor = BreakerActor::resume(Arc::clone(&shared));
            async move { Ok(actor) }
        });
        let handle = group.start(spec.capacity(4096));
        // Empty until now: this is the only place that sets it.
        let _ = core.handle.set(handle.clone());
        Self { core, handle }
    }

    /// Who holds the breaker: as many as at its start, and one for each permit that is out.
    #[cfg(test)]
    pub(crate) fn holders(&self) -> usize {
        Arc::strong_count(&self.core)
    }

    /// Asks for leave to call the provider. While the breaker is closed its latest snapshot is leave enough: the actor
    /// is only asked where there is something to decide.
    pub(crate) async fn admit(&self, patience: Duration) -> Result<Entry, CallError> {
        let open_door = self.core.kept.borrow().breaker.open_door();
        if let Some(grant) = open_door {
            return Ok(Entry::Granted(Permit::new(Arc::clone(&self.core), grant)));
        }
        self.handle.ask_within(patience.min(PATIENCE), Admit).await
    }

    /// The provider is gone for good.
    pub(crate) fn retire(&self) {
        self.handle.retire();
    }

    /// How long a caller would have to wait now, by the latest snapshot.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.core.kept.borrow().breaker.wait(self.core.elapsed())
    }

    pub(crate) fn status(&self) -> BreakerStatus {
        let kept = self.core.kept.borrow().clone();
        let tally = kept.breaker.tally(self.core.elapsed());
        BreakerStatus {
            state: kept.breaker.state(),
            reason: kept.breaker.reason(),
            failure_share: tally.failure_share(),
            calls: tally.calls,
            p50_latency_ms: kept.latencies.p50(),
            last_success_at: kept.last_success_at,
            last_fault: kept.last_fault,
            cooldown_until: self.core.cooldown_until(&kept.breaker),
            opened_count: kept.breaker.opened_count(),
        }
    }
}
