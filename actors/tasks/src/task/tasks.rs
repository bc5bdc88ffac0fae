//! Public interface of tasks.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_store::Batch;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::actor::{Shared, TaskActor, TaskOptions, load};
use super::create::{Accepted, Create};
use super::executor::{Admission, FinishedStep};
use super::history;
use super::jobs::next_of;
use super::messages::{
    BulkOutcome, BulkReply, Control, ControlReply, DryRun, Filter, NewTask, Reach, RedirectMode, Requester, Verb,
};
use super::new::{self, NewRecord};
use super::operate::{Operate, OperateMany};
use super::reads::{Get, ListLive, MatchLive, Snapshot, Watch, Watched};
use super::record::{JournalEntry, Status, TaskRecord};
use super::recovery::Shutdown;
use super::settings::{TaskLatency, TaskStats};
use super::step_output::{LogLine, OutputBuffers};
use super::stored;
use muster_core::audit::AuditEntry;
use muster_core::guard::{self, GuardedAction, Need, Permit};
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::principal::UserRole;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Error, Kind};
use muster_feed::{Denied, SnapshotRequest, SnapshotSource};
use muster_identity::By;
use muster_identity::keys::Role;

/// Maximum number of concurrent calls of the actor.
pub(super) const CALLS: usize = 8_192;
/// Controls that may wait for it beside them.
const CONTROLS: usize = 1_024;
/// Time limit of a call, which includes waiting for the disk.
const CALL_LIMIT: Duration = Duration::from_secs(15);
/// Maximum number of tasks of a bulk control.
const MAX_BULK: usize = 10_000;
/// Number of tasks of a bulk control per message: others are processed in between.
const BULK_CHUNK: usize = 64;
/// Time to wait before calling an actor that is down again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Maximum time to wait for a change.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Agents' tasks. Cheap to clone.
#[derive(Clone)]
pub struct Tasks {
    handle: Handle<TaskActor>,
    options: TaskOptions,
    buffers: Arc<OutputBuffers>,
    stats: watch::Receiver<TaskStats>,
    /// Time and sequence number of the newest identifier.
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
    /// Starts the actor; await [`Tasks::up`] before serving requests.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: TaskOptions) -> Self {
        let (stats, published) = watch::channel(TaskStats::default());
        let shared = Shared { buffers: Arc::default(), stats, succeeds: Arc::default() };
        let (buffers, options_copy) = (Arc::clone(&shared.buffers), options.clone());
        let spec = ChildSpec::new("tasks", arbiter, move |_| load(options_copy.clone(), shared.clone()))
            .capacity(CALLS)
            .reserved(CONTROLS);
        Self { handle: group.start(spec), options, buffers, stats: published, last_id: Arc::default() }
    }

    /// Waits until live tasks are restored and the actor is running.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Begins the drain that [`Tasks::drain`] waits for. If the message cannot be sent now, that call does it.
    pub fn begin_drain(&self, grace: Duration) {
        if let Err(error) = self.handle.try_send(Shutdown { grace }) {
            tracing::warn!(%error, "tasks continue until the server stops");
        }
    }

    /// Shuts down in an orderly way: no further steps begin, and those in progress finish within the grace period or
    /// are aborted; everything remains resumable, and nothing counts as lost by a crash. No task is accepted from then
    /// on. If called again, the earlier end of the grace period applies.
    ///
    /// # Errors
    ///
    /// `Unavailable`: running tasks were not recorded, and will count as lost by a crash.
    pub async fn drain(&self, grace: Duration) -> Result<(), Error> {
        self.handle.control_within(grace + CALL_LIMIT, Shutdown { grace }).await?
    }

    /// Returns figures that are at most a quarter of a second old, without calling the actor.
    pub fn stats(&self) -> TaskStats {
        self.stats.borrow().clone()
    }

    /// Measures the response time of the actor, and the start latency on the threads of steps.
    ///
    /// # Errors
    ///
    /// `Unavailable` if either is not available.
    pub async fn latency(&self) -> Result<TaskLatency, Error> {
        let begun = Instant::now();
        self.handle.ask_within(CALL_LIMIT, Get { id: String::new() }).await??;
        let (actor, begun) = (begun.elapsed(), Instant::now());
        if let Some(runtime) = &self.options.runtime {
            let gone = |_| Error::new(Kind::Unavailable, "the threads of steps are not available");
            runtime.spawn(async {}).await.map_err(gone)?;
        }
        Ok(TaskLatency { actor, threads: begun.elapsed() })
    }

    /// Accepts a task, which is durable when this resolves.
    ///
    /// # Errors
    ///
    /// `NotFound` for an unknown agent, `Invalid` for its params; `RateLimited` with the code `QUEUE_FULL`;
    /// `IdempotencyConflict`; `Unavailable`.
    pub async fn run(
        &self,
        new: NewTask,
        requester: &Requester,
        idempotency: Option<Idempotency>,
    ) -> Result<TaskRecord, Error> {
        new::check(&new)?;
        let admission = self.options.executor.admit(&new.agent, &new.task, new.params.clone())?;
        let (id, created_at) = new::mint(&self.last_id, self.options.clock.now());
        let start = new.start;
        let NewRecord { record, view } = new::new_record(id, created_at, new, requester, &admission);
        // The first step is determined here, outside of the actor's thread. A failure is reported when the task runs.
        let first = next_of(&*self.options.executor, &view).ok().map(Box::new);
        let default_seconds = admission.default_seconds;
        let create = Create { record: Box::new(record), default_seconds, first, start, idempotency };
        match self.handle.ask_within(CALL_LIMIT, create).await?? {
            Accepted::New(record) => Ok(*record),
            // The first reply again: the task as it was accepted.
            Accepted::Before(id) => {
                let record = self.find(&id).await?.ok_or_else(|| missing(&id))?;
                Ok(TaskRecord { status: Status::Pending, ..record })
            }
        }
    }

    async fn find(&self, id: &str) -> Result<Option<TaskRecord>, Error> {
        if let Some(record) = self.handle.ask_within(CALL_LIMIT, Get { id: id.to_owned() }).await?? {
            return Ok(Some(*record));
        }
        Ok(stored::ended(&self.options.store, id)?.map(|task| task.record))
    }

    /// Returns a task, live or ended.
    ///
    /// # Errors
    ///
    /// `NotFound` if it does not exist or is not visible to the principal.
    pub async fn get(&self, id: &str, requester: &Requester) -> Result<TaskRecord, Error> {
        let record = self.find(id).await?;
        record.filter(|record| requester.may_read(&record.owner.id)).ok_or_else(|| missing(id))
    }

    /// Waits for a task's next change: the first one after `after_seq` or, without it, after now. When the time is up
    /// (at most a minute) the current state is returned, immediately if the task has ended.
    ///
    /// # Errors
    ///
    /// As for [`Tasks::get`].
    pub async fn wait(
        &self,
        id: &str,
        requester: &Requester,
        after_seq: Option<u64>,
        time: Duration,
    ) -> Result<TaskRecord, Error> {
        let until = Instant::now() + time.min(MAX_WAIT);
        let mut after_seq = after_seq;
        loop {
            let watch = Watch { id: id.to_owned(), after_seq, requester: requester.clone() };
            let change = match self.handle.ask_within(CALL_LIMIT, watch).await {
                Ok(watched) => match watched? {
                    Watched::Gone => return self.get(id, requester).await,
                    Watched::Now(record) => return Ok(*record),
                    Watched::Later(change, seq) => {
                        // If the actor dies meanwhile, changes made by its successor are not missed.
                        after_seq = Some(seq);
                        change
                    }
                },
                Err(down) if Instant::now() + RETRY_PAUSE >= until => return Err(down.into()),
                // The actor is being restarted.
                Err(_) => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                    continue;
                }
            };
            match tokio::time::timeout_at(until, change).await {
                Ok(Ok(record)) => return Ok(*record),
                Ok(Err(_)) => {}
                Err(_) => return self.get(id, requester).await,
            }
        }
    }

    /// Returns a page of the tasks visible to the principal, newest first. A selective filter may yield a short page
    /// with a cursor.
    ///
    /// # Errors
    ///
    /// `Unavailable`.
    pub async fn list(
        &self,
        filter: Filter,
        page: PageParams,
        requester: &Requester,
    ) -> Result<Page<TaskRecord>, Error> {
        let limit = page.limit.clamp(1, 200);
        let before = page.after;
        let request =
            ListLive { filter: filter.clone(), requester: requester.clone(), before: before.clone(), limit: limit + 1 };
        let mut found = self.handle.ask_within(CALL_LIMIT, request).await??;
        let (store, requester, all) = (Arc::clone(&self.options.store), requester.clone(), limit + 1);
        let read = move || history::list(&store, &filter, &requester, before.as_deref(), all);
        let ended = tokio::task::spawn_blocking(read)
            .await
            .map_err(|_| Error::new(Kind::Internal, "the list could not be read completely"))??;
        // Records that were not examined may be newer than the oldest live tasks.
        let examined_to = ended.examined_to.filter(|_| ended.records.len() < limit + 1);
        let live: std::collections::HashSet<String> = found.iter().map(|record| record.id.clone()).collect();
        // A task that ended between the two queries is in both.
        found.extend(ended.records.into_iter().filter(|record| !live.contains(&record.id)));
        found.sort_unstable_by(|a, b| b.id.cmp(&a.id));
        if let Some(examined_to) = &examined_to {
            found.retain(|record| record.id >= *examined_to);
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let next = if more { found.last().map(|record| record.id.clone()) } else { examined_to };
        Ok(Page { items: found, next })
    }

    /// Returns a task's journal entries after this `seq`, in order.
    ///
    /// # Errors
    ///
    /// As for [`Tasks::get`].
    pub async fn events(
        &self,
        id: &str,
        requester: &Requester,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, Error> {
        self.get(id, requester).await?;
        Ok(stored::entries(&self.options.store, id, after, limit.clamp(1, 1_000))?)
    }

    /// Returns the outputs of a task's finished steps, in order.
    ///
    /// # Errors
    ///
    /// As for [`Tasks::get`].
    pub async fn steps(&self, id: &str, requester: &Requester) -> Result<Vec<FinishedStep>, Error> {
        self.get(id, requester).await?;
        let (store, id) = (Arc::clone(&self.options.store), id.to_owned());
        let read = tokio::task::spawn_blocking(move || stored::steps(&store, &id)).await;
        Ok(read.map_err(|_| Error::new(Kind::Internal, "the steps could not be read"))??)
    }

    /// Returns the log lines of a live or recently ended task after the given line number: at most the last 2,000 are
    /// kept, and none across a restart.
    ///
    /// # Errors
    ///
    /// As for [`Tasks::get`].
    pub async fn logs(&self, id: &str, requester: &Requester, after: u64, limit: usize) -> Result<Vec<LogLine>, Error> {
        self.get(id, requester).await?;
        Ok(self.buffers.find(id).map(|buffer| buffer.lines(after, limit)).unwrap_or_default())
    }

    /// Returns the admission by the agent to which a task is to be reassigned.
    async fn readmit(&self, id: &str, control: &Control, requester: &Requester) -> Result<Option<Admission>, Error> {
        let Verb::Redirect { mode: RedirectMode::Agent, instruction, agent } = &control.verb else { return Ok(None) };
        let needed = || {
            let (loc, msg) = (["body", "agent"], "is required to reassign the task to another agent");
            Error::field(Kind::Invalid, &loc, msg, serde_json::Value::Null)
        };
        let agent = agent.as_deref().ok_or_else(needed)?;
        let live = self.handle.control_within(CALL_LIMIT, Get { id: id.to_owned() }).await??;
        let record = match live {
            Some(record) => Some(*record),
            None => stored::ended(&self.options.store, id)?.map(|task| task.record),
        };
        let record = record.filter(|record| requester.may_read(&record.owner.id)).ok_or_else(|| missing(id))?;
        Ok(Some(self.options.executor.readmit(agent, instruction, &record.task, record.params)?))
    }

    /// Applies a control; the first phase of the reply is durable when this resolves.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Forbidden`; `Conflict` with the current status; `IdempotencyConflict` for another control under the
    /// same `request_id`; `Invalid`; `Unavailable`.
    pub async fn control(&self, id: &str, control: Control, requester: &Requester) -> Result<ControlReply, Error> {
        let received_at = Instant::now();
        new::check_control(&control)?;
        let admission = self.readmit(id, &control, requester).await?;
        let operate = Operate { id: id.to_owned(), control, requester: requester.clone(), admission, received_at };
        self.handle.control_within(CALL_LIMIT, operate).await?
    }

    /// Applies a control to the live tasks that match the filter and that the principal controls, at most 10,000. A dry
    /// run only reports them.
    ///
    /// # Errors
    ///
    /// `Invalid`, `Unavailable`; rejections for single tasks are part of their outcomes.
    pub async fn control_many(
        &self,
        filter: Filter,
        control: Control,
        dry_run: DryRun,
        requester: &Requester,
    ) -> Result<BulkReply, Error> {
        self.control_many_permitted(filter, control, dry_run, requester, None).await
    }

    /// Applies a control to many tasks with the permit of an approval. A kill of many tasks of others needs one
    /// (`tasks.kill`); it is executed before the first task is killed, because a kill of many is no single batch.
    ///
    /// # Errors
    ///
    /// Those of [`Self::control_many`]; `Forbidden` (`approval_required`); `Conflict` (`approval_mismatch`).
    pub async fn control_many_permitted(
        &self,
        filter: Filter,
        control: Control,
        dry_run: DryRun,
        requester: &Requester,
        permit: Option<Permit>,
    ) -> Result<BulkReply, Error> {
        new::check_control(&control)?;
        let own = Requester { reads: Reach::Own, controls: Reach::Own, ..requester.clone() };
        let own = MatchLive { filter: filter.clone(), requester: own, limit: MAX_BULK };
        let request = MatchLive { filter, requester: requester.clone(), limit: MAX_BULK };
        let ids = self.handle.control_within(CALL_LIMIT, request).await?;
        let (matched, mut outcomes) = (ids.len(), Vec::new());
        if dry_run == DryRun::Yes {
            let outcomes = ids.into_iter().map(|task_id| BulkOutcome { task_id, phase: None, refused: None }).collect();
            return Ok(BulkReply { matched, outcomes });
        }
        let threshold = self.options.standing.get().threshold(GuardedAction::TasksKill);
        let many = control.verb == Verb::Kill && u64::try_from(matched).unwrap_or(u64::MAX) > threshold;
        let of_others =
            if many { matched.saturating_sub(self.handle.control_within(CALL_LIMIT, own).await?.len()) } else { 0 };
        self.clear_kill(u64::try_from(of_others).unwrap_or(u64::MAX), threshold, requester, permit).await?;
        for chunk in ids.chunks(BULK_CHUNK) {
            outcomes.extend(self.control_chunk(chunk, &control, requester).await?);
        }
        Ok(BulkReply { matched, outcomes })
    }

    /// Decides whether that many tasks of others may be killed, and executes the approval.
    async fn clear_kill(
        &self,
        of_others: u64,
        threshold: u64,
        requester: &Requester,
        permit: Option<Permit>,
    ) -> Result<(), Error> {
        let need = (of_others > threshold).then(|| Need::new(GuardedAction::TasksKill, "tasks").affecting(of_others));
        let need = need.filter(|_| requester.by != By::System);
        let is_super_admin = match &requester.by {
            By::Person(person) => person.role == UserRole::SuperAdmin,
            By::Key(key) => key.roles.contains(&Role::SuperAdmin),
            By::Device(_) | By::System => false,
        };
        let guarded = need.is_some();
        let by = guard::Requester { id: requester.by.id(), is_super_admin };
        let now = self.options.clock.now();
        let cleared = self.options.standing.get().clear(need, by, permit, now)?;
        if !guarded {
            return Ok(());
        }
        let details = cleared.annotate(json!({ "tasks": of_others }));
        let entry = AuditEntry::new(now, requester.by.id(), "tasks_killed", "tasks", details);
        let (expect, mut ops) = cleared.into_parts();
        ops.push(entry.op()?);
        Ok(self.options.store.commit(Batch { expect, ops }).await?)
    }

    async fn control_chunk(
        &self,
        ids: &[String],
        control: &Control,
        requester: &Requester,
    ) -> Result<Vec<BulkOutcome>, Error> {
        if matches!(control.verb, Verb::Redirect { mode: RedirectMode::Agent, .. }) {
            let mut outcomes = Vec::new();
            for id in ids {
                let outcome = self.control(id, control.clone(), requester).await;
                outcomes.push(BulkOutcome::of(id.clone(), outcome));
            }
            return Ok(outcomes);
        }
        let received_at = Instant::now();
        let many =
            OperateMany { ids: ids.to_vec(), control: control.clone(), requester: requester.clone(), received_at };
        let answered = self.handle.control_within(CALL_LIMIT, many).await??;
        Ok(answered.into_iter().map(|(id, outcome)| BulkOutcome::of(id, outcome)).collect())
    }

    /// Deletes some of the tasks that ended longer ago than they are kept; returns their number. Called periodically.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the store fails.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let (store, now) = (&self.options.store, self.options.clock.now());
        Ok(history::sweep(store, now, self.options.settings.keep_ended).await?)
    }
}

impl SnapshotSource for Tasks {
    fn request(&self, request: SnapshotRequest) {
        // A message that cannot be sent is dropped, which replies to the caller with an error.
        let _ = self.handle.try_send(Snapshot(Some(request)));
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if let Some(request) = self.0.take() {
            request.reply.send(Err(Denied::Unavailable));
        }
    }
}
