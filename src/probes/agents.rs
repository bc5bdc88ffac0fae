//! Probes of engines, agents and tasks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_core::Kind;
use muster_core::health::{Probe, ProbeResult};
use muster_engines::{Engine, Nature, vector};
use muster_identity::By;
use muster_tasks::agent::Agents;
use muster_tasks::task::{TaskLatency, Tasks};
use muster_tasks::{engine::EngineCall, engine::EngineCaller, engine::EngineRunner as _, engine::Engines};

use super::{ProbeTargets, SECOND};
use crate::agents::built_in;
use crate::live::LiveReader;

/// Number of engines checked per probe.
const IN_A_LOOK: usize = 5;
/// Timeout of a check, below that of the health actor, so that a busy pool can be distinguished from a broken one.
const A_LOOK: Duration = Duration::from_secs(4);
/// Seconds that a task may wait.
const LONG: u64 = 120;
const TOO_LONG: u64 = 900;

pub(super) fn all(parts: &ProbeTargets) -> Vec<Probe> {
    let (engines, agents, live) = (parts.engines.clone(), parts.agents.clone(), parts.live.clone());
    let (tasks, runtime, rotation) = (parts.tasks.clone(), parts.tasks.clone(), Arc::<Rotation>::default());
    vec![
        Probe::new("engine-registry", 6, 60 * SECOND, move || {
            let (rotation, engines) = (Arc::clone(&rotation), engines.clone());
            async move {
                match rotation.look(&engines).await {
                    ProbeResult::Healthy => restricted(&engines),
                    other => other,
                }
            }
        })
        .critical(),
        Probe::new("agent-registry", 3, 300 * SECOND, move || {
            let agents = agents.clone();
            // The first time it may read the whole catalogue: an arbiter has circuit breakers and more to serve meanwhile.
            let resolving = tokio::task::spawn_blocking(move || resolved(&agents));
            async move { resolving.await.unwrap_or_else(|error| ProbeResult::Unhealthy(error.to_string())) }
        })
        .critical(),
        Probe::new("agent-runtime", 5, 30 * SECOND, move || served(runtime.clone())).critical(),
        Probe::new("task-queue", 5, 10 * SECOND, move || std::future::ready(queued(&tasks, &live))).critical(),
    ]
}

/// Checks a few things per probe, in turn. A failure counts until the thing is checked again.
#[derive(Debug, Default)]
pub(super) struct Rotation {
    next: AtomicUsize,
    failed: Mutex<BTreeMap<&'static str, String>>,
}

impl Rotation {
    /// Checks engines against their test vectors.
    async fn look(&self, engines: &Engines) -> ProbeResult {
        // Engines that read the operator's folder cannot be checked with a vector.
        let pure: Vec<&'static Engine> =
            muster_engines::all().filter(|engine| engine.nature != Nature::Workspace).collect();
        if pure.is_empty() {
            return ProbeResult::Unhealthy("there is no engine".to_owned());
        }
        let begin = self.turn(IN_A_LOOK) % pure.len();
        let turn = pure.iter().copied().cycle().skip(begin).take(IN_A_LOOK.min(pure.len()));
        let looked = tokio::time::timeout(A_LOOK, async {
            for engine in turn {
                match examined(engines, engine).await {
                    Ok(wrong) => self.note(engine.id, wrong),
                    Err(busy) => return Some(busy),
                }
            }
            None
        });
        match looked.await {
            Err(_) => {
                ProbeResult::Degraded(format!("the engines gave no answer in {} s: they are busy", A_LOOK.as_secs()))
            }
            Ok(Some(busy)) => ProbeResult::Degraded(busy),
            Ok(None) => self.verdict(),
        }
    }

    /// Returns how many were checked before, and counts those that are now.
    pub(super) fn turn(&self, now: usize) -> usize {
        self.next.fetch_add(now, Ordering::Relaxed)
    }

    /// Takes how the check of a thing ended: what is wrong with it, or `None`.
    pub(super) fn note(&self, id: &'static str, wrong: Option<String>) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match wrong {
            Some(wrong) => drop(failed.insert(id, wrong)),
            None => drop(failed.remove(id)),
        }
    }

    /// Degraded by one failure, unhealthy by two.
    pub(super) fn verdict(&self) -> ProbeResult {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = || failed.values().cloned().collect::<Vec<_>>().join("; ");
        match failed.len() {
            0 => ProbeResult::Healthy,
            1 => ProbeResult::Degraded(messages()),
            _ => ProbeResult::Unhealthy(messages()),
        }
    }
}

/// Checks whether the kernel has every restriction that engines are to run under.
fn restricted(engines: &Engines) -> ProbeResult {
    engines.sandbox().problem().map_or(ProbeResult::Healthy, ProbeResult::Degraded)
}

/// Checks one engine with its vector in the worker pool.
///
/// # Errors
/// The queue of the pool is full.
async fn examined(engines: &Engines, engine: &'static Engine) -> Result<Option<String>, String> {
    let Some(vector) = vector::of(engine) else { return Ok(Some(format!("{} has no vector", engine.id))) };
    let call = EngineCall::new(engine, vector.input.clone(), EngineCaller::of(&By::System));
    match engines.run(call).await {
        Ok(answer) => Ok(vector.mismatches(&answer.output).into_iter().next()),
        Err(absent) if absent.code == Some("model_absent") => Ok(None),
        // Nobody pays for what a probe asks of the model gateway.
        Err(unpaid) if unpaid.kind == Kind::Forbidden => Ok(None),
        Err(busy) if busy.kind == Kind::Unavailable => Err(busy.message),
        Err(error) => Ok(Some(format!("{}: {error}", engine.id))),
    }
}

/// Checks that the catalogue is valid and that every engine of an agent exists in this program.
fn resolved(agents: &Agents) -> ProbeResult {
    let own = match built_in() {
        Err(mistakes) => return ProbeResult::Unhealthy(format!("the catalogue of agents: {mistakes}")),
        Ok(own) => own,
    };
    if let Some(lost) = own.list().iter().find(|agent| agents.get(&agent.id).is_none()) {
        return ProbeResult::Unhealthy(format!("the agent {} is not there", lost.id));
    }
    for agent in agents.list() {
        let engines = agent.plan.iter().map(|step| step.engine).chain(agent.toolbox.iter().copied());
        if let Some(strange) = engines.into_iter().find(|engine| muster_engines::by_id(engine.id).is_none()) {
            return ProbeResult::Unhealthy(format!("{} calls {}, which does not exist", agent.id, strange.id));
        }
    }
    match agents.warnings() {
        [] => ProbeResult::Healthy,
        [first, ..] => {
            ProbeResult::Degraded(format!("this build lacks engines of {} agents: {first}", agents.warnings().len()))
        }
    }
}

/// Checks that the task actor answers and that the threads for steps start work.
async fn served(tasks: Tasks) -> ProbeResult {
    match tasks.latency().await {
        Err(error) => ProbeResult::Unhealthy(error.to_string()),
        Ok(TaskLatency { actor, .. }) if actor > SECOND => {
            ProbeResult::Degraded(format!("the tasks took {} ms to answer", actor.as_millis()))
        }
        Ok(TaskLatency { threads, .. }) if threads > SECOND => {
            ProbeResult::Degraded(format!("a step waited {} ms for a thread", threads.as_millis()))
        }
        Ok(_) => ProbeResult::Healthy,
    }
}

/// Checks how long the oldest task has waited, and whether more tasks fit.
fn queued(tasks: &Tasks, live: &LiveReader) -> ProbeResult {
    let (stats, most) = (tasks.stats(), live.now().config.agents.max_live);
    match stats.oldest_seconds {
        waits if waits > TOO_LONG => ProbeResult::Unhealthy(format!("a task waits for {waits} s")),
        waits if waits > LONG => ProbeResult::Degraded(format!("a task waits for {waits} s")),
        _ if stats.live() * 10 >= most * 9 => {
            ProbeResult::Degraded(format!("{} tasks live, and {most} may (agents.max_live)", stats.live()))
        }
        _ => ProbeResult::Healthy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_engine_counts_until_its_next_check() {
        let rotation = Rotation::default();
        assert_eq!(rotation.verdict(), ProbeResult::Healthy);
        rotation.note("a", Some("a: 1 in place of 2".to_owned()));
        rotation.note("b", None);
        assert_eq!(rotation.verdict(), ProbeResult::Degraded("a: 1 in place of 2".to_owned()));
        rotation.note("b", Some("b broke".to_owned()));
        assert_eq!(rotation.verdict(), ProbeResult::Unhealthy("a: 1 in place of 2; b broke".to_owned()));
        rotation.note("a", None);
        rotation.note("b", None);
        assert_eq!(rotation.verdict(), ProbeResult::Healthy);
    }

    #[test]
    fn agents_without_engines_in_this_build_are_reported_and_missing_ones_are_a_failure() {
        let all: Vec<_> = muster_engines::all().collect();
        let whole = Agents::built_in(&all).unwrap();
        let verdict = resolved(&whole);
        assert_eq!(matches!(verdict, ProbeResult::Degraded(_)), !whole.warnings().is_empty(), "{verdict:?}");
        assert!(!matches!(verdict, ProbeResult::Unhealthy(_)), "{verdict:?}");
        let none = Agents::parse("[[category]]\nid = \"code\"\nname = \"Code\"\n", &all).unwrap();
        assert!(matches!(resolved(&none), ProbeResult::Unhealthy(why) if why.contains("is not there")));
    }
}
