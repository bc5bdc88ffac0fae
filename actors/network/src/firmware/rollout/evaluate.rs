//! Thresholds: when a group has passed or failed, and when the whole job is finished.

use std::time::Duration;

use super::{Rollout, RolloutEvent};
use crate::firmware::execution::ExecState;
use crate::firmware::job::{AfterAbort, GroupState, JobState};
use crate::firmware::policy::{AbortOn, GroupPolicy, OnError, OnSuccess};
use muster_core::Millis;

/// Progress of the current group.
enum GroupProgress {
    Open,
    /// The success threshold is reached.
    Reached,
    Failed(String),
}

impl Rollout {
    /// Evaluates a job that is rolling out by the states of its executions.
    pub(super) fn evaluate(&mut self, now: Millis) {
        while self.job.state == JobState::RollingOut {
            if let Some(why) = self.broken_rule() {
                let after = if self.job.policy.auto_rollback { AfterAbort::RollBack } else { AfterAbort::Aborted };
                return self.abort(after, &why, now);
            }
            let current = self.job.current_group as usize;
            let Some(run) = self.job.groups.get(current) else { return self.finish(now) };
            let policy = self.job.policy.groups().get(current).cloned().unwrap_or_default();
            let (reached_at, passed) = (run.reached_at, run.passed_at.is_some());
            if passed {
                match current + 1 < self.job.groups.len() {
                    true => self.begin_group(self.job.current_group + 1, now),
                    false => return self.finish(now),
                }
                continue;
            }
            match self.standing(&policy) {
                GroupProgress::Failed(why) => return self.fail_group(policy.on_error, &why, now),
                GroupProgress::Reached => {
                    let since = reached_at.unwrap_or(now);
                    if reached_at.is_none() {
                        self.soak(now);
                    }
                    if now < since.plus(Duration::from_secs(policy.soak_s.into())) {
                        return;
                    }
                    self.pass(policy.on_success, now);
                }
                GroupProgress::Open => return,
            }
        }
    }

    /// Returns the reason if an abort rule applies. Only notified devices count.
    fn broken_rule(&self) -> Option<String> {
        let notified = self.all.counted() - self.all.of(ExecState::Queued);
        self.job.policy.abort.iter().find_map(|rule| {
            let count = match rule.on {
                AbortOn::Failed => self.all.of(ExecState::Failed) + self.all.of(ExecState::RolledBack),
                AbortOn::Rejected => self.all.of(ExecState::Rejected),
                AbortOn::TimedOut => self.all.of(ExecState::TimedOut),
                AbortOn::Any => self.all.failures(),
            };
            let broken = notified >= rule.min_executed && reaches(count, rule.pct, notified);
            broken.then(|| format!("abort rule: {count} of {notified} devices ({:?} at {} %)", rule.on, rule.pct))
        })
    }

    fn standing(&self, policy: &GroupPolicy) -> GroupProgress {
        let current = self.job.current_group as usize;
        let (Some(counts), Some(run)) = (self.groups.get(current), self.job.groups.get(current)) else {
            return GroupProgress::Open;
        };
        let (counted, failures) = (counts.counted(), counts.failures());
        let against = failures.saturating_sub(run.waived.unwrap_or(0));
        if reaches(against, policy.error_threshold_pct, counted) {
            return GroupProgress::Failed(format!("group {}: {failures} of {counted} devices failed", current + 1));
        }
        let succeeded = counts.successes();
        let enough = u64::from(succeeded) * 100 >= u64::from(counted) * u64::from(policy.success_threshold_pct);
        let exhausted = counts.open() == 0;
        match (enough, exhausted) {
            (true, _) => GroupProgress::Reached,
            (false, false) => GroupProgress::Open,
            (false, true) if run.waived.is_some() => GroupProgress::Reached,
            (false, true) => {
                GroupProgress::Failed(format!("group {}: only {succeeded} of {counted} devices succeeded", current + 1))
            }
        }
    }

    fn soak(&mut self, now: Millis) {
        if let Some(run) = self.job.groups.get_mut(self.job.current_group as usize) {
            (run.state, run.reached_at) = (GroupState::Soaking, Some(now));
        }
        self.touch_job(now);
    }

    fn pass(&mut self, on_success: OnSuccess, now: Millis) {
        if let Some(run) = self.job.groups.get_mut(self.job.current_group as usize) {
            (run.state, run.passed_at) = (GroupState::Passed, Some(now));
        }
        self.touch_job(now);
        self.changed.events.push(RolloutEvent::Job("firmware.job.group_passed"));
        let last = self.job.current_group as usize + 1 == self.job.groups.len();
        if on_success == OnSuccess::Pause && !last {
            self.job.end_reason = Some(format!("group {} passed", self.job.current_group + 1));
            self.become_state(JobState::Paused, "firmware.job.paused", now);
        }
    }

    fn fail_group(&mut self, on_error: OnError, why: &str, now: Millis) {
        if let Some(run) = self.job.groups.get_mut(self.job.current_group as usize) {
            run.state = GroupState::Failed;
        }
        match on_error {
            OnError::Pause => {
                self.job.end_reason = Some(why.to_owned());
                self.become_state(JobState::Paused, "firmware.job.paused", now);
            }
            OnError::Abort if !self.job.policy.auto_rollback => self.abort(AfterAbort::Aborted, why, now),
            OnError::Abort | OnError::Rollback => self.abort(AfterAbort::RollBack, why, now),
        }
    }

    /// Aborts the job: no execution starts, active ones finish first.
    pub(super) fn abort(&mut self, after: AfterAbort, why: &str, now: Millis) {
        self.job.end_reason = Some(why.to_owned());
        self.job.after = Some(after);
        self.become_state(JobState::Aborting, "firmware.job.aborting", now);
    }

    /// Finishes a job whose groups have all passed, once its last device is done.
    fn finish(&mut self, now: Millis) {
        if self.all.open() > 0 {
            return;
        }
        let to = match (self.all.successes(), self.all.failures()) {
            (0, _) => JobState::Failed,
            (_, 0) => JobState::Succeeded,
            _ => JobState::PartiallySucceeded,
        };
        self.job.end_reason = (to == JobState::Failed).then(|| "no device succeeded".to_owned());
        self.become_state(to, "firmware.job.completed", now);
    }
}

/// Returns whether `count` is at least one and at least `pct` percent of `of`.
fn reaches(count: u32, pct: u8, of: u32) -> bool {
    count > 0 && u64::from(count) * 100 >= u64::from(of) * u64::from(pct)
}
