//! Restart policy: when a dead actor is restarted, and when to give up. Pure: time is an argument.

use std::collections::VecDeque;
use std::time::Duration;

/// Limits of restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Number of restarts within `window` after which a further failure escalates to the parent.
    pub max_restarts: usize,
    /// Period over which restarts are counted.
    pub window: Duration,
    /// First back-off; doubles with each failure inside the window.
    pub first_backoff: Duration,
    /// Maximum back-off.
    pub max_backoff: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            max_restarts: 5,
            window: Duration::from_secs(60),
            first_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(5),
        }
    }
}

impl RestartPolicy {
    /// Returns the policy of a group. Its window is longer, because the back-offs of its children delay its failures.
    pub fn of_group() -> Self {
        Self { max_restarts: 2, window: Duration::from_secs(600), ..Self::default() }
    }
}

/// Decision about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartDecision {
    /// Restart after this back-off.
    RestartAfter(Duration),
    /// Give up and escalate to the parent.
    Escalate,
}

/// Recent failures of a child.
#[derive(Debug, Clone, Default)]
pub struct RestartIntensity {
    recent: VecDeque<Duration>,
}

impl RestartIntensity {
    /// Records a failure at `now` (time since any fixed origin) and decides what to do.
    pub fn failed(&mut self, policy: &RestartPolicy, now: Duration) -> RestartDecision {
        while self.recent.front().is_some_and(|&at| now.saturating_sub(at) >= policy.window) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        if self.recent.len() > policy.max_restarts {
            self.recent.clear();
            return RestartDecision::Escalate;
        }
        let doublings = u32::try_from(self.recent.len() - 1).unwrap_or(u32::MAX).min(16);
        RestartDecision::RestartAfter((policy.first_backoff * 2_u32.pow(doublings)).min(policy.max_backoff))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn backs_off_then_escalates_at_the_sixth_failure_in_a_minute() {
        let policy = RestartPolicy::default();
        let mut intensity = RestartIntensity::default();
        let verdicts: Vec<_> = (0..6).map(|n| intensity.failed(&policy, Duration::from_secs(n))).collect();
        let after = |ms| RestartDecision::RestartAfter(Duration::from_millis(ms));
        assert_eq!(verdicts, [after(50), after(100), after(200), after(400), after(800), RestartDecision::Escalate]);
    }

    proptest! {
        /// For any sequence of failures, the restarts within a window never exceed the bound.
        #[test]
        fn no_window_restarts_more_than_the_bound(gaps in prop::collection::vec(0_u64..40, 1..200)) {
            let policy = RestartPolicy::default();
            let mut intensity = RestartIntensity::default();
            let (mut now, mut passed) = (Duration::ZERO, Vec::new());
            for gap in gaps {
                now += Duration::from_secs(gap);
                match intensity.failed(&policy, now) {
                    RestartDecision::Escalate => passed.clear(),
                    RestartDecision::RestartAfter(wait) => {
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
