//! Statistics of an agent's run times: a histogram in which older runs have less weight. Pure, and stored.

use muster_store::{Record, Tree};
use serde::{Deserialize, Serialize};

/// Buckets grow by a factor of 1.25 from 0.1 s: 64 of them reach beyond 86,400 s.
const BUCKETS: usize = 64;
const FIRST_MS: f64 = 100.0;
const GROWTH: f64 = 1.25;
/// Factor by which a run's weight decreases with each further run: half after 34 runs.
const DECAY: f64 = 0.98;
/// Minimum number of runs for an estimate.
pub(super) const ENOUGH: u64 = 5;

/// Run times of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunTimes {
    /// Weight of each bucket, by its number.
    weights: Vec<(u8, f64)>,
    pub(super) samples: u64,
}

impl Record for RunTimes {
    const TREE: Tree = Tree::Estimates;
    const SCHEMA: u16 = 1;
}

/// Returns the bucket of a run time.
fn bucket(ms: u64) -> u8 {
    let steps = (ms as f64 / FIRST_MS).max(1.0).ln() / GROWTH.ln();
    // Between 0 and BUCKETS, by the previous line.
    steps.ceil().min((BUCKETS - 1) as f64) as u8
}

/// Returns the upper bound of a bucket in milliseconds.
fn bound_ms(bucket: u8) -> u64 {
    (FIRST_MS * GROWTH.powi(i32::from(bucket))).round() as u64
}

impl RunTimes {
    /// Adds a run.
    pub(super) fn add(&mut self, ms: u64) {
        for (_, weight) in &mut self.weights {
            *weight *= DECAY;
        }
        self.weights.retain(|(_, weight)| *weight > 1e-4);
        let bucket = bucket(ms);
        match self.weights.binary_search_by_key(&bucket, |(number, _)| *number) {
            Ok(at) => self.weights.get_mut(at).into_iter().for_each(|(_, weight)| *weight += 1.0),
            Err(at) => self.weights.insert(at, (bucket, 1.0)),
        }
        self.samples += 1;
    }

    /// Returns the run time below which this share (0 to 1) of the runs stays, in milliseconds; `None` for fewer than
    /// five runs.
    pub(super) fn quantile_ms(&self, share: f64) -> Option<u64> {
        if self.samples < ENOUGH {
            return None;
        }
        let total: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut below = 0.0;
        let found = self.weights.iter().find(|(_, weight)| {
            below += weight;
            below >= total * share
        });
        found.or(self.weights.last()).map(|(number, _)| bound_ms(*number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fewer_than_five_runs_yield_no_estimate_and_old_ones_lose_weight() {
        let mut times = RunTimes::default();
        (0..4).for_each(|_| times.add(60_000));
        assert_eq!(times.quantile_ms(0.5), None);
        times.add(60_000);
        let minute = times.quantile_ms(0.5).unwrap();
        assert!((60_000..=75_000).contains(&minute), "within a bucket of a quarter: {minute}");
        (0..100).for_each(|_| times.add(1_000));
        let second = times.quantile_ms(0.5).unwrap();
        assert!((1_000..=1_250).contains(&second), "{second}");
        assert_eq!(times.samples, 105);
    }

    #[test]
    fn run_times_round_trip() {
        let mut times = RunTimes::default();
        (0..50).for_each(|n| times.add(n * 700));
        assert_eq!(RunTimes::decode(&times.encode().unwrap()), Ok(times));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn quantiles_are_ordered_and_within_a_bucket(runs in prop::collection::vec(0_u64..86_400_000, 5..100)) {
            let mut times = RunTimes::default();
            runs.iter().for_each(|ms| times.add(*ms));
            let (p50, p90) = (times.quantile_ms(0.5).unwrap(), times.quantile_ms(0.9).unwrap());
            prop_assert!(p50 <= p90);
            let most = runs.iter().max().copied().unwrap().max(100);
            prop_assert!(p90 as f64 <= most as f64 * GROWTH + 1.0);
        }
    }
}
