//! The marked minutes of the last thirty days.

use std::collections::BTreeMap;

use muster_core::Millis;
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

const MINUTE_MS: u64 = 60_000;
const MINUTES_OF_DAY: u64 = 1440;
/// Days that count.
const DAYS: u64 = 30;

/// The marks of one day (UTC), one bit for each minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DayRecord {
    /// Days since 1970-01-01.
    pub(super) day: u64,
    marks: Vec<u8>,
}

impl Record for DayRecord {
    const TREE: Tree = Tree::MedicalUptime;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Postcard;
}

impl DayRecord {
    fn new(day: u64) -> Self {
        Self { day, marks: vec![0; (MINUTES_OF_DAY / 8) as usize] }
    }

    /// Key in the store, in the order of time.
    pub(super) fn key(&self) -> Vec<u8> {
        format!("day_{:08}", self.day).into_bytes()
    }

    fn place(minute: u64) -> (usize, u8) {
        let of_day = minute % MINUTES_OF_DAY;
        (usize::try_from(of_day / 8).unwrap_or(usize::MAX), 1 << (of_day % 8))
    }

    fn has(&self, minute: u64) -> bool {
        let (byte, bit) = Self::place(minute);
        self.marks.get(byte).is_some_and(|marks| marks & bit != 0)
    }

    /// Marks a minute; false if it is marked already.
    fn set(&mut self, minute: u64) -> bool {
        let (byte, bit) = Self::place(minute);
        match self.marks.get_mut(byte) {
            Some(marks) if *marks & bit == 0 => {
                *marks |= bit;
                true
            }
            _ => false,
        }
    }

    fn minutes(&self) -> impl Iterator<Item = u64> + '_ {
        let first = self.day * MINUTES_OF_DAY;
        (first..first + MINUTES_OF_DAY).filter(|minute| self.has(*minute))
    }
}

/// How long the interface was available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Availability {
    /// Whole minutes of the last thirty days, or since the first mark.
    pub minutes: u64,
    /// Those without a mark.
    pub down_minutes: u64,
}

impl Availability {
    /// Percent with two digits, rounded down; 100 before a whole minute has passed.
    #[must_use]
    pub fn percent(&self) -> f64 {
        if self.minutes == 0 {
            return 100.0;
        }
        let up = self.minutes.saturating_sub(self.down_minutes);
        // Exact integers: a float could round a minute of failure up to 100 %.
        let hundredths = up.saturating_mul(10_000) / self.minutes;
        hundredths as f64 / 100.0
    }
}

/// The marks.
#[derive(Debug, Default)]
pub(super) struct UptimeState {
    days: BTreeMap<u64, DayRecord>,
}

impl UptimeState {
    pub(super) fn from_records(records: Vec<DayRecord>) -> Self {
        Self { days: records.into_iter().map(|record| (record.day, record)).collect() }
    }

    /// Marks the minute of a time. Returns the changed record, and the days that no longer count.
    pub(super) fn mark(&mut self, now: Millis) -> (Option<DayRecord>, Vec<DayRecord>) {
        let minute = now.0 / MINUTE_MS;
        let day = minute / MINUTES_OF_DAY;
        let record = self.days.entry(day).or_insert_with(|| DayRecord::new(day));
        let changed = record.set(minute).then(|| record.clone());
        let kept = self.days.split_off(&day.saturating_sub(DAYS));
        let old = std::mem::replace(&mut self.days, kept);
        (changed, old.into_values().collect())
    }

    pub(super) fn availability(&self, now: Millis) -> Availability {
        let present = now.0 / MINUTE_MS;
        let begin = present.saturating_sub(DAYS * MINUTES_OF_DAY);
        let Some(first) = self.days.values().flat_map(DayRecord::minutes).find(|minute| *minute >= begin) else {
            return Availability { minutes: 0, down_minutes: 0 };
        };
        // The window begins at the first mark of all; with older days kept, at its own beginning.
        let older = self.days.values().flat_map(DayRecord::minutes).next().is_some_and(|minute| minute < begin);
        let from = if older { begin } else { first };
        // The present minute is not over.
        let minutes = present.saturating_sub(from);
        let marked = self.days.values().flat_map(DayRecord::minutes).filter(|minute| (from..present).contains(minute));
        Availability { minutes, down_minutes: minutes.saturating_sub(marked.count() as u64) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: u64 = 1_767_225_600_000;

    fn at(minute: u64) -> Millis {
        Millis(START + minute * MINUTE_MS)
    }

    #[test]
    fn a_minute_without_a_mark_counts_as_down() {
        let mut state = UptimeState::default();
        assert_eq!(state.availability(at(0)).percent(), 100.0);
        for minute in (0..100).filter(|minute| *minute != 50) {
            assert!(state.mark(at(minute)).0.is_some());
            assert!(state.mark(at(minute)).0.is_none(), "a second mark of a minute writes nothing");
        }
        let availability = state.availability(at(100));
        assert_eq!(availability, Availability { minutes: 100, down_minutes: 1 });
        assert_eq!(availability.percent(), 99.0);
    }

    #[test]
    fn one_minute_of_thirty_days_is_not_rounded_up() {
        let month = DAYS * MINUTES_OF_DAY;
        assert_eq!(Availability { minutes: month, down_minutes: 1 }.percent(), 99.99);
        assert_eq!(Availability { minutes: month, down_minutes: 0 }.percent(), 100.0);
    }

    #[test]
    fn days_before_the_last_thirty_are_dropped() {
        let mut state = UptimeState::default();
        state.mark(at(0));
        let (_, old) = state.mark(at((DAYS + 2) * MINUTES_OF_DAY));
        assert_eq!(old.len(), 1);
    }

    proptest! {
        #[test]
        fn the_share_is_that_of_the_marked_minutes(marks in proptest::collection::btree_set(0u64..5000, 1..200)) {
            let mut state = UptimeState::default();
            for minute in &marks {
                state.mark(at(*minute));
            }
            let first = *marks.first().unwrap();
            let availability = state.availability(at(5000));
            prop_assert_eq!(availability.minutes, 5000 - first);
            prop_assert_eq!(availability.down_minutes, 5000 - first - marks.len() as u64);
        }
    }
}
