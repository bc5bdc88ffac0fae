//! Changes due by time: starts, time-outs, cancellation of aborted executions, rollback.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Fit, Rollout, RolloutEvent, fit};
use crate::device::{FirmwareVersion, RolloutTarget};
use crate::firmware::artifact::Manifest;
use crate::firmware::execution::ExecState;
use crate::firmware::job::{AfterAbort, GroupState, JobState};
use muster_core::Millis;

/// Returns whether a device works on no other job.
pub type IsFree<'a> = &'a dyn Fn(&str) -> bool;

impl Rollout {
    /// Applies what is due to at most `most` executions; returns how many it changed. `superseded` are devices whose
    /// firmware a later job has changed, which are not rolled back.
    pub fn advance(&mut self, now: Millis, most: usize, free: IsFree<'_>, superseded: &BTreeSet<Arc<str>>) -> usize {
        let mut moved = self.time_out(now, most);
        loop {
            let before = self.job.state;
            let left = most.saturating_sub(moved);
            match before {
                JobState::Scheduled => self.begin(now),
                JobState::RollingOut => self.evaluate(now),
                JobState::Aborting => {
                    moved += self.clear(now, left);
                    self.settle_abort(now);
                }
                JobState::RollingBack => {
                    self.to_revert.retain(|at| {
                        let device = self.executions.get(*at as usize).map(|execution| &execution.device_id);
                        device.is_some_and(|device| !superseded.contains(device))
                    });
                    moved += self.revert(now, left, free);
                    self.settle_rollback(now);
                }
                state if state.is_terminal() => moved += self.clear(now, left),
                _ => {}
            }
            if self.job.state == before {
                return moved;
            }
        }
    }

    /// Publishes progress, at most once a second.
    pub fn publish_progress(&mut self, now: Millis) {
        if self.progressed && now.0 >= self.progress_published_at.0 + 1_000 {
            (self.progressed, self.progress_published_at) = (false, now);
            self.touch_job(now);
            self.changed.events.push(RolloutEvent::Job("firmware.job.progress"));
        }
    }

    /// Returns the devices that may be notified now, at most `most`: of started groups, within rate and window.
    pub fn candidates(&mut self, now: Millis, most: usize, free: IsFree<'_>) -> Vec<Arc<str>> {
        if self.job.state != JobState::RollingOut || self.queued.is_empty() || !self.is_open(now) {
            return Vec::new();
        }
        let earned = match &self.job.policy.rate {
            Some(rate) => self.credit.earn(rate.per_minute(self.all.of(ExecState::Succeeded)), now) as usize,
            None => most,
        };
        let group = self.job.current_group;
        let begun = self.queued.iter().filter_map(|at| self.at(*at)).take_while(|execution| execution.group <= group);
        let ready = begun.filter(|execution| free(&execution.device_id));
        ready.take(most.min(earned)).map(|execution| Arc::clone(&execution.device_id)).collect()
    }

    /// Notifies the `selected` devices. One that is not among `found` no longer exists.
    pub fn notify_devices(
        &mut self,
        selected: &[Arc<str>],
        found: &[RolloutTarget],
        manifest: Option<&Manifest>,
        now: Millis,
    ) {
        if self.job.state != JobState::RollingOut {
            return;
        }
        self.credit.spend(u32::try_from(selected.len()).unwrap_or(u32::MAX));
        for device in selected {
            let Some(at) = self.index.get(device).copied().filter(|at| self.queued.contains(at)) else { continue };
            match found.iter().find(|target| target.id == *device) {
                Some(target) => self.notify_one(at, target, manifest, now),
                None => {
                    self.set_error(at, "device_gone", "the device is not there any more", now);
                    self.transition(at, ExecState::Removed, now);
                }
            }
        }
    }

    fn notify_one(&mut self, at: u32, device: &RolloutTarget, manifest: Option<&Manifest>, now: Millis) {
        let to = self.job.image.as_ref().map(super::super::job::JobImage::as_version);
        match fit(self.job.kind, manifest, device) {
            Fit::Fits => self.notify(at, device.firmware.current.clone(), to, now),
            // A later attempt finds the device where the first one led: the report of its success was lost.
            Fit::Installed => self.transition(at, ExecState::AlreadyInstalled, now),
            Fit::Unfit(threat, why) => {
                self.notify(at, device.firmware.current.clone(), to, now);
                self.set_error(at, threat.code(), &why, now);
                self.transition(at, ExecState::Failed, now);
            }
            Fit::Gone(code, why) => {
                self.set_error(at, code, &why, now);
                self.transition(at, ExecState::Removed, now);
            }
        }
    }

    fn notify(&mut self, at: u32, from: Option<FirmwareVersion>, to: Option<FirmwareVersion>, now: Millis) {
        self.transition(at, ExecState::Notified, now);
        if let Some(execution) = self.executions.get_mut(at as usize) {
            execution.from = execution.from.take().or(from);
            execution.to = to;
        }
        self.set_deadline(at, now.plus(self.timeout()));
    }

    fn is_open(&self, now: Millis) -> bool {
        self.window.as_ref().is_none_or(|window| window.is_open(now))
    }

    fn begin(&mut self, now: Millis) {
        if self.job.start_at.is_some_and(|at| at > now) || !self.is_open(now) {
            return;
        }
        self.job.started_at = Some(now);
        self.become_state(JobState::RollingOut, "firmware.job.started", now);
        self.begin_group(0, now);
    }

    pub(super) fn begin_group(&mut self, group: u32, now: Millis) {
        self.job.current_group = group;
        if let Some(run) = self.job.groups.get_mut(group as usize) {
            (run.state, run.started_at) = (GroupState::Running, Some(now));
        }
        self.touch_job(now);
        self.changed.events.push(RolloutEvent::Job("firmware.job.group_started"));
    }

    fn time_out(&mut self, now: Millis, most: usize) -> usize {
        let over: Vec<u32> =
            self.deadlines.iter().take_while(|(at, _)| *at <= now).take(most).map(|(_, at)| *at).collect();
        for at in &over {
            self.time_out_one(*at, now);
        }
        over.len()
    }

    fn time_out_one(&mut self, at: u32, now: Millis) {
        let gated = self.job.policy.health_gate.is_some();
        match self.at(at).map(|execution| execution.state) {
            Some(ExecState::Verifying) if gated => {
                self.fail_gate(at, "it did not show within its time that it is well", now);
            }
            Some(state) => {
                let message = format!("nothing came after `{}` within the time of the policy", state.name());
                self.fail_attempt(at, ExecState::TimedOut, "device_timeout", &message, now);
            }
            None => {}
        }
    }

    /// Rolls a device back if the policy says so and its previous version is known; otherwise the execution fails.
    pub(super) fn fail_gate(&mut self, at: u32, why: &str, now: Millis) {
        let back = self.at(at).is_some_and(|execution| execution.from.is_some());
        if self.job.policy.auto_rollback && self.job.kind.changes_firmware() && back {
            self.set_error(at, "health_gate_failed", why, now);
            self.transition(at, ExecState::RollingBack, now);
            self.set_deadline(at, now.plus(self.timeout()));
        } else {
            self.fail_attempt(at, ExecState::Failed, "health_gate_failed", why, now);
        }
    }

    /// Cancels executions that are queued or have changed nothing yet.
    fn clear(&mut self, now: Millis, most: usize) -> usize {
        let harmless = |at: &&u32| self.at(**at).is_some_and(|execution| execution.state.is_harmless());
        let stoppable: Vec<u32> = self.active.iter().filter(harmless).chain(&self.queued).take(most).copied().collect();
        for at in &stoppable {
            self.transition(*at, ExecState::Canceled, now);
        }
        stoppable.len()
    }

    fn settle_abort(&mut self, now: Millis) {
        if !self.queued.is_empty() || !self.active.is_empty() {
            return;
        }
        match self.job.after {
            Some(AfterAbort::RollBack) => {
                self.become_state(JobState::RollingBack, "firmware.job.rolling_back", now);
                self.find_reverts();
                self.settle_rollback(now);
            }
            Some(AfterAbort::Canceled) => self.become_state(JobState::Canceled, "firmware.job.completed", now),
            Some(AfterAbort::Aborted) | None => self.become_state(JobState::Aborted, "firmware.job.aborted", now),
        }
    }

    fn revert(&mut self, now: Millis, most: usize, free: IsFree<'_>) -> usize {
        let able = |at: &&u32| self.at(**at).is_some_and(|execution| free(&execution.device_id));
        let next: Vec<u32> = self.to_revert.iter().filter(able).take(most).copied().collect();
        for at in &next {
            self.to_revert.remove(at);
            if let Some(execution) = self.executions.get_mut(*at as usize) {
                execution.reverted = true;
            }
            self.transition(*at, ExecState::RollingBack, now);
            self.set_deadline(*at, now.plus(self.timeout()));
            if self.at(*at).is_none_or(|execution| execution.from.is_none()) {
                self.set_error(*at, "no_previous", "it is not known what the device ran before", now);
                self.transition(*at, ExecState::Failed, now);
            }
        }
        next.len()
    }

    fn settle_rollback(&mut self, now: Millis) {
        if !self.to_revert.is_empty() || !self.active.is_empty() {
            return;
        }
        let stuck =
            self.executions.iter().any(|execution| execution.reverted && execution.state != ExecState::RolledBack);
        let to = if stuck { JobState::Failed } else { JobState::RolledBack };
        self.become_state(to, "firmware.job.completed", now);
    }
}
