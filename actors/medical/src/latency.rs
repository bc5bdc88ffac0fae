//! Durations of the last requests, without what they were about.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// Number of durations that are kept.
const KEPT: usize = 1000;

/// The last durations. Kept beside the actor: a measurement is no decision, and must not wait for one.
#[derive(Debug, Clone)]
pub struct Latencies(Arc<Ring>);

/// Microseconds; a new duration takes the place of the oldest.
#[derive(Debug)]
struct Ring {
    micros: Box<[AtomicU32]>,
    added: AtomicUsize,
}

impl Default for Latencies {
    fn default() -> Self {
        let micros = (0..KEPT).map(|_| AtomicU32::new(0)).collect();
        Self(Arc::new(Ring { micros, added: AtomicUsize::new(0) }))
    }
}

/// Percentiles of the last durations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySummary {
    /// Median, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// Number of durations.
    pub samples: usize,
}

impl Latencies {
    /// Adds a duration.
    pub fn add(&self, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        let place = self.0.added.fetch_add(1, Ordering::AcqRel) % KEPT;
        if let Some(kept) = self.0.micros.get(place) {
            kept.store(micros, Ordering::Release);
        }
    }

    /// Returns the percentiles; `None` while there is no duration.
    #[must_use]
    pub fn summary(&self) -> Option<LatencySummary> {
        let kept = self.0.added.load(Ordering::Acquire).min(KEPT);
        let mut sorted: Vec<u32> =
            self.0.micros.iter().take(kept).map(|micros| micros.load(Ordering::Acquire)).collect();
        sorted.sort_unstable();
        // Nearest rank: the least value that at least this share is not above.
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted.get(rank - 1).map(|micros| f64::from(*micros) / 1000.0)
        };
        Some(LatencySummary { p50_ms: at(50)?, p99_ms: at(99)?, samples: sorted.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_last_thousand() {
        let latencies = Latencies::default();
        assert_eq!(latencies.summary(), None);
        latencies.add(Duration::from_secs(60));
        for millis in 1..=1000 {
            latencies.add(Duration::from_millis(millis));
        }
        assert_eq!(latencies.summary(), Some(LatencySummary { p50_ms: 500.0, p99_ms: 990.0, samples: 1000 }));
    }
}
