//! Running a task: admission, start, steps, end.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CurrentStep, Event, Illegal, StepActivity, Task, Transition};
use crate::task::executor::{NextAction, Retry, StepError, StepSpec};
use crate::task::messages::{Outcome, Verb};
use crate::task::record::{Status, StepRecord, StepStatus, TaskError, Usage, Waiting};

impl Task {
    /// Accepts the task, which creates the first entry of its journal.
    pub(in crate::task) fn accepted(&mut self, transition: &mut Transition<'_>) {
        let data = json!({
            "task_id": self.record.id, "agent": self.record.agent, "from": null, "to": Status::Pending.name(),
            "reason": "accepted", "revision": self.record.revision,
            "instruction": self.record.latest_instruction(),
        });
        self.note(transition, "task.state", data);
    }

    pub(super) fn admitted(&mut self, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        if self.record.status != Status::Pending {
            return self.illegal();
        }
        self.change_status(Status::Queued, "admitted", transition);
        Ok(())
    }

    pub(super) fn vetoed(&mut self, error: TaskError, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        if self.record.status != Status::Pending {
            return self.illegal();
        }
        self.fail(Status::Rejected, &error.error_code, error.detail, transition);
        Ok(())
    }

    /// Returns whether the task can be planned.
    fn plans(&self) -> bool {
        let at_rest = self.doing().is_none();
        at_rest && matches!(self.record.status, Status::Queued | Status::Running | Status::Retrying)
    }

    pub(super) fn boundary(&mut self, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        if !self.plans() || self.inner.current_step.is_some() {
            return self.illegal();
        }
        let done = self.done();
        let waiting = self.record.instructions.iter_mut().filter(|each| each.joined_after.is_none());
        for instruction in waiting {
            instruction.joined_after = Some(done);
        }
        self.settle(Outcome::Applied, transition, |each| matches!(each.verb, Verb::Redirect { .. }));
        Ok(())
    }

    pub(super) fn next(&mut self, next: NextAction, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        if !self.plans() {
            return self.illegal();
        }
        // A repeated step was planned before: the same view yields the same step.
        match next {
            NextAction::Step(spec) => self.start(&spec, transition),
            NextAction::Done(result) => self.succeed(result, transition),
            NextAction::Wait(waiting) => {
                self.inner.current_step = None;
                self.wait(waiting, transition);
            }
        }
        Ok(())
    }

    fn start(&mut self, spec: &StepSpec, transition: &mut Transition<'_>) {
        if self.inner.current_step.is_none() && self.record.steps.len() >= transition.rules.max_steps as usize {
            let detail = format!("its plan has more than {} steps: reduce the task", transition.rules.max_steps);
            return self.fail(Status::Failed, "STEP_LIMIT", detail, transition);
        }
        if self.record.status != Status::Running {
            self.change_status(Status::Running, "started", transition);
        }
        let (next_index, revision) = (u32::try_from(self.record.steps.len()).unwrap_or(u32::MAX), self.record.revision);
        let current_step = self.inner.current_step.get_or_insert(CurrentStep {
            index: next_index,
            revision,
            attempt: 0,
            failures: 0,
            crashes: 0,
            repeatable: spec.repeatable,
            doing: StepActivity::Again,
        });
        current_step.attempt += 1;
        current_step.doing = StepActivity::Now;
        self.record.attempt = current_step.attempt;
        if current_step.index == next_index {
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
        self.set_step_status(StepStatus::Running, None, transition);
        self.progressed(Some(&spec.name), transition.now);
    }

    fn succeed(&mut self, result: Value, transition: &mut Transition<'_>) {
        if self.record.status != Status::Running {
            self.change_status(Status::Running, "started", transition);
        }
        self.record.result = Some(result);
        self.record.partial = None;
        self.end(Status::Succeeded, "done", Outcome::Missed, transition);
    }

    pub(super) fn wait(&mut self, waiting: Waiting, transition: &mut Transition<'_>) {
        if self.record.status != Status::Running {
            self.change_status(Status::Running, "started", transition);
        }
        let reason = waiting.reason.clone();
        self.record.waiting = Some(waiting);
        self.change_status(Status::Waiting, &reason, transition);
    }

    pub(super) fn unplanned(&mut self, error: StepError, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        if !self.plans() {
            return self.illegal();
        }
        if self.record.status != Status::Running {
            self.change_status(Status::Running, "started", transition);
        }
        self.fail(Status::Failed, error.error_code, error.detail, transition);
        Ok(())
    }

    pub(super) fn step_done(&mut self, usage: Usage, ms: u64, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        if self.doing().is_none() {
            return self.illegal();
        }
        self.record.usage.add(usage);
        self.set_step_status(StepStatus::Succeeded, Some(ms), transition);
        self.inner.current_step = None;
        self.record.partial = None;
        self.record.progress.completed_steps += 1;
        self.progressed(None, transition.now);
        self.pause_if_requested(transition);
        Ok(())
    }

    pub(super) fn step_failed(
        &mut self,
        error: StepError,
        ms: u64,
        transition: &mut Transition<'_>,
    ) -> Result<(), Illegal> {
        let Some(current_step) = self.doing().cloned() else { return self.illegal() };
        self.record.usage.add(error.usage);
        self.set_step_status(StepStatus::Failed, Some(ms), transition);
        let failures = current_step.failures + 1;
        self.inner.current_step = Some(CurrentStep { failures, doing: StepActivity::Again, ..current_step.clone() });
        let wait = match error.retry {
            Retry::Never => None,
            Retry::Soon => Some(transition.rules.backoff(failures)),
            Retry::After(wait) => Some(wait.max(transition.rules.backoff(failures))),
        };
        match wait.filter(|_| failures <= transition.rules.retries) {
            None => self.fail(Status::Failed, error.error_code, error.detail, transition),
            Some(_) if !current_step.repeatable => {
                self.wait_for_operator(&format!("failed: {}", error.detail), transition);
            }
            Some(wait) => self.retry_in(wait, error.error_code, transition),
        }
        Ok(())
    }

    fn retry_in(&mut self, wait: Duration, code: &str, transition: &mut Transition<'_>) {
        let at = Some(transition.now.plus(wait));
        if self.record.status == Status::Pausing {
            self.inner.back = Some(Status::Retrying);
            self.pause_if_requested(transition);
        } else {
            self.change_status(Status::Retrying, code, transition);
        }
        self.inner.retry_at = at;
    }

    /// Waits for an operator: a step that cannot safely be repeated may have taken effect.
    pub(super) fn wait_for_operator(&mut self, kind: &str, transition: &mut Transition<'_>) {
        let detail =
            format!("the step cannot be repeated safely and {kind}. Resume the task to run it again, or kill the task");
        // A requested pause has been reached: nothing of the task runs.
        self.settle(Outcome::Applied, transition, |each| matches!(each.verb, Verb::Pause { .. }));
        self.record.waiting = Some(Waiting { reason: "operator".to_owned(), detail });
        self.change_status(Status::Waiting, "operator", transition);
    }

    /// Applies a requested pause at a boundary.
    pub(super) fn pause_if_requested(&mut self, transition: &mut Transition<'_>) {
        if self.record.status == Status::Pausing {
            self.change_status(Status::Paused, "boundary", transition);
            self.settle(Outcome::Applied, transition, |each| matches!(each.verb, Verb::Pause { .. }));
        }
    }
}

impl From<NextAction> for Event {
    fn from(next: NextAction) -> Self {
        Self::Next(next)
    }
}
