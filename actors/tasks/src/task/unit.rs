//! A transaction: tasks that change together, and the effects once that is durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_store::Op;
use tokio::sync::oneshot;

use super::actor::TaskActor;
use super::events;
use super::felt::Stopwatch;
use super::jobs::What;
use super::record::{JournalEntry, Status};
use super::state::{Event, Illegal, Task, Turn};
use super::stored;
use super::then::{Reply, Then};
use muster_core::event;

/// The changes and effects of one decision.
#[derive(Default)]
pub(super) struct Unit {
    touched: BTreeMap<Arc<str>, Touched>,
    pub(super) ops: Vec<Op>,
    pub(super) aborts: Vec<Then>,
    pub(super) tells: Vec<event::Event>,
    pub(super) begins: Vec<Then>,
    pub(super) replies: Vec<Then>,
}

#[derive(Debug)]
struct Touched {
    entries: Vec<JournalEntry>,
    /// Percentage and finished steps before the change.
    before: (Option<u8>, u32),
}

impl Unit {
    fn touch(&mut self, id: &Arc<str>, before: (Option<u8>, u32), entries: Vec<JournalEntry>) {
        let touched = self.touched.entry(Arc::clone(id)).or_insert_with(|| Touched { entries: Vec::new(), before });
        touched.entries.extend(entries);
    }

    /// Starts stopwatches for the steps that are dropped.
    pub(super) fn time_aborts(&mut self, watch: impl Fn() -> Option<Stopwatch>) {
        for abort in &mut self.aborts {
            if let Then::Abort(job) = abort {
                job.killed = watch();
            }
        }
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        self.replies.push(Then::Reply(reply));
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
        unit: &mut Unit,
        write: Write,
        apply: impl FnOnce(&mut Task, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let now = self.now();
        let entry = self.book.entries.get_mut(id)?;
        let progress = &entry.task.record.progress;
        let before = (progress.percent, progress.completed_steps);
        let mut turn = Turn::new(now, &self.options.settings);
        let done = apply(&mut entry.task, &mut turn);
        if write == Write::Always || !turn.entries.is_empty() {
            unit.touch(id, before, turn.entries);
        }
        self.drop_stale(id, unit);
        Some(done)
    }

    /// Applies an event to a task within a transaction. It has no effect on a task that is gone.
    pub(super) fn happen(&mut self, id: &Arc<str>, unit: &mut Unit, event: Event) -> Result<(), Illegal> {
        self.change(id, unit, Write::IfNoted, |task, turn| task.apply(event, turn)).unwrap_or(Ok(()))
    }

    /// Drops a job that the task no longer needs: planning immediately, a step once that is durable.
    fn drop_stale(&mut self, id: &Arc<str>, unit: &mut Unit) {
        let now = self.now();
        let Some(entry) = self.book.entries.get_mut(id) else { return };
        let Some(job) = entry.job.take() else { return };
        let wanted = match job.what {
            What::Plan => {
                let plans = matches!(entry.task.status(), Status::Queued | Status::Running | Status::Retrying);
                plans && entry.task.doing().is_none() && job.revision == entry.task.record.revision
            }
            What::Step { index, attempt } => {
                entry.task.doing().is_some_and(|doing| doing.index == index && doing.attempt == attempt)
            }
        };
        if wanted {
            entry.job = Some(job);
        } else if let What::Step { .. } = job.what {
            if let Some(tray) = self.runner.trays.find(id) {
                let partial = tray.close();
                entry.task.record.partial = Some(partial).filter(|text| !text.is_empty());
                unit.tells.extend(events::news(&tray, tray.news(), now));
            }
            unit.aborts.push(Then::Abort(job));
        }
    }

    /// Passes a transaction to the journal.
    pub(super) fn seal(&mut self, mut unit: Unit) {
        if unit.is_empty() {
            return;
        }
        let mut then = std::mem::take(&mut unit.aborts);
        let touched = std::mem::take(&mut unit.touched);
        let ids: Vec<Arc<str>> = touched.keys().cloned().collect();
        let mut forget = Vec::new();
        for (id, each) in touched {
            self.seal_task(id, each, &mut unit, &mut forget);
        }
        if !unit.tells.is_empty() {
            then.push(Then::Tell(unit.tells));
        }
        then.extend(unit.begins);
        then.extend(unit.replies);
        then.extend(forget);
        let number = self.journal.push(unit.ops, then);
        for id in ids {
            if let Some(entry) = self.book.entries.get_mut(&id) {
                entry.decided = number;
            }
        }
    }

    fn seal_task(&mut self, id: Arc<str>, touched: Touched, unit: &mut Unit, forget: &mut Vec<Then>) {
        let Touched { entries, before } = touched;
        let now = self.now();
        let Some(entry) = self.book.entries.get_mut(&id) else { return };
        unit.tells.extend(entries.iter().map(|each| events::of(each, (&id, &entry.task.record.agent), &entry.owner)));
        let progress = &entry.task.record.progress;
        if before != (progress.percent, progress.completed_steps) {
            unit.tells.push(events::progress(&entry.task.record, &entry.owner, now));
        }
        if let Err(error) = stored::ops(&mut entry.task, entry.args_apart, entries, &mut unit.ops) {
            // Every part of it is bounded, so this is a bug; continuing would publish what is not stored.
            tracing::error!(task = %id, %error, "a task cannot be stored");
            self.journal.fail();
        }
        if !entry.waiters.is_empty() {
            let record = entry.shown(now);
            for waiter in std::mem::take(&mut entry.waiters) {
                let record = Box::new(record.clone());
                unit.reply(Box::new(move |stored| {
                    // The waiter may be gone; one that gets no reply asks again.
                    let _ = stored.map(|()| waiter.send(record));
                }));
            }
        }
        if entry.task.status().ended() {
            let (ran_ms, status) = (entry.task.record.ran_ms, entry.task.status());
            let agent = entry.task.record.agent.clone();
            self.ended(&agent, status, ran_ms);
            self.runner.trays.retire(&id);
            forget.push(Then::Forget(id));
        }
    }
}

/// Creates a reply that is sent once a transaction is durable, and the future that receives it.
pub(super) fn answer<T: Send + 'static>(
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
