//! Which calls are repeated, and when. Pure.

use std::time::Duration;

use super::random::Random;

const INITIAL: Duration = Duration::from_millis(200);
const MAX: Duration = Duration::from_secs(5);
/// Largest `Retry-After` that is respected.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);

/// Exponential back-off with jitter, so that the devices of a fleet do not reconnect at the same time.
#[derive(Debug, Clone, Default)]
pub(super) struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Returns the time to wait before the next attempt, never less than `retry_after`.
    pub(super) fn next(&mut self, retry_after: Option<Duration>, random: &mut Random) -> Duration {
        let bound = INITIAL.saturating_mul(1 << self.attempts.min(10)).min(MAX);
        self.attempts = self.attempts.saturating_add(1);
        let retry_after = retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
        retry_after + bound.mul_f64(random.between(0.1, 1.0))
    }
}

/// Returns whether the same call may succeed later.
pub(super) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}
