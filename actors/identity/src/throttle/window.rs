//! Attempts of the last minute, with and without shares.

use std::collections::VecDeque;
use std::time::Duration;

use muster_core::Millis;

use super::Standing;

/// Period over which attempts are counted.
pub(super) const WINDOW: Duration = Duration::from_secs(60);

/// Attempts of the last minute.
#[derive(Debug, Clone, Default)]
pub(super) struct Window(VecDeque<Millis>);

impl Window {
    /// Returns how long until another attempt is admitted; `None` means now.
    pub(super) fn wait(&mut self, limit: usize, now: Millis) -> Option<Duration> {
        while self.0.front().is_some_and(|&at| now.since(at) >= WINDOW) {
            self.0.pop_front();
        }
        if self.0.len() < limit {
            return None;
        }
        Some(self.0.front().map_or(WINDOW, |at| at.plus(WINDOW).since(now)))
    }

    pub(super) fn push(&mut self, now: Millis) {
        self.0.push_back(now);
    }
}

/// Attempts of the last minute by standing. Those of a standing and all below it are limited to its share, so that what
/// is left is kept for those above.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedWindow {
    attempts: VecDeque<(Millis, Standing)>,
    counts: [usize; 5],
}

/// Share of each standing, with those below it, in percent.
const SHARES: [usize; 5] = [100, 90, 80, 40, 25];

impl SharedWindow {
    /// Returns how long until an attempt of this standing is admitted; `None` means now.
    pub(super) fn wait(&mut self, limit: usize, standing: Standing, now: Millis) -> Option<Duration> {
        while let Some(&(_, standing)) = self.attempts.front().filter(|(at, _)| now.since(*at) >= WINDOW) {
            self.attempts.pop_front();
            if let Some(count) = self.counts.get_mut(standing as usize) {
                *count -= 1;
            }
        }
        let full = SHARES.iter().enumerate().take(standing as usize + 1).filter(|&(from, share)| {
            let used: usize = self.counts.iter().skip(from).sum();
            used >= (limit.saturating_mul(*share) / 100).max(1)
        });
        let oldest = |from: usize| self.attempts.iter().find(|(_, standing)| *standing as usize >= from);
        full.map(|(from, _)| oldest(from).map_or(WINDOW, |(at, _)| at.plus(WINDOW).since(now))).max()
    }

    pub(super) fn push(&mut self, standing: Standing, now: Millis) {
        self.attempts.push_back((now, standing));
        if let Some(count) = self.counts.get_mut(standing as usize) {
            *count += 1;
        }
    }

    #[cfg(test)]
    pub(super) fn count_of(&self, standing: Standing) -> usize {
        self.counts[standing as usize]
    }
}
