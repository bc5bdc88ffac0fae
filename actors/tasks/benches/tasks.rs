//! Measures durable tasks: tasks without work per second, a start with 100,000 queued tasks, their memory, and the
//! latency of kills while 5,000 tasks run and log at full speed.
//!
//! `cargo bench -p muster-tasks --bench tasks` prints a table; `-- noops`, `-- queued` or `-- kills` a part of it. The
//! store is on this machine's disk.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_rt::Arbiter;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use muster_core::Clock;
use muster_core::event::{ChannelRestriction, Event, LatestValue, Publish};
use muster_core::supervise::Tree;
use muster_identity::By;
use muster_store::{Options, SledStore, StoreHandle};
use muster_tasks::task::{
    Admission, Control, KillLatency, Level, NewTask, NextAction, Priority, Requester, StepError, StepKind, StepOutput,
    StepRequest, StepSink, StepSpec, TaskExecutor, TaskOptions, TaskSettings, TaskView, Tasks, Usage, Verb,
};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const QUEUED: usize = 100_000;
const RUNNING: usize = 5_000;
const KILLS: usize = 200;

/// A publisher that discards everything.
#[derive(Debug)]
struct DiscardingPublisher;

impl Publish for DiscardingPublisher {
    fn publish(&self, _: Vec<Event>) {}

    fn publish_transient(&self, _: Vec<Event>) {}

    fn restrict(&self, _: ChannelRestriction) {}

    fn mark_lost(&self) {}

    fn publish_latest(&self, _: LatestValue) {}
}

/// Agents with one step: `noop` does nothing, `log` logs forever.
#[derive(Debug, Clone, Default)]
struct Agents {
    dropped: Arc<Mutex<HashMap<String, Instant>>>,
}

/// Records when a step was dropped.
struct Guard(Agents, String);

impl Drop for Guard {
    fn drop(&mut self) {
        let mut dropped = self.0.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        dropped.insert(std::mem::take(&mut self.1), Instant::now());
    }
}

impl TaskExecutor for Agents {
    fn admit(&self, _: &str, _: &str, params: Value) -> Result<Admission, muster_core::Error> {
        Ok(Admission { params, default_seconds: 1, total_steps: Some(1) })
    }

    fn next(&self, view: &TaskView) -> Result<NextAction, StepError> {
        if view.done.is_empty() {
            let (name, kind, input) = (view.agent.clone(), StepKind::Engine, Value::Null);
            return Ok(NextAction::Step(StepSpec { name, kind, input, repeatable: true, total_steps: Some(1) }));
        }
        Ok(NextAction::Done(json!({ "done": true })))
    }

    fn run(&self, request: StepRequest, sink: StepSink) -> BoxFuture<'static, Result<StepOutput, StepError>> {
        let guard = Guard(self.clone(), request.key.task_id);
        Box::pin(async move {
            let _guard = guard;
            if request.spec.name == "log" {
                loop {
                    sink.log(Level::Info, "a line of a log, as long as such lines are");
                    tokio::task::yield_now().await;
                }
            }
            Ok(StepOutput { value: Value::Null, usage: Usage::default() })
        })
    }
}

fn main() -> Outcome<()> {
    actix_rt::System::new().block_on(async {
        let steps =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("steps").enable_all().build()?;
        let selected: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
        let wanted = |part: &str| selected.is_empty() || selected.iter().any(|each| each == part);
        if wanted("noops") {
            for in_flight in [1, 64, 512] {
                noops(&steps, in_flight).await?;
            }
        }
        if wanted("queued") {
            queued(&steps).await?;
        }
        if wanted("kills") {
            kills(&steps).await?;
        }
        steps.shutdown_background();
        Ok(())
    })
}

struct TaskServer {
    tree: Tree,
    other: Arbiter,
    tasks: Tasks,
    agents: Agents,
}

async fn start(store: &StoreHandle, steps: &tokio::runtime::Runtime, slots: usize) -> TaskServer {
    let (tree, other, agents) = (Tree::new(Arbiter::current(), Clock::system()), Arbiter::new(), Agents::default());
    let options = TaskOptions {
        store: Arc::clone(store),
        clock: Clock::system(),
        publisher: Arc::new(DiscardingPublisher),
        executor: Arc::new(agents.clone()),
        settings: TaskSettings { slots, per_key: slots, queue_per_key: 1_000_000, ..TaskSettings::default() },
        runtime: Some(steps.handle().clone()),
        kill_latency: KillLatency::default(),
        standing: muster_core::guard::StandingReader::unconstituted(),
    };
    let tasks = Tasks::start(&tree.group("agents"), other.handle(), options);
    tasks.up().await;
    TaskServer { tree, other, tasks, agents }
}

impl TaskServer {
    async fn run(&self, agent: &str) -> Result<String, muster_core::Error> {
        let new = NewTask {
            agent: agent.to_owned(),
            task: "do nothing".to_owned(),
            params: json!({ "path": "README.md" }),
            timeout_seconds: 600,
            priority: Priority::Normal,
            start: muster_tasks::task::Start::AtOnce,
        };
        Ok(self.tasks.run(new, &Requester::of(By::System), None).await?.id)
    }

    async fn stop(self) {
        self.tree.stop().await;
        self.other.stop();
    }
}

/// Measures from the request to the durable end.
async fn noops(steps: &tokio::runtime::Runtime, in_flight: usize) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let opened = SledStore::open(Options::new(folder.path()))?.store;
    let store: StoreHandle = opened.clone();
    let server = start(&store, steps, 512).await;
    let count = if in_flight == 1 { 300 } else { 10_000 };
    let requester = Requester::of(By::System);
    let begun = Instant::now();
    let ends = stream::iter(0..count).map(|_| async {
        let (begun, id) = (Instant::now(), server.run("noop").await?);
        let accepted = begun.elapsed();
        let mut record = server.tasks.get(&id, &requester).await?;
        while !record.status.ended() {
            record = server.tasks.wait(&id, &requester, Some(record.seq), Duration::from_secs(30)).await?;
        }
        Ok::<_, muster_core::Error>(accepted)
    });
    let mut accepted: Vec<Duration> = ends.buffer_unordered(in_flight).try_collect().await?;
    let took = begun.elapsed();
    accepted.sort_unstable();
    let p50 = accepted.get(accepted.len() / 2).copied().unwrap_or_default();
    println!(
        "{:<58} {:>8.0} /s   accepted p50 {p50:.1?}",
        format!("no-op tasks to their end, {in_flight} waiting"),
        count as f64 / took.as_secs_f64()
    );
    server.stop().await;
    Ok(())
}

/// Measures a start with 100,000 queued tasks, and their memory.
async fn queued(steps: &tokio::runtime::Runtime) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let store: StoreHandle = SledStore::open(Options::new(folder.path()))?.store;
    let server = start(&store, steps, 1).await;
    server.run("log").await?;
    let before = resident();
    let begun = Instant::now();
    let made = stream::iter(0..QUEUED).map(|_| server.run("noop")).buffer_unordered(512);
    made.try_for_each(|_| std::future::ready(Ok(()))).await?;
    println!("{:<58} {:>8.0} /s", "accepted, 512 waiting", QUEUED as f64 / begun.elapsed().as_secs_f64());
    let each = resident().saturating_sub(before) * 1_024 / QUEUED as u64;
    println!("{:<58} {each:>8} bytes each (the store's cache among them)", "memory of 100,000 queued tasks");
    server.stop().await;
    let (before, begun) = (resident(), Instant::now());
    let server = start(&store, steps, 1).await;
    row("start with 100,000 journalled tasks", begun.elapsed());
    let each = resident().saturating_sub(before) * 1_024 / QUEUED as u64;
    println!("{:<58} {each:>8} bytes each", "more memory than before that start");
    server.stop().await;
    Ok(())
}

/// Measures from the request to the end of the step's future.
async fn kills(steps: &tokio::runtime::Runtime) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let store: StoreHandle = SledStore::open(Options::new(folder.path()))?.store;
    let server = start(&store, steps, RUNNING).await;
    let ids: Vec<String> =
        stream::iter(0..RUNNING).map(|_| server.run("log")).buffer_unordered(512).try_collect().await?;
    let requester = Requester::of(By::System);
    let (mut latencies, mut replies) = (Vec::new(), Vec::new());
    for (n, id) in ids.iter().take(KILLS).enumerate() {
        let control = Control { verb: Verb::Kill, request_id: format!("r{n}"), if_seq: None, reason: None };
        let begun = Instant::now();
        server.tasks.control(id, control, &requester).await?;
        replies.push(begun.elapsed());
        loop {
            let dropped = server.agents.dropped.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied();
            if let Some(at) = dropped {
                latencies.push(at.duration_since(begun));
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    percentiles("kill to reply, 5,000 running and logging", replies);
    percentiles("kill to step dropped, 5,000 running and logging", latencies);
    server.stop().await;
    Ok(())
}

/// Returns the resident memory, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn percentiles(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |hundredths: usize| times.get(times.len() * hundredths / 100).copied().unwrap_or_default();
    println!("{name:<58} p50 {:>8.1?}   p99 {:>8.1?}", at(50), at(99));
}

fn row(name: &str, took: Duration) {
    println!("{name:<58} {took:>12.1?}");
}
