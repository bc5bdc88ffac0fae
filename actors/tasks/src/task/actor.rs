//! The actor that owns live tasks: a thin shell around their state machine, the queue and the journal.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Context, WrapFuture};
use muster_store::{Batch, Rec, StoreHandle, Tree};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::book::Book;
use super::felt::KillTimes;
use super::jobs::{Reports, Runner};
use super::operate::Kept;
use super::rate::Rate;
use super::settings::{TaskSettings, TaskStats};
use super::stored;
use super::teller;
use super::then::Then;
use super::tray::Trays;
use super::work::Work;
use muster_core::event::Publisher;
use muster_core::journal::{Journal, Journalled, Landed};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};

/// How often it looks at what time has changed.
const TICK: Duration = Duration::from_millis(100);
/// Most reports of one turn; others go first then.
const REPORTS: usize = 128;

/// What tasks need.
#[derive(Clone)]
pub struct TaskOptions {
    pub store: StoreHandle,
    pub clock: Clock,
    pub publisher: Publisher,
    pub work: Arc<dyn Work>,
    pub settings: TaskSettings,
    /// Where steps run; `None` is the actor's own runtime. One with threads of its own keeps busy steps from delaying
    /// controls.
    pub runtime: Option<tokio::runtime::Handle>,
    /// Who is told how soon kills are felt.
    pub kill_times: KillTimes,
}

impl std::fmt::Debug for TaskOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskOptions").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What outlives the actor.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) trays: Arc<Trays>,
    pub(super) stats: watch::Sender<TaskStats>,
    /// One before it was here, and may have died between what was durable and what it told of it.
    pub(super) succeeds: Arc<AtomicBool>,
}

/// Owns live tasks.
pub(super) struct TaskActor {
    pub(super) options: TaskOptions,
    pub(super) book: Book,
    pub(super) journal: Journal<Vec<Then>>,
    pub(super) runner: Runner,
    pub(super) rate: Rate,
    pub(super) stats: watch::Sender<TaskStats>,
    /// Agents whose run times changed since they were stored.
    pub(super) stale_times: HashSet<String>,
    /// Answers to controls that are not durable yet, by asker and request.
    pub(super) answers: HashMap<(String, String), Kept>,
    /// First answers to run requests that are not durable yet.
    pub(super) creating: HashMap<(String, String), ([u8; 32], String)>,
    pub(super) jobs: u64,
    pub(super) draining: Option<Drain>,
    /// The store takes no more: nothing is begun or accepted.
    pub(super) read_only: bool,
    /// Ends the telling of logs with the actor.
    teller: Option<DropGuard>,
}

/// Whoever waits for the end of the steps in flight.
#[derive(Debug, Default)]
pub(super) struct Drain {
    pub(super) over: bool,
    pub(super) waits: Vec<oneshot::Sender<()>>,
}

impl std::fmt::Debug for TaskActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskActor").field("live", &self.book.entries.len()).finish_non_exhaustive()
    }
}

/// Reads live tasks back.
pub(super) async fn load(options: TaskOptions, shared: Shared) -> Result<TaskActor, BuildError> {
    let poisoned = options.store.stats().poisoned;
    let read_only = poisoned.is_some();
    if !read_only {
        // The store writes in order: what an incarnation before handed to it is written before this is.
        let boot = Rec { schema: 1, bytes: Vec::new() };
        options.store.commit(Batch::put(Tree::Tasks, stored::BOOT, boot)).await?;
    }
    let (store, settings) = (Arc::clone(&options.store), options.settings.clone());
    let book = tokio::task::spawn_blocking(move || Book::read(&store, &settings)).await??;
    if shared.succeeds.swap(true, Ordering::AcqRel) {
        options.publisher.mark_lost();
    }
    if !book.entries.is_empty() {
        tracing::info!(live = book.entries.len(), "tasks were read back");
    }
    let runner = Runner {
        work: Arc::clone(&options.work),
        store: Arc::clone(&options.store),
        clock: options.clock.clone(),
        reports: Arc::new(Reports::default()),
        trays: Arc::clone(&shared.trays),
        runtime: options.runtime.clone().unwrap_or_else(tokio::runtime::Handle::current),
    };
    Ok(TaskActor {
        options,
        book,
        journal: Journal::default(),
        runner,
        rate: Rate::default(),
        stats: shared.stats,
        stale_times: HashSet::new(),
        answers: HashMap::new(),
        creating: HashMap::new(),
        jobs: 0,
        draining: None,
        read_only,
        teller: None,
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
        let (told, life) = (teller::run(Arc::clone(&self.runner.trays), publisher, clock), CancellationToken::new());
        self.teller = Some(life.clone().drop_guard());
        // Beside the actor: what steps log must not delay a control.
        self.runner.runtime.spawn(async move { life.run_until_cancelled(told).await });
    }
}

impl Journalled for TaskActor {
    type Then = Vec<Then>;

    fn journal(&mut self) -> &mut Journal<Vec<Then>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn follow(&mut self, landed: Landed<Vec<Then>>, _: &mut Context<Self>) {
        let then = landed.then.into_iter().flatten();
        match landed.outcome {
            Ok(()) => then.for_each(|each| self.act(each)),
            Err(error) => {
                tracing::error!(%error, "changes of tasks were not stored: starting again from what is");
                for each in then {
                    if let Then::Reply(reply) = each {
                        reply(Err(Error::from(error.clone())));
                    }
                }
            }
        }
    }
}

impl TaskActor {
    pub(super) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Hears what jobs report, many in one turn.
    fn listen(&self, context: &mut Context<Self>) {
        let reports = Arc::clone(&self.runner.reports);
        let heard = async move { reports.heard().await };
        context.spawn(heard.into_actor(self).map(|(), actor, context: &mut Context<Self>| {
            let mut heard = 0;
            while heard < REPORTS
                && let Some(report) = actor.runner.reports.take()
            {
                heard += 1;
                actor.report(report);
            }
            if heard == REPORTS {
                actor.runner.reports.wake();
            }
            actor.flush(context);
            actor.listen(context);
        }));
    }

    /// Does what waited for a decision to be durable.
    fn act(&mut self, then: Then) {
        match then {
            Then::Abort(job) => drop(job),
            Then::Tell(events) => self.options.publisher.publish_transient(events),
            Then::Reply(reply) => reply(Ok(())),
            Then::Forget(id) => drop(self.book.remove(&id)),
            Then::Answered(key) => {
                self.answers.remove(&key);
                self.creating.remove(&key);
            }
            Then::Begin(begin) => {
                let job = self.book.entries.get(&begin.id).and_then(|entry| entry.job.as_ref());
                // Another decision may have dropped it before it began.
                if let Some(job) = job.filter(|job| job.number == begin.job) {
                    let (cancel, slot) = (job.cancel.clone(), Arc::clone(&job.slot));
                    if let Some(tray) = self.runner.trays.find(&begin.id) {
                        self.runner.step(*begin, &tray, cancel, slot);
                    }
                }
            }
        }
    }
}
