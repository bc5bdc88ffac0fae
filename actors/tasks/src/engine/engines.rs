//! Public interface of the pool.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_engines::context::MAX_NEEDS;
use muster_engines::{Answered, Nature};
use muster_store::Batch;
use serde::Serialize;
use serde_json::json;

use super::actor::{Counts, PoolActor, Run};
use super::job::JobCall;
use super::options::EngineOptions;
use super::runner::{EngineAnswer, EngineCall, EngineCaller, EngineRunner};
use super::sandbox::SandboxStatus;
use super::work::{Round, RoundOutcome, Work};
use super::workspace;
use crate::task::Usage;
use muster_core::audit::AuditEntry;
use muster_core::supervise::{CallErrorKind, ChildSpec, Group, Handle};
use muster_core::{Error, Kind};

/// Time limit of a call including its wait for a process.
const CALL_LIMIT: Duration = Duration::from_secs(600);

/// Runs engines in processes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Engines {
    pool: Handle<PoolActor>,
    options: Arc<EngineOptions>,
    counts: Arc<Counts>,
    sandbox: Arc<SandboxStatus>,
}

/// Figures of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EngineStats {
    /// Processes, busy or idle.
    pub processes: usize,
    /// Calls running in a process.
    pub running: usize,
    /// Calls waiting for a process.
    pub waiting: usize,
    /// Calls that were answered.
    pub calls: u64,
    /// Calls that exceeded their time limit.
    pub timed_out: u64,
    /// Calls whose engine or process failed.
    pub broken: u64,
}

impl Engines {
    /// Starts the pool; processes are started by the first calls. Inputs and outputs are serialized on `arbiter`,
    /// which latency-sensitive actors should not share. `sandbox` is what [`SandboxStatus::examine`] found.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: EngineOptions, sandbox: SandboxStatus) -> Self {
        let options = Arc::new(EngineOptions { workers: options.workers.max(1), ..options });
        let counts = Arc::<Counts>::default();
        let (made, counted) = (Arc::clone(&options), Arc::clone(&counts));
        let spec = ChildSpec::new("engines", arbiter, move |_| {
            let pool = PoolActor::new(Arc::clone(&made), Arc::clone(&counted));
            async move { Ok(pool) }
        });
        let pool = group.start(spec.capacity(options.workers + options.queue));
        Self { pool, options, counts, sandbox: Arc::new(sandbox) }
    }

    /// Waits until the pool is running.
    pub async fn up(&self) {
        self.pool.up().await;
    }

    /// Returns the maximum number of processes.
    pub fn workers(&self) -> usize {
        self.options.workers
    }

    /// Returns which restrictions are in force in the processes, as found at the start.
    pub fn sandbox(&self) -> &SandboxStatus {
        &self.sandbox
    }

    /// Returns current figures without calling the pool.
    pub fn stats(&self) -> EngineStats {
        let running = self.counts.running.load(Ordering::Relaxed);
        EngineStats {
            processes: self.counts.processes.load(Ordering::Relaxed),
            running,
            waiting: self.counts.pending.load(Ordering::Relaxed).saturating_sub(running),
            calls: self.counts.calls.load(Ordering::Relaxed),
            timed_out: self.counts.timed_out.load(Ordering::Relaxed),
            broken: self.counts.died.load(Ordering::Relaxed),
        }
    }

    /// Runs a call, and writes an audit entry if a path leaves the workspace folder.
    async fn audited(&self, call: EngineCall) -> Result<EngineAnswer, Error> {
        let (engine, caller) = (call.engine, call.caller.clone());
        let answer = self.answered(call).await;
        if let Err(error) = &answer {
            self.audit_escape(error, json!({ "engine": engine.id }), &engine.path(), caller).await?;
        }
        answer
    }

    /// Writes an audit entry if a path left the workspace folder.
    async fn audit_escape(
        &self,
        error: &Error,
        mut details: serde_json::Value,
        target: &str,
        caller: EngineCaller,
    ) -> Result<(), Error> {
        if error.code != Some("path_outside_workspace") {
            return Ok(());
        }
        if let Some(details) = details.as_object_mut() {
            details.insert("why".to_owned(), error.message.clone().into());
            details.extend(caller.task.map(|task| ("task_id".to_owned(), task.into())));
        }
        let entry =
            AuditEntry::new(self.options.clock.now(), &caller.actor, "workspace_escape_refused", target, details);
        let batch = Batch { ops: vec![entry.op()?], ..Batch::default() };
        self.options.store.commit(batch).await?;
        Ok(())
    }

    async fn read_workspace(&self, path: String, caller: EngineCaller) -> Result<Vec<u8>, Error> {
        let Some(root) = self.options.worker.workspace.clone() else {
            return Err(Error::new(Kind::Forbidden, "this server has no workspace folder").coded("no_workspace"));
        };
        let reading = tokio::task::spawn_blocking(move || workspace::read(&root, &path));
        let read = reading.await.map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        if let Err(error) = &read {
            self.audit_escape(error, json!({}), "workspace", caller).await?;
        }
        read
    }

    /// Runs a call until it needs nothing more: after each need again, with all answers so far.
    async fn answered(&self, call: EngineCall) -> Result<EngineAnswer, Error> {
        let asks = matches!(call.engine.nature, Nature::Model | Nature::State);
        if !asks {
            let id = call.engine.id;
            return match self.call_pool(Round { call, answers: Vec::new() }).await? {
                RoundOutcome::Answered(answer) => Ok(answer),
                RoundOutcome::Needs(need) => Err(needless(id, need.name())),
            };
        }
        let (mut answers, mut usage) = (Vec::new(), Usage::default());
        loop {
            match self.call_pool(Round { call: call.clone(), answers: answers.clone() }).await? {
                RoundOutcome::Answered(answer) => return Ok(EngineAnswer { usage, ..answer }),
                RoundOutcome::Needs(need) if answers.len() < MAX_NEEDS => {
                    let provided = self.options.effects.perform(need.clone(), call.caller.clone()).await?;
                    usage.add(provided.usage);
                    answers.push(Answered { need, answer: provided.answer });
                }
                RoundOutcome::Needs(need) => return Err(needless(call.engine.id, need.name())),
            }
        }
    }

    /// Runs a job; returns its output. Dropping the future stops the call.
    ///
    /// # Errors
    ///
    /// `TimedOut` and `TooLarge` (code `memory_exceeded`) beyond its bounds, `Invalid` if the job refuses the input or its
    /// stack overflows, `RateLimited` if too many calls of the caller wait, `Unavailable` if the queue is full.
    pub async fn run_job(&self, call: JobCall) -> Result<Vec<u8>, Error> {
        self.call_pool(call).await
    }

    async fn call_pool<W: Work>(&self, call: W) -> Result<W::Answer, Error> {
        let cancelled = tokio_util::sync::CancellationToken::new();
        let _cancel_on_drop = cancelled.clone().drop_guard();
        let _pending = Pending::enter(&self.counts);
        match self.pool.ask_within(CALL_LIMIT, Run { call, cancelled }).await {
            Ok(answer) => answer,
            Err(refused) if refused.kind == CallErrorKind::Busy => {
                let message =
                    format!("{} engine calls are queued already, which is the maximum: try again", self.options.queue);
                Err(Error::new(Kind::Unavailable, message).coded("engines_busy").retry_in(refused.retry_after))
            }
            Err(refused) => Err(refused.into()),
        }
    }
}

impl EngineRunner for Engines {
    fn run(&self, call: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>> {
        let engines = self.clone();
        async move { engines.audited(call).await }.boxed()
    }

    fn workspace_file(&self, path: String, caller: EngineCaller) -> BoxFuture<'static, Result<Vec<u8>, Error>> {
        let engines = self.clone();
        async move { engines.read_workspace(path, caller).await }.boxed()
    }
}

/// Creates the error of an engine that needs what its nature does not allow, or needs something too often.
fn needless(engine: &str, need: &str) -> Error {
    tracing::error!(engine, need, "an engine has a need that it may not have");
    Error::new(Kind::Internal, format!("{engine} failed on this input: this is a fault of the server"))
}

/// Counts a call as pending until it is dropped.
struct Pending(Arc<Counts>);

impl Pending {
    fn enter(counts: &Arc<Counts>) -> Self {
        counts.pending.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counts))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.pending.fetch_sub(1, Ordering::Relaxed);
    }
}
