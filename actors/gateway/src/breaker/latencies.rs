//! Median of the latest latencies, in constant space.

use std::time::Duration;

const KEPT: usize = 64;

/// The latest 64 latencies in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Latencies {
    ring: [u32; KEPT],
    count: usize,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { ring: [0; KEPT], count: 0 }
    }
}

impl Latencies {
    pub(super) fn record(&mut self, latency: Duration) {
        if let Some(place) = self.ring.get_mut(self.count % KEPT) {
            *place = u32::try_from(latency.as_millis()).unwrap_or(u32::MAX);
        }
        self.count = self.count.wrapping_add(1);
    }

    /// Returns the lower median; `None` before the first latency.
    pub(super) fn p50(&self) -> Option<u32> {
        let mut sorted: Vec<u32> = self.ring.iter().take(self.count).copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_the_latest_only() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.p50(), None);
        for ms in [30, 10, 20] {
            latencies.record(Duration::from_millis(ms));
        }
        assert_eq!(latencies.p50(), Some(20));
        for _ in 0..64 {
            latencies.record(Duration::from_millis(7));
        }
        assert_eq!(latencies.p50(), Some(7));
    }
}
