//! The end of tasks, and of their pending controls.

use serde_json::json;

use super::{RunAgain, Task, Transition};
use crate::task::messages::Outcome;
use crate::task::record::{ControlRecord, Status, TaskError};
use muster_core::Millis;

/// Time for which a settled control is kept in the record.
const KEPT_MS: u64 = 24 * 3_600 * 1_000;
/// Maximum number of settled controls in the record: the newest.
const MAX_SETTLED: usize = 32;

impl Task {
    /// Ends the task with an error.
    pub(super) fn fail(&mut self, to: Status, code: &str, detail: String, transition: &mut Transition<'_>) {
        self.record.error = Some(TaskError { error_code: code.to_owned(), detail });
        self.end(to, code, Outcome::Missed, transition);
    }

    /// Ends the task: nothing of it runs any more, and every pending control ends too.
    pub(super) fn end(&mut self, to: Status, reason: &str, outcome: Outcome, transition: &mut Transition<'_>) {
        self.abort(RunAgain::No, transition);
        self.settle_all(outcome, transition);
        self.inner.back = None;
        self.change_status(to, reason, transition);
        self.progressed(Some(to.name()), transition.now);
        self.note(transition, "task.end", json!({ "task_id": self.record.id, "status": to.name() }));
    }

    /// Records an accepted control.
    pub(super) fn accept(&mut self, control: ControlRecord, now: Millis) {
        let old = |each: &ControlRecord| each.outcome.is_some() && now.0.saturating_sub(each.at.0) >= KEPT_MS;
        self.record.controls.retain(|each| !old(each));
        while self.record.controls.iter().filter(|each| each.outcome.is_some()).count() >= MAX_SETTLED {
            let Some(oldest) = self.record.controls.iter().position(|each| each.outcome.is_some()) else { break };
            self.record.controls.remove(oldest);
        }
        self.record.controls.push(control);
    }

    /// Ends the pending controls for which `which` returns true.
    pub(super) fn settle(
        &mut self,
        outcome: Outcome,
        transition: &mut Transition<'_>,
        which: impl Fn(&ControlRecord) -> bool,
    ) {
        let mut settled = Vec::new();
        for control in self.record.controls.iter_mut().filter(|each| each.outcome.is_none() && which(each)) {
            control.outcome = Some(outcome);
            settled.push((control.request_id.clone(), control.verb.name()));
        }
        for (request_id, verb) in settled {
            let event = match outcome {
                Outcome::Applied => "control.applied",
                Outcome::Superseded => "control.superseded",
                Outcome::Missed => "control.missed",
            };
            let data = json!({ "task_id": self.record.id, "idem": request_id, "verb": verb, "outcome": outcome });
            self.note(transition, event, data);
        }
    }

    pub(super) fn settle_all(&mut self, outcome: Outcome, transition: &mut Transition<'_>) {
        self.settle(outcome, transition, |_| true);
    }

    pub(super) fn settle_one(&mut self, request_id: &str, outcome: Outcome, transition: &mut Transition<'_>) {
        self.settle(outcome, transition, |each| each.request_id == request_id);
    }
}
