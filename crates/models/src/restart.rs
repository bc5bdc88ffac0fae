//! Restart policy of a dead engine.

use std::collections::VecDeque;
use std::time::Duration;

/// Number of deaths within [`WINDOW`] after which immediate restarts end.
const INTENSITY: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// What to do after a death.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RestartDecision {
    RestartAfter(Duration),
    /// It dies too often: report failure, and retry only after this time.
    GiveUpFor(Duration),
}

/// Tracks the deaths of the last minute. Times are measured from any fixed origin.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    deaths: VecDeque<Duration>,
}

impl Restarts {
    pub(crate) fn died(&mut self, now: Duration) -> RestartDecision {
        while self.deaths.front().is_some_and(|death| now.saturating_sub(*death) > WINDOW) {
            self.deaths.pop_front();
        }
        self.deaths.push_back(now);
        let count = self.deaths.len();
        if count > INTENSITY {
            self.deaths.clear();
            return RestartDecision::GiveUpFor(WINDOW);
        }
        RestartDecision::RestartAfter(FIRST_DELAY * (1 << (count - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_and_the_sixth_crash_in_a_minute_is_final() {
        let mut restarts = Restarts::default();
        let delays: Vec<_> = (0..6).map(|second| restarts.died(Duration::from_secs(second))).collect();
        let after = |millis| RestartDecision::RestartAfter(Duration::from_millis(millis));
        assert_eq!(
            delays,
            [after(100), after(200), after(400), after(800), after(1600), RestartDecision::GiveUpFor(WINDOW)]
        );
    }

    #[test]
    fn old_crashes_do_not_count() {
        let mut restarts = Restarts::default();
        for hour in 0..20 {
            assert_eq!(restarts.died(Duration::from_secs(3600 * hour)), RestartDecision::RestartAfter(FIRST_DELAY));
        }
    }
}
