//! Effect of time on a task: run time, deadlines, progress.

use std::time::Duration;

use super::{Task, Transition};
use crate::task::record::{Basis, Status};
use muster_core::Millis;

/// Maximum estimated percentage before the end.
const ESTIMATED_MOST: u64 = 95;

/// Returns whether run time counts in a status. It does during back-off: failing does not extend a task's limit.
const fn counts(status: Status) -> bool {
    matches!(status, Status::Running | Status::Pausing | Status::Retrying)
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

impl Task {
    /// Stops and starts the clocks when the task leaves `from` for its current status.
    pub(super) fn keep_time(&mut self, from: Status, now: Millis) {
        let to = self.record.status;
        if !counts(to) {
            self.stop_clock(now);
        } else if self.inner.clock.is_none() {
            self.start_clock(now);
        }
        if from == Status::Paused
            && let Some(since) = self.inner.paused_at.take()
        {
            self.record.paused_ms += ms(now.since(since));
        }
        match to {
            Status::Paused => self.inner.paused_at = Some(now),
            Status::Queued => {
                if from != Status::Queued {
                    self.inner.enqueued_at = Some(now);
                }
                self.record.queued_at.get_or_insert(now);
            }
            Status::Running => {
                self.record.started_at.get_or_insert(now);
            }
            _ if to.ended() => self.record.finished_at = Some(now),
            _ => {}
        }
        if to != Status::Retrying && to != Status::Paused {
            self.inner.retry_at = None;
        }
    }

    pub(super) fn stop_clock(&mut self, now: Millis) {
        if let Some(since) = self.inner.clock.take() {
            self.record.ran_ms += ms(now.since(since));
        }
        self.record.deadline_at = None;
    }

    pub(super) fn start_clock(&mut self, now: Millis) {
        self.inner.clock = Some(now);
        let left = (u64::from(self.record.timeout_seconds) * 1_000).saturating_sub(self.record.ran_ms);
        self.record.deadline_at = Some(now.plus(Duration::from_millis(left)));
    }

    /// Returns the run time so far, in milliseconds.
    pub(in crate::task) fn ran_ms(&self, now: Millis) -> u64 {
        self.record.ran_ms + self.inner.clock.map_or(0, |since| ms(now.since(since)))
    }

    /// Returns when the passage of time alone requires a transition.
    pub(in crate::task) fn due(&self, queue_timeout: Duration, now: Millis) -> Option<Millis> {
        match self.record.status {
            Status::Queued => self.inner.enqueued_at.map(|at| at.plus(queue_timeout)),
            Status::Running | Status::Pausing => self.record.deadline_at,
            Status::Retrying => {
                let retry = self.inner.retry_at.filter(|at| *at > now);
                retry.into_iter().chain(self.record.deadline_at).min()
            }
            _ => None,
        }
    }

    pub(super) fn time_up(&mut self, transition: &mut Transition<'_>) -> Result<(), super::Illegal> {
        if !counts(self.record.status) || self.ran_ms(transition.now) < u64::from(self.record.timeout_seconds) * 1_000 {
            return self.illegal();
        }
        let detail = format!(
            "it ran for {} s, its time limit: increase timeout_seconds, or reduce the task",
            self.record.timeout_seconds
        );
        self.fail(Status::TimedOut, "TASK_TIMEOUT", detail, transition);
        Ok(())
    }

    pub(super) fn queue_time_up(&mut self, transition: &mut Transition<'_>) -> Result<(), super::Illegal> {
        if self.record.status != Status::Queued {
            return self.illegal();
        }
        let detail = "no slot became free in time: run fewer tasks concurrently, or try again later".to_owned();
        self.fail(Status::TimedOut, "QUEUE_TIMEOUT", detail, transition);
        Ok(())
    }

    /// Updates the progress. Within a revision the percentage never decreases.
    pub(in crate::task) fn progressed(&mut self, phase: Option<&str>, now: Millis) {
        let (ran, status) = (self.ran_ms(now), self.record.status);
        let p50 = self.record.estimate.p50_seconds.max(1) * 1_000;
        let progress = &mut self.record.progress;
        let (percent, basis) = match progress.total_steps {
            Some(total) => {
                let total = u64::from(total.max(progress.completed_steps).max(1));
                (u64::from(progress.completed_steps) * 100 / total, Basis::Measured)
            }
            None => ((ran * 100 / p50).min(ESTIMATED_MOST), Basis::Estimated),
        };
        let most = if status == Status::Succeeded { 100 } else { 99 };
        let percent = if status == Status::Succeeded { 100 } else { percent.min(most) };
        let percent = u8::try_from(percent).unwrap_or(100).max(progress.percent.unwrap_or(0));
        progress.percent = Some(percent);
        progress.basis = basis;
        progress.updated_at = now;
        if let Some(phase) = phase {
            phase.clone_into(&mut progress.phase);
        }
    }
}
