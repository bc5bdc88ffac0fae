//! What operators may set of tasks, and the bounds that hold everywhere.

use std::time::Duration;

use serde::Serialize;

/// Longest back-off between two attempts of a step, where the provider does not ask for more.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// How tasks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSettings {
    /// Tasks that run at a time.
    pub slots: usize,
    /// Tasks of one owner that run at a time.
    pub per_key: usize,
    /// Tasks of one owner that wait at a time; one more is refused.
    pub queue_per_key: usize,
    /// Tasks that live at a time, over all owners; one more is refused as `Unavailable`.
    pub max_live: usize,
    /// How long a task may wait for a slot.
    pub queue_timeout: Duration,
    /// Attempts of a step after the first, where trying again may help.
    pub retries: u32,
    /// The first back-off; doubles with each failure of the step.
    pub first_backoff: Duration,
    /// A step lost to so many crashes fails.
    pub crash_limit: u32,
    /// Most steps of one task over its life.
    pub max_steps: u32,
    /// How long an ended task can be read.
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

/// How fast tasks can be served now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// From a question to the actor's answer.
    pub actor: Duration,
    /// From when a step may begin to when it does.
    pub threads: Duration,
}

impl TaskSettings {
    /// How long to wait after the nth failure of a step.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        (self.first_backoff * 2_u32.pow(failures.saturating_sub(1).min(16))).min(MAX_BACKOFF)
    }
}

impl TaskStats {
    /// Tasks that live.
    pub fn live(&self) -> usize {
        self.pending + self.queued + self.running + self.paused + self.waiting + self.retrying
    }
}

/// Figures for status, metrics and monitors, as of at most a quarter of a second ago.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TaskStats {
    pub pending: usize,
    pub queued: usize,
    /// Those that pause at their next boundary among them.
    pub running: usize,
    pub paused: usize,
    pub waiting: usize,
    pub retrying: usize,
    /// Slots, taken or free.
    pub workers: usize,
    /// Tasks that ended, over the last 10 s.
    pub per_second: f64,
    /// Run time of tasks that ended lately.
    pub p50_ms: u64,
    pub p99_ms: u64,
    /// Tokens that models wrote, over the last 10 s.
    pub tokens_per_s: f64,
    /// How long the oldest task of the queue has waited.
    pub oldest_seconds: u64,
}
