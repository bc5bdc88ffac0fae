//! The state machine of a task (the table of contract 4). Pure: time is an argument.
//!
//! An [`Event`] or a control changes the task and adds journal entries, or is not possible in the task's status and
//! changes nothing. Where a task belongs (in the queue, in a slot, neither), how long it may stay there, and which step
//! is running are derived from the task by the caller.

mod control;
mod ends;
mod recover;
mod run;
#[cfg(test)]
mod tests;
mod time;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(super) use control::ControlRejection;

use super::executor::{NextAction, StepError, StepKey};
use super::record::{JournalEntry, Status, StepStatus, TaskError, TaskRecord, Usage};
use super::settings::TaskSettings;
use muster_core::Millis;

/// A task with its internal state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    pub(super) record: TaskRecord,
    pub(super) inner: Inner,
}

/// Internal state beside the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Inner {
    /// Status in which a pause found it, if resuming returns there.
    pub(super) back: Option<Status>,
    /// The step that was started and is not finished.
    #[serde(rename = "hand")]
    pub(super) current_step: Option<CurrentStep>,
    /// Start of the current run period.
    pub(super) clock: Option<Millis>,
    pub(super) paused_at: Option<Millis>,
    /// Time at which it was last queued.
    pub(super) enqueued_at: Option<Millis>,
    /// End of its back-off.
    pub(super) retry_at: Option<Millis>,
    /// Default duration of its agent.
    pub(super) default_seconds: u32,
}

/// A step that was started and is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CurrentStep {
    pub(super) index: u32,
    /// The revision in which it was started: part of its key, even after a redirect that did not affect it.
    pub(super) revision: u32,
    /// Counts from 1.
    pub(super) attempt: u32,
    pub(super) failures: u32,
    pub(super) crashes: u32,
    pub(super) repeatable: bool,
    pub(super) doing: StepActivity,
}

/// Whether the step is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum StepActivity {
    Now,
    /// It was aborted, failed or lost, and is to be run again.
    Again,
}

/// An event of a task, other than a control.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    Admitted,
    Vetoed(TaskError),
    /// The task is at a boundary: pending instructions take effect in their order.
    Boundary,
    /// The task has a slot, and this comes next.
    Next(NextAction),
    /// The next action could not be determined.
    Unplanned(StepError),
    StepDone {
        usage: Usage,
        ms: u64,
    },
    StepFailed {
        error: StepError,
        ms: u64,
    },
    /// Its run time limit is reached.
    TimeUp,
    /// Its queue time limit is reached.
    QueueTimeUp,
    /// Its runner is gone: the server crashed and has restarted.
    Lost,
    /// The server shuts down: nothing of the task runs any more.
    Drained,
}

/// Context of a transition: its time and rules, and the journal entries it produces.
#[derive(Debug)]
pub(super) struct Transition<'a> {
    pub(super) now: Millis,
    pub(super) rules: &'a TaskSettings,
    pub(super) entries: Vec<JournalEntry>,
}

impl<'a> Transition<'a> {
    pub(super) fn new(now: Millis, rules: &'a TaskSettings) -> Self {
        Self { now, rules, entries: Vec::new() }
    }
}

/// The event is not possible in this status; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Illegal(pub(super) Status);

impl Task {
    /// Applies an event.
    ///
    /// # Errors
    ///
    /// Fails if the event is not possible in the current status.
    pub(super) fn apply(&mut self, event: Event, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        match event {
            Event::Admitted => self.admitted(transition),
            Event::Vetoed(error) => self.vetoed(error, transition),
            Event::Boundary => self.boundary(transition),
            Event::Next(next) => self.next(next, transition),
            Event::Unplanned(error) => self.unplanned(error, transition),
            Event::StepDone { usage, ms } => self.step_done(usage, ms, transition),
            Event::StepFailed { error, ms } => self.step_failed(error, ms, transition),
            Event::TimeUp => self.time_up(transition),
            Event::QueueTimeUp => self.queue_time_up(transition),
            Event::Lost => self.lost(transition),
            Event::Drained => self.drained(transition),
        }
    }

    pub(super) fn status(&self) -> Status {
        self.record.status
    }

    /// Returns the running step.
    pub(super) fn doing(&self) -> Option<&CurrentStep> {
        self.inner.current_step.as_ref().filter(|current_step| current_step.doing == StepActivity::Now)
    }

    /// Returns the key of the current step.
    pub(super) fn key(&self) -> Option<StepKey> {
        let current_step = self.inner.current_step.as_ref()?;
        Some(StepKey { task_id: self.record.id.clone(), revision: current_step.revision, index: current_step.index })
    }

    /// Returns whether an instruction is pending.
    pub(super) fn instructed(&self) -> bool {
        self.inner.current_step.is_none() && self.record.instructions.iter().any(|each| each.joined_after.is_none())
    }

    fn illegal(&self) -> Result<(), Illegal> {
        Err(Illegal(self.record.status))
    }

    fn done(&self) -> u32 {
        self.record.progress.completed_steps
    }

    /// Adds a journal entry, which increments `seq`.
    fn note(&mut self, transition: &mut Transition<'_>, event: &str, data: Value) {
        self.record.seq += 1;
        transition.entries.push(JournalEntry {
            seq: self.record.seq,
            at: transition.now,
            event: event.to_owned(),
            data,
        });
    }

    /// Changes the status and what depends on it.
    fn change_status(&mut self, to: Status, reason: &str, transition: &mut Transition<'_>) {
        let from = std::mem::replace(&mut self.record.status, to);
        self.keep_time(from, transition.now);
        if to != Status::Waiting && to != Status::Paused {
            self.record.waiting = None;
        }
        let data = json!({
            "task_id": self.record.id, "agent": self.record.agent, "from": from.name(), "to": to.name(),
            "reason": reason, "revision": self.record.revision,
        });
        self.note(transition, "task.state", data);
    }

    /// Sets the status of the current step, and adds a journal entry.
    fn set_step_status(&mut self, status: StepStatus, ms: Option<u64>, transition: &mut Transition<'_>) {
        let Some(current_step) = &self.inner.current_step else { return };
        let (index, attempt) = (current_step.index, current_step.attempt);
        let Some(step) = self.record.steps.get_mut(index as usize) else { return };
        step.status = status;
        step.ms = ms;
        step.attempts = attempt;
        let data = json!({
            "task_id": self.record.id, "index": index, "name": step.name, "status": status, "ms": ms, "attempt": attempt,
        });
        self.note(transition, "task.step", data);
    }

    /// Aborts the running step; `again` states whether it is to be run again.
    fn abort(&mut self, again: RunAgain, transition: &mut Transition<'_>) {
        if self.doing().is_some() {
            self.set_step_status(StepStatus::Aborted, None, transition);
        }
        match (&mut self.inner.current_step, again) {
            (Some(current_step), RunAgain::Yes) => current_step.doing = StepActivity::Again,
            (current_step, _) => *current_step = None,
        }
    }
}

/// Whether an aborted step is to be run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunAgain {
    Yes,
    No,
}
