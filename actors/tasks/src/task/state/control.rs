//! The four controls: their effect in each status.

use super::{RunAgain, Task, Transition};
use crate::task::executor::{Admission, Instruction};
use crate::task::messages::{Abort, Control, Effective, FirstPhase, Outcome, RedirectMode, Verb};
use crate::task::record::{ControlRecord, Status};

/// Maximum number of redirect instructions of a task.
const MAX_INSTRUCTIONS: usize = 256;
/// Maximum total size of the instructions, in bytes as JSON. A record contains each twice, including its control, and
/// must fit into a value of the store.
const MAX_INSTRUCTIONS_BYTES: usize = 1 << 20;

/// First phase of a control that was not rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::task) struct ControlOutcome {
    pub(in crate::task) phase: FirstPhase,
    pub(in crate::task) effective: Effective,
    pub(in crate::task) abort: Option<Abort>,
}

/// Why a control is rejected. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::task) enum ControlRejection {
    /// The task is at a different `seq` than the request requires.
    SeqMismatch,
    /// The control is not possible in this status; the reason is for people.
    NotPossible(&'static str),
}

const ALREADY: ControlOutcome = ControlOutcome { phase: FirstPhase::Already, effective: Effective::Now, abort: None };

impl Verb {
    /// Returns the name used in the API.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Resume => "resume",
            Self::Kill => "kill",
            Self::Redirect { .. } => "redirect",
        }
    }
}

/// Returns the size of a text as JSON.
fn json_size(text: &str) -> usize {
    serde_json::to_vec(text).map_or(text.len(), |bytes| bytes.len())
}

fn accepted(effective: Effective, abort: Option<Abort>) -> ControlOutcome {
    ControlOutcome { phase: FirstPhase::Accepted, effective, abort }
}

impl Task {
    /// Applies a control. `admission` is that of the new agent if the task is reassigned.
    ///
    /// # Errors
    ///
    /// The control is rejected, and nothing was changed.
    pub(in crate::task) fn control(
        &mut self,
        control: &Control,
        by: &str,
        admission: Option<&Admission>,
        transition: &mut Transition<'_>,
    ) -> Result<ControlOutcome, ControlRejection> {
        if control.if_seq.is_some_and(|seq| seq != self.record.seq) {
            return Err(ControlRejection::SeqMismatch);
        }
        match &control.verb {
            Verb::Pause { now: false } => self.pause(control, by, transition),
            Verb::Pause { now: true } => self.pause_now(control, by, transition),
            Verb::Resume => self.resume(control, by, transition),
            Verb::Kill => self.kill(control, by, transition),
            Verb::Redirect { mode, instruction, agent } => {
                let agent = agent.as_deref().zip(admission);
                self.redirect(control, by, (*mode, instruction, agent), transition)
            }
        }
    }

    fn record_control(&mut self, control: &Control, by: &str, transition: &mut Transition<'_>) {
        let (request_id, verb) = (control.request_id.clone(), control.verb.clone());
        self.accept(
            ControlRecord { request_id, verb, by: by.to_owned(), at: transition.now, outcome: None },
            transition.now,
        );
    }

    /// Drops the step in progress, if any, and returns how.
    fn drop_step(&mut self, again: RunAgain, transition: &mut Transition<'_>) -> Option<Abort> {
        let dropped = self.doing().map(|_| Abort::Dropped);
        self.abort(again, transition);
        dropped
    }

    fn pause(
        &mut self,
        control: &Control,
        by: &str,
        transition: &mut Transition<'_>,
    ) -> Result<ControlOutcome, ControlRejection> {
        match self.record.status {
            Status::Pausing | Status::Paused => Ok(ALREADY),
            Status::Running if self.doing().is_some() => {
                self.record_control(control, by, transition);
                self.change_status(Status::Pausing, "pause", transition);
                Ok(accepted(Effective::Boundary, None))
            }
            _ => self.pause_at_once(control, by, transition),
        }
    }

    fn pause_now(
        &mut self,
        control: &Control,
        by: &str,
        transition: &mut Transition<'_>,
    ) -> Result<ControlOutcome, ControlRejection> {
        match self.record.status {
            Status::Paused => Ok(ALREADY),
            Status::Running | Status::Pausing => {
                self.settle(Outcome::Superseded, transition, |each| matches!(each.verb, Verb::Pause { .. }));
                self.record_control(control, by, transition);
                let abort = self.drop_step(RunAgain::Yes, transition);
                if self.record.status == Status::Running {
                    self.change_status(Status::Pausing, "pause", transition);
                }
                self.pause_if_requested(transition);
                Ok(accepted(Effective::Now, abort))
            }
            _ => self.pause_at_once(control, by, transition),
        }
    }

    /// Pauses a task without a running step immediately, and stores the status to return to.
    fn pause_at_once(
        &mut self,
        control: &Control,
        by: &str,
        transition: &mut Transition<'_>,
    ) -> Result<ControlOutcome, ControlRejection> {
        let back = match self.record.status {
            Status::Queued | Status::Running => None,
            Status::Retrying => Some(Status::Retrying),
            Status::Waiting => Some(Status::Waiting),
            Status::Pending => return Err(ControlRejection::NotPossible("it is being admitted: try again shortly")),
            _ => return Err(ControlRejection::NotPossible("it has ended")),
        };
        self.record_control(control, by, transition);
        self.inner.back = back;
        self.change_status(Status::Paused, "pause", transition);
        self.settle_one(&control.request_id, Outcome::Applied, transition);
        Ok(accepted(Effective::Now, None))
    }

    fn resume(
        &mut self,
        control: &Control,
        by: &str,
        transition: &mut Transition<'_>,
    ) -> Result<ControlOutcome, ControlRejection> {
        let to = match self.record.status {
            Status::Pending | Status::Queued | Status::Running | Status::Retrying => return Ok(ALREADY),
            Status::Pausing => Status::Running,
            Status::Waiting => Status::Queued,
            Status::Paused => match self.inner.back {
                // Pausing has not provided what the task waits for.
                Some(Status::Waiting) => Status::Waiting,
                Some(Status::Retrying) if self.inner.retry_at.is_some_and(|at| at > transition.now) => Status::Retrying,
                _ => Status::Queued,
            },
            _ => return Err(ControlRejection::NotPossible("it has ended")),
        };
        self.settle(Outcome::Superseded, transition, |each| matches!(each.verb, Verb::Pause { .. }));
        self.record_control(control, by, transition);
        self.inner.back = None;
        self.change_status(to, "resume", transition);
        self.settle_one(&control.request_id, Outcome::Applied, transition);
        Ok(accepted(Effective::Now, None))
    }

    fn kill(
        &mut self,
        control: &Control,
        by: &str,
        transition: &mut Transition<'_>,
    ) -> Result<ControlOutcome, ControlRejection> {
        match self.record.status {
            Status::Killed => Ok(ALREADY),
            status if status.ended() => Err(ControlRejection::NotPossible("it has ended")),
            _ => {
                self.settle_all(Outcome::Superseded, transition);
                self.record_control(control, by, transition);
                self.settle_one(&control.request_id, Outcome::Applied, transition);
                let abort = self.drop_step(RunAgain::No, transition);
                self.end(Status::Killed, control.reason.as_deref().unwrap_or("kill"), Outcome::Missed, transition);
                Ok(accepted(Effective::Now, abort))
            }
        }
    }

    fn redirect(
        &mut self,
        control: &Control,
        by: &str,
        (mode, instruction, agent): (RedirectMode, &str, Option<(&str, &Admission)>),
        transition: &mut Transition<'_>,
    ) -> Result<ControlOutcome, ControlRejection> {
        if self.record.status.ended() {
            return Err(ControlRejection::NotPossible("it has ended"));
        }
        if self.record.instructions.len() >= MAX_INSTRUCTIONS {
            return Err(ControlRejection::NotPossible(
                "it has the maximum number of redirect instructions: run a new task",
            ));
        }
        let total = self.record.instructions.iter().map(|each| json_size(&each.text)).sum::<usize>();
        if total + json_size(instruction) > MAX_INSTRUCTIONS_BYTES {
            return Err(ControlRejection::NotPossible(
                "its redirect instructions have the maximum total size: run a new task",
            ));
        }
        if mode == RedirectMode::Agent && agent.is_none() {
            return Err(ControlRejection::NotPossible("no agent is named to which it can be reassigned"));
        }
        self.record_control(control, by, transition);
        self.record.revision += 1;
        self.record.progress.percent = None;
        self.record.instructions.push(Instruction {
            request_id: control.request_id.clone(),
            text: instruction.to_owned(),
            at: transition.now,
            revision: self.record.revision,
            joined_after: None,
        });
        let status = self.record.status;
        self.change_status(status, "redirect", transition);
        let abort = match mode {
            RedirectMode::Steer => {
                self.abandon_paused_step(transition);
                None
            }
            RedirectMode::Interrupt => self.drop_step(RunAgain::No, transition),
            RedirectMode::Agent => {
                if let Some((agent, admission)) = agent {
                    agent.clone_into(&mut self.record.agent);
                    self.record.params = admission.params.clone();
                    self.record.progress.total_steps = admission.total_steps;
                    self.inner.default_seconds = admission.default_seconds;
                }
                self.drop_step(RunAgain::No, transition)
            }
        };
        let effective = self.redirect_status(mode, transition);
        self.progressed(None, transition.now);
        Ok(accepted(effective, abort))
    }

    /// Plans a step dropped by an immediate pause again if an instruction arrived meanwhile; otherwise it would run
    /// unchanged although the operator paused in order to redirect.
    fn abandon_paused_step(&mut self, transition: &mut Transition<'_>) {
        if self.record.status == Status::Paused
            && self.inner.current_step.as_ref().is_some_and(|current_step| current_step.repeatable)
        {
            self.abort(RunAgain::No, transition);
        }
    }

    /// Determines when the instruction of a redirected task takes effect.
    fn redirect_status(&mut self, mode: RedirectMode, transition: &mut Transition<'_>) -> Effective {
        let steer = mode == RedirectMode::Steer;
        match self.record.status {
            // The step is dropped, which is the boundary that the pause waited for.
            Status::Pausing if !steer => {
                self.pause_if_requested(transition);
                Effective::Resume
            }
            Status::Paused if !steer => {
                self.inner.back = None;
                self.record.waiting = None;
                Effective::Resume
            }
            Status::Paused | Status::Pausing => Effective::Resume,
            Status::Waiting => {
                let operator = self.record.waiting.as_ref().is_some_and(|waiting| waiting.reason == "operator");
                if operator && steer {
                    return Effective::Resume;
                }
                self.change_status(Status::Queued, "redirect", transition);
                Effective::Boundary
            }
            Status::Retrying if !steer => {
                self.inner.retry_at = Some(transition.now);
                Effective::Boundary
            }
            Status::Running if !steer => Effective::Now,
            _ => Effective::Boundary,
        }
    }
}
