//! A timer wheel with one entry per connection. Pure.

use muster_core::Millis;

/// Number of slots; entries further ahead are checked again each round.
const SLOTS: u64 = 512;

/// Entries by due time, with the precision of a tick.
#[derive(Debug)]
pub(super) struct Wheel<T> {
    slots: Vec<Vec<T>>,
    tick: u64,
    /// The last processed tick.
    at: u64,
}

impl<T> Wheel<T> {
    pub(super) fn new(tick: std::time::Duration, now: Millis) -> Self {
        let tick = u64::try_from(tick.as_millis()).unwrap_or(u64::MAX).max(1);
        Self { slots: (0..SLOTS).map(|_| Vec::new()).collect(), tick, at: now.0 / tick }
    }

    /// Adds an entry that is due at `due`. Returns when it will come out: at that time, or earlier if it is far ahead.
    pub(super) fn put(&mut self, one: T, due: Millis) -> Millis {
        let slot = due.0.div_ceil(self.tick).clamp(self.at + 1, self.at + SLOTS - 1);
        let index = usize::try_from(slot % SLOTS).unwrap_or(0);
        if let Some(slot) = self.slots.get_mut(index) {
            slot.push(one);
        }
        Millis(slot * self.tick)
    }

    /// Removes and returns due entries.
    pub(super) fn advance(&mut self, now: Millis) -> Vec<T> {
        let to = now.0 / self.tick;
        let mut due = Vec::new();
        // After a long pause one round visits every slot.
        for slot in (self.at + 1..=to).take(usize::try_from(SLOTS).unwrap_or(usize::MAX)) {
            let index = usize::try_from(slot % SLOTS).unwrap_or(0);
            if let Some(slot) = self.slots.get_mut(index) {
                due.append(slot);
            }
        }
        self.at = self.at.max(to);
        due
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Every entry comes out once, not before the promised time and at most one tick after it.
        #[test]
        fn every_entry_is_returned_when_due(dues in prop::collection::vec(1_u64..200_000, 1..50), step in 1_u64..700) {
            let mut wheel = Wheel::new(Duration::from_millis(100), Millis(0));
            let promised: Vec<Millis> =
                dues.iter().enumerate().map(|(index, due)| wheel.put(index, Millis(*due))).collect();
            let mut seen = vec![false; dues.len()];
            let mut now = 0;
            while now < 100_000 {
                let before = now;
                now += step;
                for index in wheel.advance(Millis(now)) {
                    prop_assert!(!seen[index]);
                    seen[index] = true;
                    prop_assert!(promised[index].0 <= now && promised[index].0 > before.saturating_sub(100));
                    prop_assert!(promised[index].0 < dues[index] + 100);
                }
            }
            prop_assert!(seen.iter().all(|seen| *seen));
        }
    }
}
