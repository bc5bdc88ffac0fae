//! Actions of people on a job. A person who executes a job may not approve it, nor may its creator.

use serde_json::json;

use super::{Rollout, RolloutEvent};
use crate::firmware::execution::ExecState;
use crate::firmware::job::{AfterAbort, Approval, Decision, GroupState, JobAction, JobState, RollbackRequest};
use muster_core::guard::StepOutcome;
use muster_core::{Error, Kind, Millis};
use muster_identity::Person;

/// Number of approvals of the rollback of a finished job.
const ROLLBACK_APPROVALS: u32 = 2;

impl Rollout {
    /// `outcome` is how the approval of a guarded job stands after a decision; `None` for a job without one, whose
    /// approvals are counted.
    ///
    /// # Errors
    /// `Conflict` with the allowed actions; `Forbidden` if the separation of duties is violated.
    pub fn apply_action(
        &mut self,
        action: JobAction,
        by: &Person,
        note: &str,
        outcome: Option<StepOutcome>,
        now: Millis,
    ) -> Result<(), Error> {
        self.check_allowed(action)?;
        self.check_separation_of_duties(action, by, outcome.is_some())?;
        match action {
            JobAction::Approve | JobAction::Deny => self.decide(action, by, note, outcome, now),
            JobAction::Pause => {
                self.record_executor(by);
                self.job.end_reason = Some(describe("paused", by, note));
                self.become_state(JobState::Paused, "firmware.job.paused", now);
            }
            JobAction::Resume => {
                self.record_executor(by);
                self.resume(now);
            }
            JobAction::Cancel => {
                self.record_executor(by);
                self.cancel(&describe("canceled", by, note), now);
            }
            JobAction::Rollback => {
                if !self.job.kind.changes_firmware() {
                    return Err(Error::new(Kind::Conflict, "such a job installs nothing that could be taken back"));
                }
                self.record_executor(by);
                if self.job.state.is_terminal() {
                    self.request_rollback(by, note, now);
                } else {
                    self.abort(AfterAbort::RollBack, &describe("rolled back", by, note), now);
                }
            }
        }
        Ok(())
    }

    /// Ends the job on behalf of the server, for example because its artifact was revoked.
    pub fn withdraw(&mut self, why: &str, now: Millis) {
        match self.job.state {
            JobState::Scheduled | JobState::RollingOut | JobState::Paused => {
                let back = self.job.policy.auto_rollback && self.job.state != JobState::Scheduled;
                self.abort(if back { AfterAbort::RollBack } else { AfterAbort::Aborted }, why, now);
            }
            // A bad artifact is a reason to roll back, not to give the rollback up.
            JobState::PendingApproval if self.job.rollback.is_none() => self.cancel(why, now),
            _ => {}
        }
    }

    /// Removes the decisions of others than these.
    pub fn keep_decisions(&mut self, decided_by: &[String]) {
        self.job.approvals.retain(|approval| decided_by.contains(&approval.user));
    }

    /// Removes the decisions of others than these, which were withdrawn, and reports that.
    pub fn withdraw_decisions(&mut self, decided_by: &[String], now: Millis) {
        self.keep_decisions(decided_by);
        self.touch_job(now);
        self.changed.events.push(RolloutEvent::Job("firmware.job.progress"));
    }

    /// Ends the wait for an approval that has ended without an execution.
    pub fn end_waiting(&mut self, why: &str, now: Millis) {
        if self.job.state == JobState::PendingApproval {
            self.cancel(why, now);
        }
    }

    fn check_allowed(&self, action: JobAction) -> Result<(), Error> {
        let allowed = self.job.state.allowed_actions();
        if allowed.contains(&action) {
            return Ok(());
        }
        let names: Vec<_> = allowed.iter().map(|action| action.name()).collect();
        let message = format!("a job that is {} takes no `{}`", self.job.state.name(), action.name());
        Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(json!({ "allowed": names })))
    }

    /// The roles of a guarded job are those of its quorum, which a person may cover with any role of the server.
    fn check_separation_of_duties(&self, action: JobAction, by: &Person, is_guarded: bool) -> Result<(), Error> {
        let user = &*by.user_id;
        let forbidden = |code, message: &str| Err(Error::new(Kind::Forbidden, message).coded(code));
        let approved = self.job.approvals.iter().find(|approval| approval.user == user);
        match action {
            JobAction::Approve if self.job.created_by == user => {
                forbidden("creator_cannot_approve", "who made a job cannot approve it: ask another person")
            }
            JobAction::Approve if self.job.executed_by.contains(user) => {
                forbidden("separation_of_duty", "who executes a job cannot approve it")
            }
            JobAction::Approve if !is_guarded && approved.is_some() => {
                forbidden("already_approved", "each person approves once")
            }
            JobAction::Approve if !is_guarded && self.job.approvals.iter().any(|approval| approval.role == by.role) => {
                forbidden(
                    "role_already_approved",
                    "one of your role has approved already: the next approval needs another role",
                )
            }
            JobAction::Pause | JobAction::Resume | JobAction::Cancel | JobAction::Rollback if approved.is_some() => {
                forbidden("separation_of_duty", "who approved a job cannot execute it")
            }
            _ => Ok(()),
        }
    }

    fn decide(&mut self, action: JobAction, by: &Person, note: &str, outcome: Option<StepOutcome>, now: Millis) {
        let decision = if action == JobAction::Approve { Decision::Approved } else { Decision::Denied };
        self.job.approvals.retain(|earlier| outcome.is_none() || earlier.user != *by.user_id);
        self.job.approvals.push(Approval {
            user: by.user_id.to_string(),
            role: by.role,
            decision,
            at: now,
            note: note.to_owned(),
            sha256: self.job.image.as_ref().map(|image| image.sha256.clone()),
        });
        let approved = self.job.approvals.iter().filter(|approval| approval.decision == Decision::Approved).count();
        let (met, ended) = match outcome {
            None => (approved >= self.job.approvals_required as usize, None),
            Some(StepOutcome::Waits) => (false, None),
            Some(StepOutcome::Executed) => (true, None),
            Some(StepOutcome::Ended(why)) => (false, Some(why)),
        };
        if decision == Decision::Denied || ended.is_some() {
            let what = ended.filter(|_| decision != Decision::Denied).unwrap_or_else(|| "denied".to_owned());
            if self.job.rollback.is_some() {
                return self.withdraw_rollback(&describe(&format!("rollback {what}"), by, note), now);
            }
            self.job.end_reason = Some(describe(&what, by, note));
            self.become_state(JobState::Denied, "firmware.job.denied", now);
        } else if met && self.job.rollback.is_some() {
            self.changed.events.push(RolloutEvent::Job("firmware.job.approved"));
            self.become_state(JobState::RollingBack, "firmware.job.rolling_back", now);
            self.find_reverts();
        } else if met {
            self.become_state(JobState::Scheduled, "firmware.job.approved", now);
        } else {
            self.touch_job(now);
            self.changed.events.push(RolloutEvent::Job("firmware.job.approved"));
        }
    }

    fn record_executor(&mut self, by: &Person) {
        self.job.executed_by.insert(by.user_id.to_string());
    }

    /// Resumes the job: failures so far no longer count against the group, because a person has seen them.
    fn resume(&mut self, now: Millis) {
        let current = self.job.current_group as usize;
        let failures = self.groups.get(current).map_or(0, super::ExecutionCounts::failures);
        if let Some(run) = self.job.groups.get_mut(current)
            && run.passed_at.is_none()
        {
            if run.state == GroupState::Failed {
                run.waived = Some(failures);
            }
            run.state = if run.reached_at.is_some() { GroupState::Soaking } else { GroupState::Running };
        }
        self.job.end_reason = None;
        self.become_state(JobState::RollingOut, "firmware.job.resumed", now);
    }

    /// Requests the rollback of a finished job. Its devices work, and return to a lower sequence: like a downgrade it
    /// needs two approvals, which are not those of the rollout.
    fn request_rollback(&mut self, by: &Person, note: &str, now: Millis) {
        self.job.rollback = Some(RollbackRequest {
            requested_by: by.user_id.to_string(),
            requested_at: now,
            from: self.job.state,
            rollout_approvals: std::mem::take(&mut self.job.approvals),
            rollout_approvals_required: self.job.approvals_required,
            finished_at: self.job.finished_at.take(),
        });
        self.job.approvals_required = ROLLBACK_APPROVALS;
        self.job.after = None;
        self.job.end_reason = Some(describe("rollback requested", by, note));
        self.become_state(JobState::PendingApproval, "firmware.job.rollback_requested", now);
    }

    /// Gives the rollback of a finished job up: the job is again what it was.
    fn withdraw_rollback(&mut self, why: &str, now: Millis) {
        let Some(request) = self.job.rollback.take() else { return };
        self.job.end_reason = Some(why.to_owned());
        self.become_state(request.from, "firmware.job.completed", now);
        self.job.approvals = request.rollout_approvals;
        self.job.approvals_required = request.rollout_approvals_required;
        self.job.finished_at = request.finished_at;
    }

    fn cancel(&mut self, why: &str, now: Millis) {
        if self.job.state == JobState::PendingApproval && self.job.rollback.is_some() {
            return self.withdraw_rollback(why, now);
        }
        self.job.end_reason = Some(why.to_owned());
        match self.job.state {
            JobState::RollingOut | JobState::Paused if !self.active.is_empty() => {
                self.abort(AfterAbort::Canceled, why, now);
            }
            JobState::Aborting => {
                self.job.after = Some(AfterAbort::Canceled);
                self.job.keep_reason(now);
                self.touch_job(now);
            }
            JobState::RollingBack => {
                self.to_revert.clear();
                for at in self.active.clone() {
                    self.transition(at, ExecState::Canceled, now);
                }
                self.become_state(JobState::Canceled, "firmware.job.completed", now);
            }
            _ => self.become_state(JobState::Canceled, "firmware.job.completed", now),
        }
    }
}

fn describe(what: &str, by: &Person, note: &str) -> String {
    if note.is_empty() { format!("{what} by {}", by.user_id) } else { format!("{what} by {}: {note}", by.user_id) }
}
