//! Back-off after failures. Pure.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Doubles from 1 s to 60 s.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BackOff {
    failures: u32,
}

impl BackOff {
    /// Records a failure and returns the time to wait.
    pub(super) fn failed(&mut self) -> Duration {
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        wait
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_restart_after_a_success() {
        let mut back_off = BackOff::default();
        let waits: Vec<u64> = (0..8).map(|_| back_off.failed().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        back_off.succeeded();
        assert_eq!(back_off.failed(), Duration::from_secs(1));
    }
}
