//! The actor that owns live tasks: connects their state machine, the queue and the journal.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Context, WrapFuture};
use muster_store::StoreHandle;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::create::AcceptedTask;
use super::effect::Effect;
use super::executor::TaskExecutor;
use super::jobs::{JobReports, Runner};
use super::kill_latency::KillLatency;
use super::live_tasks::LiveTasks;
use super::operate::FirstReply;
use super::output_publisher;
use super::rate::Rate;
use super::settings::{TaskSettings, TaskStats};
use super::step_output::OutputBuffers;
use muster_core::event::Publisher;
use muster_core::guard::StandingReader;
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};

/// Interval at which time-dependent changes are checked.
const TICK: Duration = Duration::from_millis(100);
/// Maximum number of job reports processed before other messages.
const REPORTS: usize = 128;

/// Dependencies and settings of tasks.
#[derive(Clone)]
pub struct TaskOptions {
    /// Store of tasks, their steps and their journals.
    pub store: StoreHandle,
    /// Source of time.
    pub clock: Clock,
    /// Receives the feed events of tasks.
    pub publisher: Publisher,
    /// Plans and executes steps.
    pub executor: Arc<dyn TaskExecutor>,
    /// Limits and time limits.
    pub settings: TaskSettings,
    /// Runtime for steps; `None` for the actor's own. A runtime with threads of its own prevents busy steps from
    /// delaying controls.
    pub runtime: Option<tokio::runtime::Handle>,
    /// Receives the latency of kills.
    pub kill_latency: KillLatency,
    /// By which guarded commands are decided.
    pub standing: StandingReader,
}

impl std::fmt::Debug for TaskOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskOptions").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// State that survives the actor.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) buffers: Arc<OutputBuffers>,
    pub(super) stats: watch::Sender<TaskStats>,
    /// Set once there was a previous incarnation, which may have died between storing and publishing.
    pub(super) succeeds: Arc<AtomicBool>,
}

/// Owns live tasks.
pub(super) struct TaskActor {
    pub(super) options: TaskOptions,
    pub(super) live: LiveTasks,
    pub(super) journal: Journal<Vec<Effect>>,
    pub(super) runner: Runner,
    pub(super) rate: Rate,
    pub(super) stats: watch::Sender<TaskStats>,
    /// Agents whose run times changed since they were stored.
    pub(super) stale_times: HashSet<String>,
    /// First replies to controls.
    pub(super) replies: PendingResponses<FirstReply>,
    /// First replies to run requests.
    pub(super) accepted: PendingResponses<AcceptedTask>,
    pub(super) jobs: u64,
    pub(super) draining: Option<DrainState>,
    /// Stops the publishing of step output with the actor.
    output_publisher: Option<DropGuard>,
}

/// Callers that wait for the end of the steps in progress.
#[derive(Debug, Default)]
pub(super) struct DrainState {
    pub(super) over: bool,
    pub(super) waits: Vec<oneshot::Sender<()>>,
}

impl std::fmt::Debug for TaskActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskActor").field("live", &self.live.entries.len()).finish_non_exhaustive()
    }
}

/// Restores live tasks.
pub(super) async fn load(options: TaskOptions, shared: Shared) -> Result<TaskActor, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let (store, settings) = (Arc::clone(&options.store), options.settings.clone());
    let live = tokio::task::spawn_blocking(move || LiveTasks::read(&store, &settings)).await??;
    if shared.succeeds.swap(true, Ordering::AcqRel) {
        options.publisher.mark_lost();
    }
    if !live.entries.is_empty() {
        tracing::info!(live = live.entries.len(), "tasks were restored");
    }
    let runner = Runner {
        executor: Arc::clone(&options.executor),
        store: Arc::clone(&options.store),
        clock: options.clock.clone(),
        reports: Arc::new(JobReports::default()),
        buffers: Arc::clone(&shared.buffers),
        runtime: options.runtime.clone().unwrap_or_else(tokio::runtime::Handle::current),
    };
    Ok(TaskActor {
        options,
        live,
        journal,
        runner,
        rate: Rate::default(),
        stats: shared.stats,
        stale_times: HashSet::new(),
        replies: PendingResponses::default(),
        accepted: PendingResponses::default(),
        jobs: 0,
        draining: None,
        output_publisher: None,
    })
}

impl Actor for TaskActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if self.options.runtime.is_none() {
            self.runner.runtime = tokio::runtime::Handle::current();
        }
        self.recover();
        self.flush(context);
        self.listen(context);
        context.run_interval(TICK, |actor, context| {
            actor.tick();
            actor.flush(context);
        });
        let (publisher, clock) = (self.options.publisher.clone(), self.options.clock.clone());
        let (publishing, publisher_token) =
            (output_publisher::run(Arc::clone(&self.runner.buffers), publisher, clock), CancellationToken::new());
        self.output_publisher = Some(publisher_token.clone().drop_guard());
        // Outside of the actor: step output must not delay controls.
        self.runner.runtime.spawn(async move { publisher_token.run_until_cancelled(publishing).await });
    }
}

impl Journalled for TaskActor {
    type Effects = Vec<Effect>;

    fn journal(&mut self) -> &mut Journal<Vec<Effect>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Vec<Effect>>, _: &mut Context<Self>) {
        self.replies.settle(committed.last);
        self.accepted.settle(committed.last);
        committed.effects.into_iter().flatten().for_each(|effect| self.perform(effect));
    }

    fn on_failed(&mut self, effects: Vec<Vec<Effect>>, error: &Error) {
        for effect in effects.into_iter().flatten() {
            if let Effect::Reply(reply) = effect {
                reply(Err(error.clone()));
            }
        }
    }
}

impl TaskActor {
    pub(super) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Returns whether the store rejects writes, in which case no step begins.
    pub(super) fn read_only(&self) -> bool {
        self.options.store.writable().is_err()
    }

    /// Processes reports of jobs, several at a time.
    fn listen(&self, context: &mut Context<Self>) {
        let reports = Arc::clone(&self.runner.reports);
        let notified = async move { reports.notified().await };
        context.spawn(notified.into_actor(self).map(|(), actor, context: &mut Context<Self>| {
            let mut processed = 0;
            while processed < REPORTS
                && let Some(report) = actor.runner.reports.take()
            {
                processed += 1;
                actor.report(report);
            }
            if processed == REPORTS {
                actor.runner.reports.wake();
            }
            actor.flush(context);
            actor.listen(context);
        }));
    }

    /// Performs an effect of a decision that has become durable.
    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Abort(job) => drop(job),
            Effect::Publish(events) => self.options.publisher.publish_transient(events),
            Effect::Reply(reply) => reply(Ok(())),
            Effect::Forget(id) => drop(self.live.remove(&id)),
            Effect::Begin(begin) => {
                let job = self.live.entries.get(&begin.id).and_then(|entry| entry.job.as_ref());
                // A later decision may have dropped the job before it began.
                if let Some(job) = job.filter(|job| job.number == begin.job) {
                    let (cancel, slot) = (job.cancel.clone(), Arc::clone(&job.slot));
                    if let Some(buffer) = self.runner.buffers.find(&begin.id) {
                        self.runner.step(*begin, &buffer, cancel, slot);
                    }
                }
            }
        }
    }
}
