//! Recent figures: how many tasks are in which status, how many end, how long they ran.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::record::{Status, Usage};
use super::settings::TaskStats;
use muster_core::Millis;

/// Period over which rates are computed.
const SPAN: Duration = Duration::from_secs(10);
/// Number of recent run times from which percentiles are computed.
const RUNS: usize = 1_024;
/// Maximum number of samples from which rates are computed.
const MAX_SEEN: usize = 65_536;

/// Collects the figures.
#[derive(Debug, Default)]
pub(super) struct Rate {
    counts: HashMap<Status, usize>,
    ends: VecDeque<Millis>,
    tokens: VecDeque<(Millis, u64)>,
    runs: VecDeque<u64>,
    mean_ms: f64,
    ticks: u64,
}

impl Rate {
    /// Counts a tick; returns the number of ticks.
    pub(super) fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    /// Counts a change of status; `None` for a new task. Ended tasks are not counted.
    pub(super) fn status_changed(&mut self, from: Option<Status>, to: Status) {
        if let Some(count) = from.and_then(|from| self.counts.get_mut(&from)) {
            *count = count.saturating_sub(1);
        }
        if !to.ended() {
            *self.counts.entry(to).or_default() += 1;
        }
    }

    /// Counts an ended task with its run time.
    pub(super) fn ended(&mut self, ran_ms: u64, now: Millis) {
        self.ends.push_back(now);
        self.runs.push_back(ran_ms);
        if self.runs.len() > RUNS {
            self.runs.pop_front();
        }
        if self.ends.len() > MAX_SEEN {
            self.ends.pop_front();
        }
        let ran = ran_ms as f64;
        self.mean_ms = if self.mean_ms == 0.0 { ran } else { self.mean_ms * 0.95 + ran * 0.05 };
    }

    /// Counts tokens written by a model.
    pub(super) fn tokens_written(&mut self, usage: Usage, now: Millis) {
        if usage.completion > 0 {
            self.tokens.push_back((now, usage.completion));
            if self.tokens.len() > MAX_SEEN {
                self.tokens.pop_front();
            }
        }
    }

    /// Returns the mean run time of recent tasks.
    pub(super) fn mean_run(&self) -> Duration {
        Duration::from_millis(self.mean_ms.round() as u64)
    }

    /// Returns the figures at this time.
    pub(super) fn stats(&mut self, now: Millis) -> TaskStats {
        while self.ends.front().is_some_and(|at| now.since(*at) >= SPAN) {
            self.ends.pop_front();
        }
        while self.tokens.front().is_some_and(|(at, _)| now.since(*at) >= SPAN) {
            self.tokens.pop_front();
        }
        let mut runs: Vec<u64> = self.runs.iter().copied().collect();
        runs.sort_unstable();
        let at = |hundredths: usize| runs.get((runs.len() * hundredths / 100).min(runs.len().saturating_sub(1)));
        let count = |status| self.counts.get(&status).copied().unwrap_or(0);
        let tokens: u64 = self.tokens.iter().map(|(_, tokens)| tokens).sum();
        TaskStats {
            pending: count(Status::Pending),
            queued: count(Status::Queued),
            running: count(Status::Running) + count(Status::Pausing),
            paused: count(Status::Paused),
            waiting: count(Status::Waiting),
            retrying: count(Status::Retrying),
            workers: 0,
            per_second: self.ends.len() as f64 / SPAN.as_secs_f64(),
            p50_ms: at(50).copied().unwrap_or(0),
            p99_ms: at(99).copied().unwrap_or(0),
            tokens_per_s: tokens as f64 / SPAN.as_secs_f64(),
            oldest_seconds: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_cover_ten_seconds_and_counts_are_current() {
        let mut rate = Rate::default();
        rate.status_changed(None, Status::Pending);
        rate.status_changed(Some(Status::Pending), Status::Running);
        rate.status_changed(None, Status::Queued);
        for n in 0..100 {
            rate.ended(n, Millis(n * 100));
        }
        rate.tokens_written(Usage { completion: 50, ..Usage::default() }, Millis(9_000));
        let stats = rate.stats(Millis(10_000));
        assert_eq!((stats.queued, stats.running, stats.pending), (1, 1, 0));
        assert_eq!((stats.p50_ms, stats.p99_ms), (50, 99));
        assert!((stats.per_second - 9.9).abs() < 1e-9, "the one at 0 s is ten seconds old: {}", stats.per_second);
        assert!((stats.tokens_per_s - 5.0).abs() < 1e-9);
        rate.status_changed(Some(Status::Running), Status::Succeeded);
        let later = rate.stats(Millis(60_000));
        assert_eq!((later.running, later.per_second), (0, 0.0));
    }
}
