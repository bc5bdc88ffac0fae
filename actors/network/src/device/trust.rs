//! Whether one device speaks under a key, or two. Pure.
//!
//! A heartbeat may name its boot (`boot_id`, random at each start of the device) and its place in it (`seq`, rising).
//! Only heartbeats whose token verifies under the device's own key are judged: a stranger has no say. A boot that was
//! left for another never comes back, and within a boot the numbers never fall; each heartbeat against that is a strike.
//! One may be a heartbeat that overtook another on its way, so only several within ten minutes are a clone: two devices
//! that take turns under one key make a strike at each turn.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use muster_core::Millis;

/// Boots that are remembered.
const REMEMBERED: usize = 4;
const STRIKES_WITHIN: Duration = Duration::from_secs(600);

/// What a device's heartbeats said of its boots.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boots {
    boot: Option<Box<str>>,
    seq: Option<u64>,
    earlier: VecDeque<Box<str>>,
    /// The times of strikes that still count.
    strikes: VecDeque<Millis>,
}

/// What a heartbeat says of who sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// It follows what was heard before.
    Fresh,
    /// It was heard before: an answer that was lost.
    Again,
    /// It is older than what was heard: its readings do not count.
    Stale,
    /// Two speak under one key.
    Clone,
}

impl Boots {
    /// Judges a heartbeat of `boot`; `strikes` within ten minutes are a clone.
    pub fn judge(&mut self, boot: Option<&str>, seq: Option<u64>, now: Millis, strikes: usize) -> Judged {
        let Some(boot) = boot else { return Judged::Fresh };
        if self.boot.as_deref() == Some(boot) {
            return match (seq, self.seq) {
                (Some(seq), Some(last)) if seq < last => self.strike(now, strikes),
                (Some(seq), Some(last)) if seq == last => Judged::Again,
                (seq, last) => {
                    self.seq = seq.or(last);
                    Judged::Fresh
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
        if returned { self.strike(now, strikes) } else { Judged::Fresh }
    }

    fn strike(&mut self, now: Millis, strikes: usize) -> Judged {
        self.strikes.retain(|at| now.since(*at) < STRIKES_WITHIN);
        self.strikes.push_back(now);
        if self.strikes.len() >= strikes.max(1) { Judged::Clone } else { Judged::Stale }
    }

    /// Whether a heartbeat would be judged fresh, without taking it.
    pub fn follows(&self, boot: Option<&str>, seq: Option<u64>) -> bool {
        let Some(boot) = boot else { return true };
        if self.boot.as_deref() == Some(boot) {
            return seq.zip(self.seq).is_none_or(|(seq, last)| seq > last);
        }
        !self.earlier.iter().any(|earlier| &**earlier == boot)
    }
}

/// Signatures under a device's name that did not verify, of the last hour. Anyone who knows the name can send them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BadSignatures {
    since: Option<Millis>,
    count: u32,
    told: Option<Millis>,
}

const COUNTED_FOR: Duration = Duration::from_secs(3600);
const TOLD_EVERY: Duration = Duration::from_secs(60);

impl BadSignatures {
    /// Those of the hour.
    pub fn total(&self) -> u32 {
        self.count
    }

    /// Counts some; gives the hour's count where it is to be told now.
    pub fn count(&mut self, more: u32, now: Millis) -> Option<u32> {
        if self.since.is_none_or(|since| now.since(since) >= COUNTED_FOR) {
            *self = Self { since: Some(now), count: 0, told: self.told };
        }
        self.count = self.count.saturating_add(more);
        if self.told.is_some_and(|told| now.since(told) < TOLD_EVERY) {
            return None;
        }
        self.told = Some(now);
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
    fn two_that_take_turns_under_one_key_are_a_clone_at_the_third_turn_back() {
        let mut boots = Boots::default();
        let judged: Vec<_> = ["a", "b", "a", "b", "a"]
            .into_iter()
            .enumerate()
            .map(|(n, boot)| boots.judge(Some(boot), Some(1), at(n as u64), 3))
            .collect();
        assert_eq!(judged, [Judged::Fresh, Judged::Fresh, Judged::Stale, Judged::Stale, Judged::Clone]);
    }

    #[test]
    fn a_lost_answer_and_one_heartbeat_overtaken_are_forgiven() {
        let mut boots = Boots::default();
        let mut beat = |seq, s| boots.judge(Some("a"), Some(seq), at(s), 3);
        assert_eq!(beat(1, 0), Judged::Fresh);
        assert_eq!(beat(1, 1), Judged::Again);
        assert_eq!(beat(3, 2), Judged::Fresh);
        assert_eq!(beat(2, 3), Judged::Stale);
        // Strikes are forgotten: one in ten minutes never makes a clone.
        for n in 1..10 {
            assert_eq!(beat(2, 3 + 600 * n), Judged::Stale);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// One honest device, however often it starts anew and however often its answers are lost, is never a clone.
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
                    let judged = boots.judge(Some(&name), Some(seq), at(n as u64), 3);
                    prop_assert_eq!(judged, if again == 0 { Judged::Fresh } else { Judged::Again });
                }
            }
        }
    }

    #[test]
    fn bad_signatures_are_told_once_a_minute_and_counted_by_the_hour() {
        let mut bad = BadSignatures::default();
        assert_eq!(bad.count(1, at(0)), Some(1));
        assert_eq!(bad.count(5, at(59)), None);
        assert_eq!(bad.count(1, at(60)), Some(7));
        assert_eq!(bad.count(1, at(3600)), Some(1));
    }
}
