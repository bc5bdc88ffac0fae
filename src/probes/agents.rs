//! The probes of engines and of agents' tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use muster_actors::Kind;
use muster_actors::engine::{Behalf, EngineCall, EngineRunner as _, Engines};
use muster_actors::health::{Probe, Verdict};
use muster_actors::identity::By;
use muster_actors::page::PageAsk;
use muster_actors::task::{Asker, Filter, Tasks};
use muster_engines::{Engine, Nature};

use super::SECOND;

/// Engines of one look.
const IN_A_LOOK: usize = 5;
/// Seconds that a task may wait.
const LONG: u64 = 120;
const TOO_LONG: u64 = 900;

pub(super) fn all(engines: &Engines, tasks: &Tasks) -> Vec<Probe> {
    let (engines, tasks, next) = (engines.clone(), tasks.clone(), Arc::new(AtomicUsize::new(0)));
    vec![
        Probe::new("engine-registry", 6, 60 * SECOND, move || {
            let begin = next.fetch_add(IN_A_LOOK, Ordering::Relaxed);
            examined(engines.clone(), begin)
        })
        .critical(),
        Probe::new("task-queue", 5, 10 * SECOND, move || queued(tasks.clone())).critical(),
    ]
}

/// Runs the examples of some engines, others each time, through the pool.
async fn examined(engines: Engines, begin: usize) -> Verdict {
    let pure: Vec<&'static Engine> = muster_engines::all().filter(|engine| engine.nature == Nature::Pure).collect();
    let mut failed = Vec::new();
    for engine in pure.iter().copied().cycle().skip(begin % pure.len().max(1)).take(IN_A_LOOK.min(pure.len())) {
        let call = EngineCall { engine, input: engine.example(), behalf: Behalf::of(&By::System) };
        match engines.run(call).await {
            Ok(answer) if answer.output.is_object() => {}
            Ok(_) => failed.push(format!("{}: no object", engine.id)),
            Err(busy) if busy.kind == Kind::Unavailable => return Verdict::Degraded(busy.message),
            Err(error) => failed.push(format!("{}: {error}", engine.id)),
        }
    }
    match failed.len() {
        0 if pure.is_empty() => Verdict::Unhealthy("there is no engine".to_owned()),
        0 => Verdict::Healthy,
        1 => Verdict::Degraded(failed.join("; ")),
        _ => Verdict::Unhealthy(failed.join("; ")),
    }
}

/// Whether the tasks answer, and how long the oldest waits.
async fn queued(tasks: Tasks) -> Verdict {
    let one = PageAsk { limit: 1, after: None };
    if let Err(error) = tasks.list(Filter::default(), one, &Asker::of(By::System)).await {
        return Verdict::Unhealthy(error.to_string());
    }
    match tasks.stats().oldest_seconds {
        0..=LONG => Verdict::Healthy,
        waits @ 0..=TOO_LONG => Verdict::Degraded(format!("a task waits for {waits} s")),
        waits => Verdict::Unhealthy(format!("a task waits for {waits} s")),
    }
}
