//! Running a task: admission, start, steps, end.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Doing, Event, Illegal, InHand, Task, Turn};
use crate::task::messages::{Outcome, Verb};
use crate::task::record::{Status, StepRecord, StepStatus, TaskError, Usage, Waiting};
use crate::task::work::{Next, Retry, StepError, StepSpec};

impl Task {
    /// Accepts the task, which creates the first entry of its journal.
    pub(in crate::task) fn accepted(&mut self, turn: &mut Turn<'_>) {
        let data = json!({
            "task_id": self.record.id, "agent": self.record.agent, "from": null, "to": Status::Pending.name(),
            "reason": "accepted", "revision": self.record.revision,
        });
        self.note(turn, "task.state", data);
    }

    pub(super) fn admitted(&mut self, turn: &mut Turn<'_>) -> Result<(), Illegal> {
        if self.record.status != Status::Pending {
            return self.illegal();
        }
        self.go(Status::Queued, "admitted", turn);
        Ok(())
    }

    pub(super) fn vetoed(&mut self, error: TaskError, turn: &mut Turn<'_>) -> Result<(), Illegal> {
        if self.record.status != Status::Pending {
            return self.illegal();
        }
        self.fail(Status::Rejected, &error.error_code, error.detail, turn);
        Ok(())
    }

    /// Returns whether the task can be planned.
    fn plans(&self) -> bool {
        let at_rest = self.doing().is_none();
        at_rest && matches!(self.record.status, Status::Queued | Status::Running | Status::Retrying)
    }

    pub(super) fn boundary(&mut self, turn: &mut Turn<'_>) -> Result<(), Illegal> {
        if !self.plans() || self.inner.hand.is_some() {
            return self.illegal();
        }
        let done = self.done();
        let waiting = self.record.instructions.iter_mut().filter(|each| each.joined_after.is_none());
        for instruction in waiting {
            instruction.joined_after = Some(done);
        }
        self.settle(Outcome::Applied, turn, |each| matches!(each.verb, Verb::Redirect { .. }));
        Ok(())
    }

    pub(super) fn next(&mut self, next: Next, turn: &mut Turn<'_>) -> Result<(), Illegal> {
        if !self.plans() {
            return self.illegal();
        }
        // A repeated step was planned before: the same view yields the same step.
        match next {
            Next::Step(spec) => self.start(&spec, turn),
            Next::Done(result) => self.succeed(result, turn),
            Next::Wait(waiting) => {
                self.inner.hand = None;
                self.wait(waiting, turn);
            }
        }
        Ok(())
    }

    fn start(&mut self, spec: &StepSpec, turn: &mut Turn<'_>) {
        if self.inner.hand.is_none() && self.record.steps.len() >= turn.rules.max_steps as usize {
            let detail = format!("its plan has more than {} steps: give it less to do", turn.rules.max_steps);
            return self.fail(Status::Failed, "STEP_LIMIT", detail, turn);
        }
        if self.record.status != Status::Running {
            self.go(Status::Running, "started", turn);
        }
        let (next_index, revision) = (u32::try_from(self.record.steps.len()).unwrap_or(u32::MAX), self.record.revision);
        let hand = self.inner.hand.get_or_insert(InHand {
            index: next_index,
            revision,
            attempt: 0,
            failures: 0,
            crashes: 0,
            repeatable: spec.repeatable,
            doing: Doing::Again,
        });
        hand.attempt += 1;
        hand.doing = Doing::Now;
        self.record.attempt = hand.attempt;
        if hand.index == next_index {
            self.record.steps.push(StepRecord {
                index: next_index,
                name: spec.name.clone(),
                kind: spec.kind,
                status: StepStatus::Running,
                attempts: 0,
                ms: None,
            });
        }
        self.record.partial = None;
        if spec.total_steps.is_some() {
            self.record.progress.total_steps = spec.total_steps;
        }
        self.step_is(StepStatus::Running, None, turn);
        self.progressed(Some(&spec.name), turn.now);
    }

    fn succeed(&mut self, result: Value, turn: &mut Turn<'_>) {
        if self.record.status != Status::Running {
            self.go(Status::Running, "started", turn);
        }
        self.record.result = Some(result);
        self.record.partial = None;
        self.end(Status::Succeeded, "done", Outcome::Missed, turn);
    }

    pub(super) fn wait(&mut self, waiting: Waiting, turn: &mut Turn<'_>) {
        if self.record.status != Status::Running {
            self.go(Status::Running, "started", turn);
        }
        let reason = waiting.reason.clone();
        self.record.waiting = Some(waiting);
        self.go(Status::Waiting, &reason, turn);
    }

    pub(super) fn unplanned(&mut self, error: StepError, turn: &mut Turn<'_>) -> Result<(), Illegal> {
        if !self.plans() {
            return self.illegal();
        }
        if self.record.status != Status::Running {
            self.go(Status::Running, "started", turn);
        }
        self.fail(Status::Failed, error.error_code, error.detail, turn);
        Ok(())
    }

    pub(super) fn step_done(&mut self, usage: Usage, ms: u64, turn: &mut Turn<'_>) -> Result<(), Illegal> {
        if self.doing().is_none() {
            return self.illegal();
        }
        self.use_up(usage);
        self.step_is(StepStatus::Succeeded, Some(ms), turn);
        self.inner.hand = None;
        self.record.partial = None;
        self.record.progress.completed_steps += 1;
        self.progressed(None, turn.now);
        self.pause_if_asked(turn);
        Ok(())
    }

    pub(super) fn step_failed(&mut self, error: StepError, ms: u64, turn: &mut Turn<'_>) -> Result<(), Illegal> {
        let Some(hand) = self.doing().cloned() else { return self.illegal() };
        self.use_up(error.usage);
        self.step_is(StepStatus::Failed, Some(ms), turn);
        let failures = hand.failures + 1;
        self.inner.hand = Some(InHand { failures, doing: Doing::Again, ..hand.clone() });
        let wait = match error.retry {
            Retry::Never => None,
            Retry::Soon => Some(turn.rules.backoff(failures)),
            Retry::After(wait) => Some(wait.max(turn.rules.backoff(failures))),
        };
        match wait.filter(|_| failures <= turn.rules.retries) {
            None => self.fail(Status::Failed, error.error_code, error.detail, turn),
            Some(_) if !hand.repeatable => {
                self.ask_operator(&format!("failed: {}", error.detail), turn);
            }
            Some(wait) => self.retry_in(wait, error.error_code, turn),
        }
        Ok(())
    }

    fn retry_in(&mut self, wait: Duration, code: &str, turn: &mut Turn<'_>) {
        let at = Some(turn.now.plus(wait));
        if self.record.status == Status::Pausing {
            self.inner.back = Some(Status::Retrying);
            self.pause_if_asked(turn);
        } else {
            self.go(Status::Retrying, code, turn);
        }
        self.inner.retry_at = at;
    }

    /// Waits for an operator: a step that cannot safely be repeated may have taken effect.
    pub(super) fn ask_operator(&mut self, what: &str, turn: &mut Turn<'_>) {
        let detail = format!("the step cannot be repeated safely and {what}. Resume to do it again, or kill the task");
        // A requested pause has been reached: nothing of the task runs.
        self.settle(Outcome::Applied, turn, |each| matches!(each.verb, Verb::Pause { .. }));
        self.record.waiting = Some(Waiting { reason: "operator".to_owned(), detail });
        self.go(Status::Waiting, "operator", turn);
    }

    /// Applies a requested pause at a boundary.
    pub(super) fn pause_if_asked(&mut self, turn: &mut Turn<'_>) {
        if self.record.status == Status::Pausing {
            self.go(Status::Paused, "boundary", turn);
            self.settle(Outcome::Applied, turn, |each| matches!(each.verb, Verb::Pause { .. }));
        }
    }

    fn use_up(&mut self, usage: Usage) {
        let total = &mut self.record.usage;
        total.prompt = total.prompt.saturating_add(usage.prompt);
        total.completion = total.completion.saturating_add(usage.completion);
        total.cost_nanos = total.cost_nanos.saturating_add(usage.cost_nanos);
    }
}

impl From<Next> for Event {
    fn from(next: Next) -> Self {
        Self::Next(next)
    }
}
