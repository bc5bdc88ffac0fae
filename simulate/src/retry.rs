//! When a call is tried again. Pure.

use std::time::Duration;

use super::random::Random;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);
/// The longest `Retry-After` that is heeded.
const TOLD: Duration = Duration::from_secs(120);

/// Waits that double, each drawn from nothing to its bound, so that a fleet does not come back all at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Backoff {
    tries: u32,
}

impl Backoff {
    /// How long to wait now; `told` is what the server asked for, which is never undercut.
    pub(super) fn next(&mut self, told: Option<Duration>, random: &mut Random) -> Duration {
        let bound = FIRST.saturating_mul(1 << self.tries.min(10)).min(LONGEST);
        self.tries = self.tries.saturating_add(1);
        let told = told.unwrap_or_default().min(TOLD);
        told + bound.mul_f64(random.between(0.1, 1.0))
    }
}

/// Whether an answer says that the same call may succeed later.
pub(super) fn passes(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}
