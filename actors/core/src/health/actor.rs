//! The actor that runs the probes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Context, WrapFuture};
use actix_rt::ArbiterHandle;
use tokio::sync::watch;

use super::probe::{Probe, ProbeResult};
use super::state::{HealthReport, ModuleHealth, ModuleStatus};
use crate::Clock;
use crate::supervise::{ChildSpec, Group};

/// Time limit of a probe; a probe that takes longer has failed.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// Runs each probe at its interval and publishes the results.
pub struct HealthActor {
    probes: Arc<[Probe]>,
    clock: Clock,
    publish: watch::Sender<HealthReport>,
}

impl std::fmt::Debug for HealthActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HealthActor").field("probes", &self.probes).finish_non_exhaustive()
    }
}

/// Read access to the last results.
#[derive(Debug, Clone)]
pub struct Health {
    report: watch::Receiver<HealthReport>,
}

impl Health {
    /// Starts probing. Results survive a restart of the actor: they are held by its factory.
    pub fn start(group: &Group, arbiter: ArbiterHandle, probes: Vec<Probe>, clock: Clock) -> Self {
        let unknown = |probe: &Probe| ModuleHealth {
            status: ModuleStatus::Starting,
            why: None,
            critical: probe.critical,
            weight: probe.weight,
            checked_at: None,
            took_ms: 0,
        };
        let modules: BTreeMap<_, _> = probes.iter().map(|probe| (probe.module, unknown(probe))).collect();
        let (publish, report) = watch::channel(HealthReport::of(modules));
        let probes: Arc<[Probe]> = probes.into();
        group.start(ChildSpec::new("health", arbiter, move |_| {
            let actor = HealthActor { probes: Arc::clone(&probes), clock: clock.clone(), publish: publish.clone() };
            async move { Ok(actor) }
        }));
        Self { report }
    }

    /// Returns a receiver that is notified when the report changes.
    pub fn changes(&self) -> watch::Receiver<HealthReport> {
        self.report.clone()
    }

    /// Returns the last results.
    pub fn report(&self) -> HealthReport {
        self.report.borrow().clone()
    }

    /// Waits until every module has been probed once.
    pub async fn probed(&mut self) -> HealthReport {
        let all = |report: &HealthReport| report.modules.values().all(|module| module.checked_at.is_some());
        // An error means that the sender was dropped with the tree; the last report remains available.
        let _ = self.report.wait_for(all).await;
        self.report()
    }
}

impl Actor for HealthActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        for index in 0..self.probes.len() {
            self.probe(index, context);
        }
    }
}

impl HealthActor {
    /// Runs a probe now, and again one interval after it has finished.
    fn probe(&self, index: usize, context: &mut Context<Self>) {
        let Some(probe) = self.probes.get(index) else { return };
        let (module, every) = (probe.module, probe.every);
        let begun = tokio::time::Instant::now();
        let bounded = tokio::time::timeout(PROBE_LIMIT, (probe.run)());
        context.spawn(bounded.into_actor(self).map(move |verdict, actor, context: &mut Context<Self>| {
            let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            let late = || ProbeResult::Unhealthy(format!("no answer in {} s", PROBE_LIMIT.as_secs()));
            let verdict = verdict.unwrap_or_else(|_| late());
            let at = actor.clock.now();
            actor.publish.send_modify(|report| *report = std::mem::take(report).with(module, verdict, at, took_ms));
            context.run_later(every, move |actor, context| actor.probe(index, context));
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use actix_rt::Arbiter;

    use super::super::OverallStatus;
    use super::*;
    use crate::test_world;

    #[test]
    fn failures_are_reported_and_a_hung_probe_is_a_failure() {
        test_world::run(|tree| async move {
            let broken = Arc::new(AtomicBool::new(false));
            let switch = Arc::clone(&broken);
            let probes = vec![
                Probe::new("disk", 3, Duration::from_secs(10), move || {
                    let bad = switch.load(Ordering::SeqCst);
                    async move { if bad { ProbeResult::Unhealthy("full".into()) } else { ProbeResult::Healthy } }
                })
                .critical(),
                Probe::new("hung", 1, Duration::from_secs(10), std::future::pending),
            ];
            let clock = Clock::tokio(test_world::START);
            let mut health = Health::start(&tree.group("health"), Arbiter::current(), probes, clock);
            let report = health.probed().await;
            assert_eq!((report.status, report.score), (OverallStatus::Degraded, 75));
            assert_eq!(report.modules["hung"].why.as_deref(), Some("no answer in 5 s"));
            broken.store(true, Ordering::SeqCst);
            let seen = health.report.wait_for(|report| report.status == OverallStatus::Outage).await.unwrap().clone();
            assert_eq!(seen.modules["disk"].why.as_deref(), Some("full"));
        });
    }

    #[test]
    fn results_survive_a_restart_and_probing_continues() {
        test_world::run(|tree| async move {
            let runs = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&runs);
            let probe = Probe::new("disk", 1, Duration::from_secs(10), move || {
                counted.fetch_add(1, Ordering::SeqCst);
                async { ProbeResult::Healthy }
            });
            let clock = Clock::tokio(test_world::START);
            let mut health = Health::start(&tree.group("health"), Arbiter::current(), vec![probe], clock);
            health.probed().await;
            assert!(tree.inject_panic("health/health"));
            test_world::until(|| tree.snapshot()[0].restarts == 1).await;
            assert_eq!(health.report().score, 100);
            let before = runs.load(Ordering::SeqCst);
            test_world::until(|| runs.load(Ordering::SeqCst) > before).await;
        });
    }
}
