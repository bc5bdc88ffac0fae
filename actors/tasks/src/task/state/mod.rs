//! The state machine of a task: contract 4's table. Pure: time is an argument.
//!
//! What happens is an [`Event`] or a control; each changes the task and says what it did in journal entries, or is
//! illegal where the task is, and changes nothing. Where a task belongs (in the queue, in a slot, nowhere), until when
//! it may stay there and which step is being done is read off the task by whoever carries it out.

mod control;
mod ends;
mod recover;
mod run;
#[cfg(test)]
mod tests;
mod time;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(super) use control::Refused;

use super::record::{JournalEntry, Status, StepStatus, TaskError, TaskRecord, Usage};
use super::settings::TaskSettings;
use super::work::{Next, StepError, StepKey};
use muster_core::Millis;

/// A task, with what its running needs and nobody is shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    pub(super) record: TaskRecord,
    pub(super) inner: Inner,
}

/// What is kept beside the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Inner {
    /// Where a pause found it, if resuming leads back there.
    pub(super) back: Option<Status>,
    /// The step that was begun and is not finished.
    pub(super) hand: Option<InHand>,
    /// Since when its run time counts.
    pub(super) clock: Option<Millis>,
    pub(super) paused_at: Option<Millis>,
    /// When it last came into the queue.
    pub(super) enqueued_at: Option<Millis>,
    /// When its back-off is over.
    pub(super) retry_at: Option<Millis>,
    /// What its agent's data say it takes.
    pub(super) default_seconds: u32,
}

/// A step that was begun and is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InHand {
    pub(super) index: u32,
    /// The revision that it was begun in: part of its key, also after a redirect that left it alone.
    pub(super) revision: u32,
    /// From 1.
    pub(super) attempt: u32,
    pub(super) failures: u32,
    pub(super) crashes: u32,
    pub(super) repeatable: bool,
    pub(super) doing: Doing,
}

/// Whether a step in hand is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Doing {
    Now,
    /// It was aborted, failed or lost, and is to be done once more.
    Again,
}

/// What happens to a task, its controls apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    Admitted,
    Vetoed(TaskError),
    /// It is at a boundary: the instructions that wait join, in their order.
    Boundary,
    /// It has a slot, and this comes next.
    Next(Next),
    /// What comes next could not be said.
    Unplanned(StepError),
    StepDone {
        usage: Usage,
        ms: u64,
    },
    StepFailed {
        error: StepError,
        ms: u64,
    },
    /// Its run time is over.
    TimeUp,
    /// It has queued too long.
    QueueTimeUp,
    /// Whoever did its step is gone: the server died under it, and is back.
    Lost,
    /// The server ends: nothing of it runs any more.
    Drained,
}

/// One change of a task: the time and rules it is made by, and what is to be journalled of it.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) now: Millis,
    pub(super) rules: &'a TaskSettings,
    pub(super) entries: Vec<JournalEntry>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(now: Millis, rules: &'a TaskSettings) -> Self {
        Self { now, rules, entries: Vec::new() }
    }
}

/// The event does not happen to a task in this status: nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Illegal(pub(super) Status);

impl Task {
    /// Applies an event.
    ///
    /// # Errors
    /// It cannot happen here.
    pub(super) fn apply(&mut self, event: Event, turn: &mut Turn<'_>) -> Result<(), Illegal> {
        match event {
            Event::Admitted => self.admitted(turn),
            Event::Vetoed(error) => self.vetoed(error, turn),
            Event::Boundary => self.boundary(turn),
            Event::Next(next) => self.next(next, turn),
            Event::Unplanned(error) => self.unplanned(error, turn),
            Event::StepDone { usage, ms } => self.step_done(usage, ms, turn),
            Event::StepFailed { error, ms } => self.step_failed(error, ms, turn),
            Event::TimeUp => self.time_up(turn),
            Event::QueueTimeUp => self.queue_time_up(turn),
            Event::Lost => self.lost(turn),
            Event::Drained => self.drained(turn),
        }
    }

    pub(super) fn status(&self) -> Status {
        self.record.status
    }

    /// The step that is being done.
    pub(super) fn doing(&self) -> Option<&InHand> {
        self.inner.hand.as_ref().filter(|hand| hand.doing == Doing::Now)
    }

    /// The key of the step in hand.
    pub(super) fn key(&self) -> Option<StepKey> {
        let hand = self.inner.hand.as_ref()?;
        Some(StepKey { task_id: self.record.id.clone(), revision: hand.revision, index: hand.index })
    }

    /// Whether an instruction waits for a boundary.
    pub(super) fn instructed(&self) -> bool {
        self.inner.hand.is_none() && self.record.instructions.iter().any(|each| each.joined_after.is_none())
    }

    fn illegal(&self) -> Result<(), Illegal> {
        Err(Illegal(self.record.status))
    }

    fn done(&self) -> u32 {
        self.record.progress.completed_steps
    }

    /// Notes what happened: one more `seq` for each entry.
    fn note(&mut self, turn: &mut Turn<'_>, event: &str, data: Value) {
        self.record.seq += 1;
        turn.entries.push(JournalEntry { seq: self.record.seq, at: turn.now, event: event.to_owned(), data });
    }

    /// Goes to another status; what depends on the status alone goes with it.
    fn go(&mut self, to: Status, reason: &str, turn: &mut Turn<'_>) {
        let from = std::mem::replace(&mut self.record.status, to);
        self.keep_time(from, turn.now);
        if to != Status::Waiting && to != Status::Paused {
            self.record.waiting = None;
        }
        let data = json!({
            "task_id": self.record.id, "agent": self.record.agent, "from": from.name(), "to": to.name(),
            "reason": reason, "revision": self.record.revision,
        });
        self.note(turn, "task.state", data);
    }

    /// Sets the status of the step in hand, and tells it.
    fn step_is(&mut self, status: StepStatus, ms: Option<u64>, turn: &mut Turn<'_>) {
        let Some(hand) = &self.inner.hand else { return };
        let (index, attempt) = (hand.index, hand.attempt);
        let Some(step) = self.record.steps.get_mut(index as usize) else { return };
        step.status = status;
        step.ms = ms;
        step.attempts = attempt;
        let data = json!({
            "task_id": self.record.id, "index": index, "name": step.name, "status": status, "ms": ms, "attempt": attempt,
        });
        self.note(turn, "task.step", data);
    }

    /// Drops the step that is being done: `again` where it is to be done once more.
    fn abort(&mut self, again: Again, turn: &mut Turn<'_>) {
        if self.doing().is_some() {
            self.step_is(StepStatus::Aborted, None, turn);
        }
        match (&mut self.inner.hand, again) {
            (Some(hand), Again::Yes) => hand.doing = Doing::Again,
            (hand, _) => *hand = None,
        }
    }
}

/// Whether an aborted step is to be done once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}
