//! Configurable settings of tasks, and fixed bounds.

use std::time::Duration;

use serde::Serialize;

/// Maximum back-off between two attempts of a step, unless the provider requests more.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Settings of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSettings {
    /// Maximum number of running tasks.
    pub slots: usize,
    /// Maximum number of running tasks per owner.
    pub per_key: usize,
    /// Maximum number of waiting tasks per owner; further ones are rejected.
    pub queue_per_key: usize,
    /// Maximum number of live tasks over all owners; further ones are rejected as `Unavailable`.
    pub max_live: usize,
    /// Maximum time that a task waits for a slot.
    pub queue_timeout: Duration,
    /// Maximum number of retries of a step, if a retry may help.
    pub retries: u32,
    /// First back-off; doubles with each failure of the step.
    pub first_backoff: Duration,
    /// Number of crashes after which a step fails.
    pub crash_limit: u32,
    /// Maximum number of steps of a task.
    pub max_steps: u32,
    /// Time for which ended tasks are kept.
    pub keep_ended: Duration,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self {
            slots: 64,
            per_key: 8,
            queue_per_key: 1_000,
            max_live: 200_000,
            queue_timeout: Duration::from_secs(24 * 3_600),
            retries: 3,
            first_backoff: Duration::from_millis(500),
            crash_limit: 3,
            max_steps: 256,
            keep_ended: Duration::from_secs(30 * 24 * 3_600),
        }
    }
}

/// Responsiveness of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLatency {
    /// Time from a message to the actor's reply.
    pub actor: Duration,
    /// Time from when a step may begin to when it does.
    pub threads: Duration,
}

impl TaskSettings {
    /// Returns the back-off after the nth failure of a step.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        (self.first_backoff * 2_u32.pow(failures.saturating_sub(1).min(16))).min(MAX_BACKOFF)
    }
}

impl TaskStats {
    /// Returns the number of live tasks.
    pub fn live(&self) -> usize {
        self.pending + self.queued + self.running + self.paused + self.waiting + self.retrying
    }
}

/// Figures for status, metrics and monitors, at most a quarter of a second old.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TaskStats {
    /// Tasks being admitted.
    pub pending: usize,
    /// Tasks waiting for a slot.
    pub queued: usize,
    /// Includes those that pause at their next boundary.
    pub running: usize,
    /// Paused tasks.
    pub paused: usize,
    /// Tasks waiting for an approval, input or an operator.
    pub waiting: usize,
    /// Tasks backing off after a failure.
    pub retrying: usize,
    /// Number of slots, taken or free.
    pub workers: usize,
    /// Tasks that ended, over the last 10 s.
    pub per_second: f64,
    /// Run time of recently ended tasks.
    pub p50_ms: u64,
    /// Run time that 99 of 100 recently ended tasks did not exceed, in milliseconds.
    pub p99_ms: u64,
    /// Tokens written by models, over the last 10 s.
    pub tokens_per_s: f64,
    /// Waiting time of the oldest queued task.
    pub oldest_seconds: u64,
}
