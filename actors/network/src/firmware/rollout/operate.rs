//! What people do with a job. Who executes never approves, and who made it neither.

use serde_json::json;

use super::{Happened, Rollout};
use crate::firmware::execution::ExecState;
use crate::firmware::job::{Act, After, Approval, Decision, GroupState, JobState};
use muster_core::{Error, Kind, Millis};
use muster_identity::Person;

impl Rollout {
    /// # Errors
    /// `Conflict` with the acts that are allowed now; `Forbidden` where duties must be apart.
    pub fn act(&mut self, act: Act, by: &Person, note: &str, now: Millis) -> Result<(), Error> {
        self.allows(act)?;
        self.duties(act, by)?;
        match act {
            Act::Approve | Act::Deny => self.decide(act, by, note, now),
            Act::Pause => {
                self.executes(by);
                self.job.end_reason = Some(said("paused", by, note));
                self.become_state(JobState::Paused, "firmware.job.paused", now);
            }
            Act::Resume => {
                self.executes(by);
                self.resume(now);
            }
            Act::Cancel => {
                self.executes(by);
                self.cancel(&said("canceled", by, note), now);
            }
            Act::Rollback => {
                if !self.job.kind.changes_firmware() {
                    return Err(Error::new(Kind::Conflict, "such a job installs nothing that could be taken back"));
                }
                self.executes(by);
                self.abort(After::RollBack, &said("rolled back", by, note), now);
            }
        }
        Ok(())
    }

    /// The server itself ends it, such as where its artifact is revoked.
    pub fn withdraw(&mut self, why: &str, now: Millis) {
        match self.job.state {
            JobState::Scheduled | JobState::RollingOut | JobState::Paused => {
                let back = self.job.policy.auto_rollback && self.job.state != JobState::Scheduled;
                self.abort(if back { After::RollBack } else { After::Aborted }, why, now);
            }
            JobState::PendingApproval => self.cancel(why, now),
            _ => {}
        }
    }

    fn allows(&self, act: Act) -> Result<(), Error> {
        let allowed = self.job.state.acts();
        if allowed.contains(&act) {
            return Ok(());
        }
        let names: Vec<_> = allowed.iter().map(|act| act.name()).collect();
        let message = format!("a job that is {} takes no `{}`", self.job.state.name(), act.name());
        Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(json!({ "allowed": names })))
    }

    fn duties(&self, act: Act, by: &Person) -> Result<(), Error> {
        let user = &*by.user_id;
        let forbidden = |code, message: &str| Err(Error::new(Kind::Forbidden, message).coded(code));
        let approved = self.job.approvals.iter().find(|approval| approval.user == user);
        match act {
            Act::Approve if self.job.created_by == user => {
                forbidden("creator_cannot_approve", "who made a job cannot approve it: ask another person")
            }
            Act::Approve if self.job.executed_by.contains(user) => {
                forbidden("separation_of_duty", "who executes a job cannot approve it")
            }
            Act::Approve if approved.is_some() => forbidden("already_approved", "each person approves once"),
            Act::Approve if self.job.approvals.iter().any(|approval| approval.role == by.role) => forbidden(
                "role_already_approved",
                "one of your role has approved already: the next approval needs another role",
            ),
            Act::Pause | Act::Resume | Act::Cancel | Act::Rollback if approved.is_some() => {
                forbidden("separation_of_duty", "who approved a job cannot execute it")
            }
            _ => Ok(()),
        }
    }

    fn decide(&mut self, act: Act, by: &Person, note: &str, now: Millis) {
        let decision = if act == Act::Approve { Decision::Approved } else { Decision::Denied };
        self.job.approvals.push(Approval {
            user: by.user_id.to_string(),
            role: by.role,
            decision,
            at: now,
            note: note.to_owned(),
            sha256: self.job.image.as_ref().map(|image| image.sha256.clone()),
        });
        let approved = self.job.approvals.iter().filter(|approval| approval.decision == Decision::Approved).count();
        if decision == Decision::Denied {
            self.job.end_reason = Some(said("denied", by, note));
            self.become_state(JobState::Denied, "firmware.job.denied", now);
        } else if approved >= self.job.approvals_required as usize {
            self.become_state(JobState::Scheduled, "firmware.job.approved", now);
        } else {
            self.touch_job(now);
            self.changed.happened.push(Happened::Job("firmware.job.approved"));
        }
    }

    fn executes(&mut self, by: &Person) {
        self.job.executed_by.insert(by.user_id.to_string());
    }

    /// Failures up to now do not count against the group any more: somebody has looked at them.
    fn resume(&mut self, now: Millis) {
        let current = self.job.current_group as usize;
        let failures = self.groups.get(current).map_or(0, super::Tally::failures);
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

    fn cancel(&mut self, why: &str, now: Millis) {
        self.job.end_reason = Some(why.to_owned());
        match self.job.state {
            JobState::RollingOut | JobState::Paused if !self.active.is_empty() => {
                self.abort(After::Canceled, why, now);
            }
            JobState::Aborting => {
                self.job.after = Some(After::Canceled);
                self.touch_job(now);
            }
            JobState::RollingBack => {
                self.to_revert.clear();
                for at in self.active.clone() {
                    self.go(at, ExecState::Canceled, now);
                }
                self.become_state(JobState::Canceled, "firmware.job.completed", now);
            }
            _ => self.become_state(JobState::Canceled, "firmware.job.completed", now),
        }
    }
}

fn said(what: &str, by: &Person, note: &str) -> String {
    if note.is_empty() { format!("{what} by {}", by.user_id) } else { format!("{what} by {}: {note}", by.user_id) }
}
