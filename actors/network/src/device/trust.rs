//! Detection of two devices that use one key. Pure.
//!
//! A heartbeat may carry the identifier of its boot (`boot_id`, random at each start of the device) and a sequence
//! number (`seq`, increasing within a boot). Only heartbeats whose token verifies under the device's own key are
//! evaluated, so strangers have no influence. A boot that was followed by another never returns, and within a boot the
//! numbers never decrease; each heartbeat that violates this is a strike. A single strike may be a heartbeat that
//! overtook another one in transit, so only several within ten minutes count as a clone: two devices that alternate
//! under one key cause a strike at each alternation.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use muster_core::Millis;

/// Number of earlier boots that are remembered.
const REMEMBERED: usize = 4;
const STRIKES_WITHIN: Duration = Duration::from_secs(600);

/// Boots that a device's heartbeats have reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Boots {
    boot: Option<Box<str>>,
    seq: Option<u64>,
    earlier: VecDeque<Box<str>>,
    /// Times of the strikes that still count.
    strikes: VecDeque<Millis>,
}

/// Relation of a heartbeat to earlier ones of the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BootVerdict {
    /// It follows the earlier ones.
    Fresh,
    /// It repeats the last one, because the response was lost.
    Repeated,
    /// It is older than the last one: its content is ignored.
    Stale,
    /// Two devices use one key.
    Clone,
}

impl Boots {
    /// Evaluates a heartbeat of `boot`; `strikes` strikes within ten minutes are a clone.
    pub(super) fn evaluate(
        &mut self,
        boot: Option<&str>,
        seq: Option<u64>,
        now: Millis,
        strikes: usize,
    ) -> BootVerdict {
        let Some(boot) = boot else { return BootVerdict::Fresh };
        if self.boot.as_deref() == Some(boot) {
            return match (seq, self.seq) {
                (Some(seq), Some(last)) if seq < last => self.strike(now, strikes),
                (Some(seq), Some(last)) if seq == last => BootVerdict::Repeated,
                (seq, last) => {
                    self.seq = seq.or(last);
                    BootVerdict::Fresh
                }
            };
        }
        let returned = self.earlier.iter().position(|earlier| &**earlier == boot);
        let returned = returned.and_then(|place| self.earlier.remove(place)).is_some();
        if let Some(left) = self.boot.replace(boot.into()) {
            self.earlier.push_front(left);
            self.earlier.truncate(REMEMBERED);
        }
        self.seq = seq;
        if returned { self.strike(now, strikes) } else { BootVerdict::Fresh }
    }

    fn strike(&mut self, now: Millis, strikes: usize) -> BootVerdict {
        self.strikes.retain(|at| now.since(*at) < STRIKES_WITHIN);
        self.strikes.push_back(now);
        if self.strikes.len() >= strikes.max(1) { BootVerdict::Clone } else { BootVerdict::Stale }
    }

    /// Returns whether a heartbeat would be [`BootVerdict::Fresh`], without recording it.
    pub(super) fn follows(&self, boot: Option<&str>, seq: Option<u64>) -> bool {
        let Some(boot) = boot else { return true };
        if self.boot.as_deref() == Some(boot) {
            return seq.zip(self.seq).is_none_or(|(seq, last)| seq > last);
        }
        !self.earlier.iter().any(|earlier| &**earlier == boot)
    }
}

/// Invalid signatures under a device's identifier within the last hour. Anyone who knows the identifier can send them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BadSignatures {
    since: Option<Millis>,
    count: u32,
    reported_at: Option<Millis>,
}

const COUNTING_PERIOD: Duration = Duration::from_secs(3600);
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

impl BadSignatures {
    /// Returns the count of the current hour.
    pub(super) fn total(&self) -> u32 {
        self.count
    }

    /// Adds to the count and returns it if it is to be published now.
    pub(super) fn count(&mut self, more: u32, now: Millis) -> Option<u32> {
        if self.since.is_none_or(|since| now.since(since) >= COUNTING_PERIOD) {
            *self = Self { since: Some(now), count: 0, reported_at: self.reported_at };
        }
        self.count = self.count.saturating_add(more);
        if self.reported_at.is_some_and(|reported_at| now.since(reported_at) < REPORT_INTERVAL) {
            return None;
        }
        self.reported_at = Some(now);
        Some(self.count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(s: u64) -> Millis {
        Millis(1_000 * s)
    }

    #[test]
    fn two_devices_alternating_under_one_key_are_a_clone_at_the_third_strike() {
        let mut boots = Boots::default();
        let verdict: Vec<_> = ["a", "b", "a", "b", "a"]
            .into_iter()
            .enumerate()
            .map(|(n, boot)| boots.evaluate(Some(boot), Some(1), at(n as u64), 3))
            .collect();
        assert_eq!(
            verdict,
            [BootVerdict::Fresh, BootVerdict::Fresh, BootVerdict::Stale, BootVerdict::Stale, BootVerdict::Clone]
        );
    }

    #[test]
    fn a_lost_answer_and_one_heartbeat_overtaken_are_forgiven() {
        let mut boots = Boots::default();
        let mut beat = |seq, s| boots.evaluate(Some("a"), Some(seq), at(s), 3);
        assert_eq!(beat(1, 0), BootVerdict::Fresh);
        assert_eq!(beat(1, 1), BootVerdict::Repeated);
        assert_eq!(beat(3, 2), BootVerdict::Fresh);
        assert_eq!(beat(2, 3), BootVerdict::Stale);
        // Strikes are forgotten: one in ten minutes never makes a clone.
        for n in 1..10 {
            assert_eq!(beat(2, 3 + 600 * n), BootVerdict::Stale);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// A single device is never a clone, however often it restarts and however often its responses are lost.
        #[test]
        fn an_honest_device_is_never_a_clone(beats in prop::collection::vec((0_u8..20, 0_u8..3), 1..100)) {
            let (mut boots, mut boot, mut seq) = (Boots::default(), 0, 0);
            for (n, (reboots, repeats)) in beats.into_iter().enumerate() {
                if reboots == 0 {
                    (boot, seq) = (boot + 1, 0);
                }
                seq += 1;
                for again in 0..=repeats {
                    let name = format!("boot-{boot}");
                    prop_assert_eq!(boots.follows(Some(&name), Some(seq)), again == 0);
                    let verdict = boots.evaluate(Some(&name), Some(seq), at(n as u64), 3);
                    prop_assert_eq!(verdict, if again == 0 { BootVerdict::Fresh } else { BootVerdict::Repeated });
                }
            }
        }
    }

    #[test]
    fn bad_signatures_are_reported_once_a_minute_and_counted_by_the_hour() {
        let mut bad = BadSignatures::default();
        assert_eq!(bad.count(1, at(0)), Some(1));
        assert_eq!(bad.count(5, at(59)), None);
        assert_eq!(bad.count(1, at(60)), Some(7));
        assert_eq!(bad.count(1, at(3600)), Some(1));
    }
}
