//! When a dead actor is started again, and when that is given up. Pure: time is an argument.

use std::collections::VecDeque;
use std::time::Duration;

/// How much dying is borne.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// More failures than this within `window` escalate to the parent.
    pub max_restarts: usize,
    pub window: Duration,
    /// The first back-off; doubles with each failure inside the window.
    pub first_backoff: Duration,
    pub max_backoff: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_restarts: 5,
            window: Duration::from_secs(60),
            first_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(5),
        }
    }
}

impl Policy {
    /// For a group: its children's own back-offs lie between two of its failures, so its window is longer.
    pub fn of_group() -> Self {
        Self { max_restarts: 2, window: Duration::from_secs(600), ..Self::default() }
    }
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    RestartAfter(Duration),
    Escalate,
}

/// The failures of one child that still count.
#[derive(Debug, Clone, Default)]
pub struct Intensity {
    recent: VecDeque<Duration>,
}

impl Intensity {
    /// Notes a failure at `now` (time since any fixed origin) and judges it.
    pub fn failed(&mut self, policy: &Policy, now: Duration) -> Verdict {
        while self.recent.front().is_some_and(|&at| now.saturating_sub(at) >= policy.window) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        if self.recent.len() > policy.max_restarts {
            self.recent.clear();
            return Verdict::Escalate;
        }
        let doublings = u32::try_from(self.recent.len() - 1).unwrap_or(u32::MAX).min(16);
        Verdict::RestartAfter((policy.first_backoff * 2_u32.pow(doublings)).min(policy.max_backoff))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn backs_off_then_escalates_at_the_sixth_failure_in_a_minute() {
        let policy = Policy::default();
        let mut intensity = Intensity::default();
        let verdicts: Vec<_> = (0..6).map(|n| intensity.failed(&policy, Duration::from_secs(n))).collect();
        let after = |ms| Verdict::RestartAfter(Duration::from_millis(ms));
        assert_eq!(verdicts, [after(50), after(100), after(200), after(400), after(800), Verdict::Escalate]);
    }

    proptest! {
        /// However failures fall, those let pass within any window never exceed the bound.
        #[test]
        fn no_window_restarts_more_than_the_bound(gaps in prop::collection::vec(0_u64..40, 1..200)) {
            let policy = Policy::default();
            let mut intensity = Intensity::default();
            let (mut now, mut passed) = (Duration::ZERO, Vec::new());
            for gap in gaps {
                now += Duration::from_secs(gap);
                match intensity.failed(&policy, now) {
                    Verdict::Escalate => passed.clear(),
                    Verdict::RestartAfter(wait) => {
                        prop_assert!(wait >= policy.first_backoff && wait <= policy.max_backoff);
                        passed.push(now);
                        let inside = passed.iter().filter(|&&at| now - at < policy.window).count();
                        prop_assert!(inside <= policy.max_restarts);
                    }
                }
            }
        }
    }
}
