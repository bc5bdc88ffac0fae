//! Durations of the latest searches, in constant space. Pure.

use std::time::Duration;

use muster_core::Millis;

/// Number of searches kept.
const KEPT: usize = 1_024;
/// Window of the rate.
const WINDOW: Duration = Duration::from_secs(10);

/// End times and durations of the latest searches.
#[derive(Debug, Default)]
pub(super) struct Timings {
    ring: Vec<(Millis, u32)>,
    /// Total number of searches.
    count: u64,
}

impl Timings {
    pub(super) fn record(&mut self, at: Millis, took: Duration) {
        let search = (at, u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        match self.ring.get_mut(self.count as usize % KEPT) {
            Some(oldest) => *oldest = search,
            None => self.ring.push(search),
        }
        self.count += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Searches per second in the window.
    pub(super) fn per_second(&self, now: Millis) -> f64 {
        let recent = self.ring.iter().filter(|(at, _)| now.since(*at) < WINDOW);
        let (count, longest) =
            recent.fold((0_u32, Duration::ZERO), |(count, longest), (at, _)| (count + 1, longest.max(now.since(*at))));
        // If the ring covers less than the window, it is full of the latest moments.
        let span = if count as usize == KEPT { longest.max(Duration::from_millis(1)) } else { WINDOW };
        f64::from(count) / span.as_secs_f64()
    }

    /// Durations in microseconds, unordered.
    pub(super) fn latest(&self) -> Vec<u32> {
        self.ring.iter().map(|(_, took)| *took).collect()
    }
}

/// Nearest-rank percentile; `None` without values.
pub(super) fn percentile(sorted: &[u32], percent: usize) -> Option<u32> {
    let place = (sorted.len() * percent).div_ceil(100);
    sorted.get(place.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let sorted: Vec<u32> = (1..=200).collect();
        assert_eq!((percentile(&sorted, 50), percentile(&sorted, 99)), (Some(100), Some(198)));
        assert_eq!((percentile(&[7], 99), percentile(&[], 50)), (Some(7), None));
    }

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let mut timings = Timings::default();
        for second in 0..20 {
            (0..5).for_each(|_| timings.record(Millis(second * 1_000), Duration::from_micros(3)));
        }
        assert_eq!(timings.per_second(Millis(19_000)), 5.0);
        assert_eq!(timings.per_second(Millis(60_000)), 0.0);
        (0..2_000).for_each(|n| timings.record(Millis(20_000 + n), Duration::ZERO));
        assert_eq!((timings.latest().len(), timings.count()), (1_024, 2_100));
        let rate = timings.per_second(Millis(22_000));
        assert!((990.0..1_010.0).contains(&rate), "one a millisecond, though the ring holds only one second: {rate}");
    }
}
