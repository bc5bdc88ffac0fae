//! What the rest of the house holds of tasks.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use tokio::sync::watch;
use tokio::time::Instant;

use super::actor::{Shared, TaskActor, TaskOptions, load};
use super::create::{Accepted, Create};
use super::history;
use super::jobs::next_of;
use super::messages::{
    Asker, BulkOutcome, BulkReply, Control, ControlReply, DryRun, Filter, NewTask, RedirectMode, Verb,
};
use super::new::{self, Fresh};
use super::operate::{Operate, OperateMany};
use super::reads::{Get, ListLive, Match, Snapshot, Watch, Watched};
use super::record::{JournalEntry, Status, TaskRecord};
use super::recovery::EndInOrder;
use super::settings::{Pulse, TaskStats};
use super::stored;
use super::tray::{LogLine, Trays};
use super::work::Admission;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageAsk};
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Error, Kind};
use muster_feed::{Denied, SnapshotAsk, SnapshotSource};

/// Calls that may wait for the actor at a time.
const CALLS: usize = 8_192;
/// How long a call waits for the disk behind the actor.
const PATIENCE: Duration = Duration::from_secs(15);
/// Most tasks of one bulk control.
const MAX_BULK: usize = 10_000;
/// Tasks of a bulk control in one turn of the actor: others go between.
const BULK_TURN: usize = 64;
/// How long an actor that is down is let alone.
const REST: Duration = Duration::from_millis(50);
/// Longest wait for a change.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Agents' tasks. Cheap to clone.
#[derive(Clone)]
pub struct Tasks {
    handle: Handle<TaskActor>,
    options: TaskOptions,
    trays: Arc<Trays>,
    stats: watch::Receiver<TaskStats>,
    /// The newest identifier's time and number.
    last_id: Arc<AtomicU64>,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tasks").field(&self.handle).finish()
    }
}

fn missing(id: &str) -> Error {
    Error::new(Kind::NotFound, format!("there is no task {id:?}"))
}

impl Tasks {
    /// Starts the actor: await [`Tasks::up`] before serving.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: TaskOptions) -> Self {
        let (stats, published) = watch::channel(TaskStats::default());
        let shared = Shared { trays: Arc::default(), stats, succeeds: Arc::default() };
        let (trays, given) = (Arc::clone(&shared.trays), options.clone());
        let spec = ChildSpec::new("tasks", arbiter, move |_| load(given.clone(), shared.clone())).capacity(CALLS);
        Self { handle: group.start(spec), options, trays, stats: published, last_id: Arc::default() }
    }

    /// Waits until live tasks were read back and the actor answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Begins what [`Tasks::drain`] waits for. Where it cannot be told now, that call does it.
    pub fn begin_drain(&self, grace: Duration) {
        if let Err(error) = self.handle.try_send(EndInOrder { grace }) {
            tracing::warn!(%error, "tasks go on until the server stops");
        }
    }

    /// Ends in order: no step begins any more, those in flight end within the grace or are aborted; everything stays
    /// resumable, and nothing counts as lost by a crash. From then on no task is accepted. Asked again, the grace that is
    /// over first counts.
    ///
    /// # Errors
    /// `Unavailable`: what ran was not noted down, and will count as lost by a crash.
    pub async fn drain(&self, grace: Duration) -> Result<(), Error> {
        self.handle.ask_within(grace + PATIENCE, EndInOrder { grace }).await?
    }

    /// Figures, as of at most a quarter of a second ago. Asks nobody.
    pub fn stats(&self) -> TaskStats {
        self.stats.borrow().clone()
    }

    /// How long the actor takes to answer, and the threads that steps run on to begin something.
    ///
    /// # Errors
    /// `Unavailable`: the one or the other is not there.
    pub async fn pulse(&self) -> Result<Pulse, Error> {
        let begun = Instant::now();
        self.handle.ask_within(PATIENCE, Get { id: String::new() }).await??;
        let (actor, begun) = (begun.elapsed(), Instant::now());
        if let Some(runtime) = &self.options.runtime {
            let gone = |_| Error::new(Kind::Unavailable, "the threads that steps run on are gone");
            runtime.spawn(async {}).await.map_err(gone)?;
        }
        Ok(Pulse { actor, threads: begun.elapsed() })
    }

    /// Accepts a task: it is durable when this resolves, and is not lost from then on.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Invalid` for its params; `RateLimited` with the code `QUEUE_FULL`;
    /// `IdempotencyConflict`; `Unavailable`.
    pub async fn run(
        &self,
        new: NewTask,
        asker: &Asker,
        idempotency: Option<Idempotency>,
    ) -> Result<TaskRecord, Error> {
        new::check(&new)?;
        let admission = self.options.work.admit(&new.agent, &new.task, new.params.clone())?;
        let (id, created_at) = new::mint(&self.last_id, self.options.clock.now());
        let Fresh { record, view } = new::fresh(id, created_at, new, asker, &admission);
        // What comes first is said here, off the actor's thread. What fails, fails in the task's own time.
        let first = next_of(&*self.options.work, &view).ok().map(Box::new);
        let default_seconds = admission.default_seconds;
        let create = Create { record: Box::new(record), default_seconds, first, idempotency };
        match self.handle.ask_within(PATIENCE, create).await?? {
            Accepted::New(record) => Ok(*record),
            // The first answer once more: the task as it was accepted.
            Accepted::Before(id) => {
                let record = self.find(&id).await?.ok_or_else(|| missing(&id))?;
                Ok(TaskRecord { status: Status::Pending, ..record })
            }
        }
    }

    async fn find(&self, id: &str) -> Result<Option<TaskRecord>, Error> {
        if let Some(record) = self.handle.ask_within(PATIENCE, Get { id: id.to_owned() }).await?? {
            return Ok(Some(*record));
        }
        Ok(stored::ended(&self.options.store, id)?.map(|task| task.record))
    }

    /// A task, live or ended.
    ///
    /// # Errors
    /// `NotFound`: it is not there, or not for the asker to see.
    pub async fn get(&self, id: &str, asker: &Asker) -> Result<TaskRecord, Error> {
        let record = self.find(id).await?;
        record.filter(|record| asker.may_see(&record.owner.id)).ok_or_else(|| missing(id))
    }

    /// Waits for a task's next change: the one after `after_seq` or, without it, after now. At the end of the time (at
    /// most a minute) it gives the present state, at once where the task has ended.
    ///
    /// # Errors
    /// As [`Tasks::get`].
    pub async fn wait(
        &self,
        id: &str,
        asker: &Asker,
        after_seq: Option<u64>,
        time: Duration,
    ) -> Result<TaskRecord, Error> {
        let until = Instant::now() + time.min(MAX_WAIT);
        let mut after_seq = after_seq;
        loop {
            let watch = Watch { id: id.to_owned(), after_seq, asker: asker.clone() };
            let change = match self.handle.ask_within(PATIENCE, watch).await {
                Ok(watched) => match watched? {
                    Watched::Gone => return self.get(id, asker).await,
                    Watched::Now(record) => return Ok(*record),
                    Watched::Later(change, seq) => {
                        // Should the actor die meanwhile, what its successor does is not missed.
                        after_seq = Some(seq);
                        change
                    }
                },
                Err(down) if Instant::now() + REST >= until => return Err(down.into()),
                // It is being started again.
                Err(_) => {
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            match tokio::time::timeout_at(until, change).await {
                Ok(Ok(record)) => return Ok(*record),
                Ok(Err(_)) => {}
                Err(_) => return self.get(id, asker).await,
            }
        }
    }

    /// A page of the tasks that the asker sees, newest first. A filter that lets little through may give a short page
    /// with a cursor.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, filter: Filter, page: PageAsk, asker: &Asker) -> Result<Page<TaskRecord>, Error> {
        let limit = page.limit.clamp(1, 200);
        let before = page.after;
        let ask = ListLive { filter: filter.clone(), asker: asker.clone(), before: before.clone(), limit: limit + 1 };
        let mut found = self.handle.ask_within(PATIENCE, ask).await??;
        let (store, asker, all) = (Arc::clone(&self.options.store), asker.clone(), limit + 1);
        let read = move || history::list(&store, &filter, &asker, before.as_deref(), all);
        let ended =
            tokio::task::spawn_blocking(read).await.map_err(|_| Error::new(Kind::Internal, "the list broke off"))??;
        // What was not looked at may hold what is newer than the oldest live ones.
        let looked_to = ended.looked_to.filter(|_| ended.records.len() < limit + 1);
        let live: std::collections::HashSet<String> = found.iter().map(|record| record.id.clone()).collect();
        // One that ended between the two questions is in both.
        found.extend(ended.records.into_iter().filter(|record| !live.contains(&record.id)));
        found.sort_unstable_by(|a, b| b.id.cmp(&a.id));
        if let Some(looked_to) = &looked_to {
            found.retain(|record| record.id >= *looked_to);
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let next = if more { found.last().map(|record| record.id.clone()) } else { looked_to };
        Ok(Page { items: found, next })
    }

    /// A task's journal behind that `seq`, in order.
    ///
    /// # Errors
    /// As [`Tasks::get`].
    pub async fn events(&self, id: &str, asker: &Asker, after: u64, limit: usize) -> Result<Vec<JournalEntry>, Error> {
        self.get(id, asker).await?;
        Ok(stored::entries(&self.options.store, id, after, limit.clamp(1, 1_000))?)
    }

    /// The lines that a live task, or one that ended lately, has logged behind the one of that number: at most the last
    /// 2,000 are kept, and none over a restart.
    ///
    /// # Errors
    /// As [`Tasks::get`].
    pub async fn logs(&self, id: &str, asker: &Asker, after: u64, limit: usize) -> Result<Vec<LogLine>, Error> {
        self.get(id, asker).await?;
        Ok(self.trays.find(id).map(|tray| tray.lines(after, limit)).unwrap_or_default())
    }

    /// What the agent that a task is to be given to says of it.
    async fn readmit(&self, id: &str, control: &Control, asker: &Asker) -> Result<Option<Admission>, Error> {
        let Verb::Redirect { mode: RedirectMode::Agent, instruction, agent } = &control.verb else { return Ok(None) };
        let needed = || {
            let (loc, msg) = (["body", "agent"], "is needed to give the task to another agent");
            Error::field(Kind::Invalid, &loc, msg, serde_json::Value::Null)
        };
        let agent = agent.as_deref().ok_or_else(needed)?;
        let record = self.get(id, asker).await?;
        Ok(Some(self.options.work.admit(agent, instruction, record.params)?))
    }

    /// Does what an operator asks; the first phase of the answer is durable when this resolves.
    ///
    /// # Errors
    /// `NotFound`, `Forbidden`; `Conflict` with the present status; `IdempotencyConflict` for another control under the
    /// same `request_id`; `Invalid`; `Unavailable`.
    pub async fn control(&self, id: &str, control: Control, asker: &Asker) -> Result<ControlReply, Error> {
        let asked = Instant::now();
        new::check_control(&control)?;
        let admission = self.readmit(id, &control, asker).await?;
        let operate = Operate { id: id.to_owned(), control, asker: asker.clone(), admission, asked };
        self.handle.ask_within(PATIENCE, operate).await?
    }

    /// The same of many: of the live tasks that the filter lets through and the asker controls, at most 10,000. A dry run
    /// only says which.
    ///
    /// # Errors
    /// `Invalid`, `Unavailable`; what is refused of a single task is in its outcome.
    pub async fn control_many(
        &self,
        filter: Filter,
        control: Control,
        dry_run: DryRun,
        asker: &Asker,
    ) -> Result<BulkReply, Error> {
        new::check_control(&control)?;
        let ask = Match { filter, asker: asker.clone(), limit: MAX_BULK };
        let ids = self.handle.ask_within(PATIENCE, ask).await?;
        let (matched, mut outcomes) = (ids.len(), Vec::new());
        if dry_run == DryRun::Yes {
            let outcomes = ids.into_iter().map(|task_id| BulkOutcome { task_id, phase: None, refused: None }).collect();
            return Ok(BulkReply { matched, outcomes });
        }
        for chunk in ids.chunks(BULK_TURN) {
            outcomes.extend(self.control_chunk(chunk, &control, asker).await?);
        }
        Ok(BulkReply { matched, outcomes })
    }

    async fn control_chunk(&self, ids: &[String], control: &Control, asker: &Asker) -> Result<Vec<BulkOutcome>, Error> {
        if matches!(control.verb, Verb::Redirect { mode: RedirectMode::Agent, .. }) {
            let mut outcomes = Vec::new();
            for id in ids {
                let outcome = self.control(id, control.clone(), asker).await;
                outcomes.push(BulkOutcome::of(id.clone(), outcome));
            }
            return Ok(outcomes);
        }
        let asked = Instant::now();
        let many = OperateMany { ids: ids.to_vec(), control: control.clone(), asker: asker.clone(), asked };
        let answered = self.handle.ask_within(PATIENCE, many).await??;
        Ok(answered.into_iter().map(|(id, outcome)| BulkOutcome::of(id, outcome)).collect())
    }

    /// Deletes what is left of tasks that ended longer ago than they are kept, some at a time; gives how many. For
    /// upkeep.
    ///
    /// # Errors
    /// `Unavailable`: the store refuses.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let (store, now) = (&self.options.store, self.options.clock.now());
        Ok(history::sweep(store, now, self.options.settings.keep_ended).await?)
    }
}

impl SnapshotSource for Tasks {
    fn ask(&self, ask: SnapshotAsk) {
        // A message that cannot be sent is dropped, and says so to the asker as it goes.
        let _ = self.handle.try_send(Snapshot(Some(ask)));
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if let Some(ask) = self.0.take() {
            ask.reply.send(Err(Denied::Unavailable));
        }
    }
}
