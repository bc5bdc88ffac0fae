//! Reproducible random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Pure.

use std::time::Duration;

/// A random sequence given by its seed. Suitable for faults and jitter, not for secrets.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    #[cfg(test)]
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the sequence of one device. Sequences of neighbouring positions are unrelated.
    pub(super) fn for_device(seed: u64, position: u64) -> Self {
        let mut start = Self(seed ^ position.wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Self(start.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to below 1, in steps of 2⁻⁵³.
    pub(super) fn uniform(&mut self) -> f64 {
        // An f64 holds 53 bits exactly.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number from `low` to below `high`.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Returns `time` plus or minus up to a fifth.
    pub(super) fn jitter(&mut self, time: Duration) -> Duration {
        time.mul_f64(self.between(0.8, 1.2))
    }
}
