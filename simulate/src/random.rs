//! Random numbers that a seed repeats: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Pure.

use std::time::Duration;

/// A sequence of its seed. Good for choosing faults and jitter, for nothing secret.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    #[cfg(test)]
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The sequence of one device: neighbours have nothing in common.
    pub(super) fn of(seed: u64, position: u64) -> Self {
        let mut start = Self(seed ^ position.wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Self(start.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to below 1, in steps of 2⁻⁵³.
    pub(super) fn share(&mut self) -> f64 {
        // 53 bits are what an f64 holds exactly.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From `low` to below `high`.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// `time`, give or take a fifth.
    pub(super) fn about(&mut self, time: Duration) -> Duration {
        time.mul_f64(self.between(0.8, 1.2))
    }
}
