//! Counts of recent calls and failures: a sliding window of coarse buckets, of constant size.

use std::time::Duration;

const BUCKETS: usize = 6;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bucket {
    /// Time slice that the bucket counts; an older one is overwritten.
    slice: u64,
    calls: u32,
    failures: u32,
}

/// Calls of the last `BUCKETS` time slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    slice_ms: u64,
    buckets: [Bucket; BUCKETS],
}

/// Counts of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of calls.
    pub calls: u32,
    /// Number of failed calls.
    pub failures: u32,
}

impl Tally {
    /// Share of failures among the calls, 0 to 1; 0 when there were no calls.
    pub fn failure_share(self) -> f64 {
        if self.calls == 0 { 0.0 } else { f64::from(self.failures) / f64::from(self.calls) }
    }
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        let slices = u64::try_from(BUCKETS).unwrap_or(1);
        let slice_ms = (u64::try_from(length.as_millis()).unwrap_or(u64::MAX) / slices).max(1);
        Self { slice_ms, buckets: [Bucket::default(); BUCKETS] }
    }

    pub(super) fn clear(&mut self) {
        self.buckets = [Bucket::default(); BUCKETS];
    }

    pub(super) fn record(&mut self, now: Duration, failures: u32) {
        let slice = self.slice(now);
        let at = usize::try_from(slice % BUCKETS as u64).unwrap_or(0);
        let Some(bucket) = self.buckets.get_mut(at) else { return };
        if bucket.slice > slice {
            // Reported so late that it is outside the window.
            return;
        }
        if bucket.slice != slice {
            *bucket = Bucket { slice, ..Bucket::default() };
        }
        bucket.calls = bucket.calls.saturating_add(1);
        bucket.failures = bucket.failures.saturating_add(failures.min(1));
    }

    pub(super) fn tally(&self, now: Duration) -> Tally {
        let newest = self.slice(now);
        let live = self.buckets.iter().filter(|b| newest.saturating_sub(b.slice) < BUCKETS as u64);
        live.fold(Tally::default(), |sum, bucket| Tally {
            calls: sum.calls.saturating_add(bucket.calls),
            failures: sum.failures.saturating_add(bucket.failures),
        })
    }

    fn slice(&self, now: Duration) -> u64 {
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX) / self.slice_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_older_than_the_window_do_not_count() {
        let at = Duration::from_secs;
        let mut window = Window::new(at(60));
        window.record(at(1), 1);
        window.record(at(9), 0);
        window.record(at(35), 1);
        assert_eq!(window.tally(at(59)), Tally { calls: 3, failures: 2 });
        assert_eq!(window.tally(at(60)), Tally { calls: 1, failures: 1 }, "the first slice of ten seconds is out");
        assert_eq!(window.tally(at(90)), Tally::default());
        window.record(at(61), 0);
        assert_eq!(window.tally(at(61)), Tally { calls: 2, failures: 1 }, "its bucket is used again, empty");
        window.record(at(2), 1);
        assert_eq!(window.tally(at(61)), Tally { calls: 2, failures: 1 }, "reported a minute late");
        assert_eq!(Tally::default().failure_share(), 0.0);
    }
}
