//! A transaction: tasks that change together, and the effects once that is durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_store::Op;
use tokio::sync::oneshot;

use super::actor::TaskActor;
use super::effect::{Effect, Reply};
use super::events;
use super::jobs::JobKind;
use super::kill_latency::Stopwatch;
use super::record::{JournalEntry, Status};
use super::state::{Event, Illegal, Task, Transition};
use super::stored;
use muster_core::event;

/// The changes and effects of one decision.
#[derive(Default)]
pub(super) struct Transaction {
    touched: BTreeMap<Arc<str>, Touched>,
    pub(super) ops: Vec<Op>,
    pub(super) aborts: Vec<Effect>,
    pub(super) published_events: Vec<event::Event>,
    pub(super) begins: Vec<Effect>,
    pub(super) replies: Vec<Effect>,
}

#[derive(Debug)]
struct Touched {
    entries: Vec<JournalEntry>,
    /// Percentage and finished steps before the change.
    before: (Option<u8>, u32),
}

impl Transaction {
    fn touch(&mut self, id: &Arc<str>, before: (Option<u8>, u32), entries: Vec<JournalEntry>) {
        let touched = self.touched.entry(Arc::clone(id)).or_insert_with(|| Touched { entries: Vec::new(), before });
        touched.entries.extend(entries);
    }

    /// Starts stopwatches for the steps that are dropped.
    pub(super) fn time_kills(&mut self, watch: impl Fn() -> Option<Stopwatch>) {
        for abort in &mut self.aborts {
            if let Effect::Abort(job) = abort {
                job.killed = watch();
            }
        }
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        self.replies.push(Effect::Reply(reply));
    }

    fn is_empty(&self) -> bool {
        self.touched.is_empty() && self.ops.is_empty() && self.replies.is_empty() && self.aborts.is_empty()
    }
}

/// Whether a task is written without a journal entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    IfNoted,
    Always,
}

impl TaskActor {
    /// Changes a task within a transaction. `None` if it is not live.
    pub(super) fn change<R>(
        &mut self,
        id: &Arc<str>,
        transaction: &mut Transaction,
        write: Write,
        apply: impl FnOnce(&mut Task, &mut Transition<'_>) -> R,
    ) -> Option<R> {
        let now = self.now();
        let entry = self.live.entries.get_mut(id)?;
        let progress = &entry.task.record.progress;
        let before = (progress.percent, progress.completed_steps);
        let mut transition = Transition::new(now, &self.options.settings);
        let done = apply(&mut entry.task, &mut transition);
        if write == Write::Always || !transition.entries.is_empty() {
            transaction.touch(id, before, transition.entries);
        }
        self.drop_stale(id, transaction);
        Some(done)
    }

    /// Applies an event to a task within a transaction. It has no effect on a task that is gone.
    pub(super) fn apply_event(
        &mut self,
        id: &Arc<str>,
        transaction: &mut Transaction,
        event: Event,
    ) -> Result<(), Illegal> {
        self.change(id, transaction, Write::IfNoted, |task, transition| task.apply(event, transition)).unwrap_or(Ok(()))
    }

    /// Drops a job that the task no longer needs: planning immediately, a step once that is durable.
    fn drop_stale(&mut self, id: &Arc<str>, transaction: &mut Transaction) {
        let now = self.now();
        let Some(entry) = self.live.entries.get_mut(id) else { return };
        let Some(job) = entry.job.take() else { return };
        let wanted = match job.kind {
            JobKind::Plan => {
                let plans = matches!(entry.task.status(), Status::Queued | Status::Running | Status::Retrying);
                plans && entry.task.doing().is_none() && job.revision == entry.task.record.revision
            }
            JobKind::Step { index, attempt } => {
                entry.task.doing().is_some_and(|doing| doing.index == index && doing.attempt == attempt)
            }
        };
        if wanted {
            entry.job = Some(job);
        } else if let JobKind::Step { .. } = job.kind {
            if let Some(buffer) = self.runner.buffers.find(id) {
                let partial = buffer.close();
                entry.task.record.partial = Some(partial).filter(|text| !text.is_empty());
                transaction.published_events.extend(events::unpublished(&buffer, buffer.unpublished(), now));
            }
            transaction.aborts.push(Effect::Abort(job));
        }
    }

    /// Passes a transaction to the journal.
    pub(super) fn seal(&mut self, mut transaction: Transaction) {
        if transaction.is_empty() {
            return;
        }
        let mut effects = std::mem::take(&mut transaction.aborts);
        let touched = std::mem::take(&mut transaction.touched);
        let ids: Vec<Arc<str>> = touched.keys().cloned().collect();
        let mut forget = Vec::new();
        for (id, each) in touched {
            self.seal_task(id, each, &mut transaction, &mut forget);
        }
        if !transaction.published_events.is_empty() {
            effects.push(Effect::Publish(transaction.published_events));
        }
        effects.extend(transaction.begins);
        effects.extend(transaction.replies);
        effects.extend(forget);
        let number = self.journal.push(transaction.ops, effects);
        for id in ids {
            if let Some(entry) = self.live.entries.get_mut(&id) {
                entry.decided = number;
            }
        }
    }

    fn seal_task(&mut self, id: Arc<str>, touched: Touched, transaction: &mut Transaction, forget: &mut Vec<Effect>) {
        let Touched { entries, before } = touched;
        let now = self.now();
        let Some(entry) = self.live.entries.get_mut(&id) else { return };
        transaction
            .published_events
            .extend(entries.iter().map(|each| events::of(each, (&id, &entry.task.record.agent), &entry.owner)));
        let progress = &entry.task.record.progress;
        if before != (progress.percent, progress.completed_steps) {
            transaction.published_events.push(events::progress(&entry.task.record, &entry.owner, now));
        }
        if let Err(error) = stored::ops(&mut entry.task, entry.args_apart, entries, &mut transaction.ops) {
            // Every part of it is bounded, so this is a bug; continuing would publish what is not stored.
            tracing::error!(task = %id, %error, "a task cannot be stored");
            self.journal.fail(error);
        }
        if !entry.waiters.is_empty() {
            let record = entry.record_at(now);
            for waiter in std::mem::take(&mut entry.waiters) {
                let record = Box::new(record.clone());
                transaction.reply(Box::new(move |stored| {
                    // The waiter may be gone; one that receives no reply sends its request again.
                    let _ = stored.map(|()| waiter.send(record));
                }));
            }
        }
        if entry.task.status().ended() {
            let (ran_ms, status) = (entry.task.record.ran_ms, entry.task.status());
            let agent = entry.task.record.agent.clone();
            self.ended(&agent, status, ran_ms);
            self.runner.buffers.retire(&id);
            forget.push(Effect::Forget(id));
        }
    }
}

/// Creates a reply that is sent once a transaction is durable, and the future that receives it.
pub(super) fn deferred_reply<T: Send + 'static>(
    value: T,
) -> (Reply, impl Future<Output = Result<T, muster_core::Error>> + Send + use<T>) {
    let (to, from) = oneshot::channel();
    let reply: Reply = Box::new(move |stored: Result<(), muster_core::Error>| {
        // The caller may no longer wait.
        let _ = to.send(stored.map(|()| value));
    });
    let gone = || muster_core::Error::new(muster_core::Kind::Unavailable, "tasks are restarting: try again");
    (reply, async move { from.await.unwrap_or_else(|_| Err(gone().retry_in(std::time::Duration::from_secs(1)))) })
}
