//! A token bucket that limits what a client may send. Pure.

use muster_core::Millis;

/// A rate, with the size of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_second: u32,
    pub burst: u32,
}

/// The remaining tokens of a rate.
#[derive(Debug, Clone)]
pub struct Bucket {
    rate: Rate,
    /// Tokens in thousandths.
    left: u64,
    at: Millis,
}

impl Bucket {
    pub fn new(rate: Rate, now: Millis) -> Self {
        Self { rate, left: u64::from(rate.burst) * 1000, at: now }
    }

    /// Takes one token; returns whether there was one.
    pub fn take(&mut self, now: Millis) -> bool {
        let passed = now.0.saturating_sub(self.at.0);
        self.at = self.at.max(now);
        let more = passed.saturating_mul(self.rate.per_second.into());
        self.left = self.left.saturating_add(more).min(u64::from(self.rate.burst) * 1000);
        let enough = self.left >= 1000;
        if enough {
            self.left -= 1000;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_burst_is_admitted_and_then_the_rate() {
        let mut bucket = Bucket::new(Rate { per_second: 20, burst: 40 }, Millis(0));
        assert_eq!((0..100).filter(|_| bucket.take(Millis(0))).count(), 40);
        assert_eq!((0..100).filter(|_| bucket.take(Millis(1000))).count(), 20);
        assert!(!bucket.take(Millis(500)), "a clock that goes back gives nothing");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_interval_admits_more_than_burst_and_rate(steps in prop::collection::vec(0_u64..200, 1..200)) {
            let mut bucket = Bucket::new(Rate { per_second: 20, burst: 40 }, Millis(0));
            let (mut now, mut taken) = (0, 0);
            for step in steps {
                now += step;
                taken += u64::from(bucket.take(Millis(now)));
                prop_assert!(taken <= 40 + now * 20 / 1000);
            }
        }
    }
}
