//! The commands that were executed, by subject and `idem`. Pure.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use muster_core::Millis;

/// Time for which an `idem` is remembered.
const REMEMBERED: Duration = Duration::from_secs(600);

/// Largest numbers of remembered commands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Of all subjects together.
    pub(super) all: usize,
    /// Of one subject, so that none fills the table for the others.
    pub(super) of_one: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { all: 262_144, of_one: 4_096 }
    }
}

/// Why a command cannot be remembered, and so must not be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The subject has as many remembered commands as it may.
    Own,
    /// All subjects together have.
    All,
}

/// The remembered commands; `T` is what is remembered of one.
#[derive(Debug)]
pub(super) struct Remembered<T> {
    bounds: Bounds,
    subjects: HashMap<Arc<str>, OfSubject<T>>,
    total: usize,
}

#[derive(Debug)]
struct OfSubject<T> {
    by_idem: HashMap<Arc<str>, (Millis, T)>,
    /// In the order in which they expire. An entry that was replaced has a later one too.
    order: VecDeque<(Millis, Arc<str>)>,
}

impl<T> OfSubject<T> {
    /// Removes what has expired; returns how many were removed.
    fn expire(&mut self, now: Millis) -> usize {
        let before = self.by_idem.len();
        while let Some((_, idem)) = self.order.pop_front_if(|(until, _)| *until <= now) {
            if let Entry::Occupied(kept) = self.by_idem.entry(idem)
                && kept.get().0 <= now
            {
                kept.remove();
            }
        }
        before - self.by_idem.len()
    }
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self::new(Bounds::default())
    }
}

impl<T> Remembered<T> {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, subjects: HashMap::new(), total: 0 }
    }

    /// Returns what is remembered of a command.
    pub(super) fn get(&self, subject: &str, idem: &str, now: Millis) -> Option<&T> {
        let (until, kept) = self.subjects.get(subject)?.by_idem.get(idem)?;
        (*until > now).then_some(kept)
    }

    /// Removes a command, which may be executed again.
    pub(super) fn forget(&mut self, subject: &str, idem: &str) {
        if let Some(own) = self.subjects.get_mut(subject)
            && own.by_idem.remove(idem).is_some()
        {
            self.total -= 1;
        }
    }

    /// Whether another command of a subject can be remembered.
    pub(super) fn room(&mut self, subject: &str, now: Millis) -> Result<(), Full> {
        if let Some(own) = self.subjects.get_mut(subject) {
            self.total -= own.expire(now);
            if own.by_idem.len() >= self.bounds.of_one || own.order.len() >= self.bounds.of_one * 2 {
                return Err(Full::Own);
            }
        }
        if self.total >= self.bounds.all {
            let total = &mut self.total;
            self.subjects.retain(|_, own| {
                *total -= own.expire(now);
                !own.by_idem.is_empty()
            });
        }
        if self.total >= self.bounds.all { Err(Full::All) } else { Ok(()) }
    }

    /// Remembers a command, for which there is room.
    pub(super) fn insert(&mut self, subject: &str, idem: &str, kept: T, now: Millis) {
        if !self.subjects.contains_key(subject) {
            let own = OfSubject { by_idem: HashMap::new(), order: VecDeque::new() };
            self.subjects.insert(subject.into(), own);
        }
        let Some(own) = self.subjects.get_mut(subject) else { return };
        let (until, idem) = (now.plus(REMEMBERED), Arc::<str>::from(idem));
        own.order.push_back((until, Arc::clone(&idem)));
        if own.by_idem.insert(idem, (until, kept)).is_none() {
            self.total += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Millis = Millis(1_767_225_600_000);

    fn table(all: usize, of_one: usize) -> Remembered<u32> {
        Remembered::new(Bounds { all, of_one })
    }

    #[test]
    fn one_subject_fills_its_share_and_no_others() {
        let mut table = table(100, 10);
        for n in 0..10 {
            table.room("usr_1", NOW).unwrap();
            table.insert("usr_1", &n.to_string(), n, NOW);
        }
        assert_eq!(table.room("usr_1", NOW), Err(Full::Own));
        assert_eq!(table.room("usr_2", NOW), Ok(()));
        assert_eq!(table.get("usr_1", "3", NOW), Some(&3), "it is still executed once");
        let later = NOW.plus(REMEMBERED);
        assert_eq!(table.get("usr_1", "3", later), None);
        assert_eq!(table.room("usr_1", later), Ok(()));
    }

    #[test]
    fn all_subjects_are_bounded_and_the_expired_make_room() {
        let mut table = table(4, 2);
        for subject in ["usr_1", "usr_2", "usr_3", "usr_4"] {
            table.room(subject, NOW).unwrap();
            table.insert(subject, "a", 0, NOW);
        }
        assert_eq!(table.room("usr_5", NOW), Err(Full::All));
        let later = NOW.plus(REMEMBERED);
        assert_eq!(table.room("usr_5", later), Ok(()));
        assert!(table.subjects.is_empty());
    }

    proptest! {
        #[test]
        fn a_command_is_remembered_for_ten_minutes_and_the_count_is_right(
            steps in prop::collection::vec((0_u8..4, 0_u8..6, 0_u64..200_000, any::<bool>()), 1..200),
        ) {
            let mut table = table(16, 5);
            let mut model: HashMap<(String, String), (Millis, u32)> = HashMap::new();
            let mut now = NOW;
            for (step, (subject, idem, pause, forget)) in (0_u32..).zip(steps) {
                now = Millis(now.0 + pause);
                let (subject, idem) = (subject.to_string(), idem.to_string());
                let key = (subject.clone(), idem.clone());
                let live = model.get(&key).filter(|(until, _)| *until > now).map(|(_, kept)| *kept);
                prop_assert_eq!(table.get(&subject, &idem, now).copied(), live);
                if forget {
                    table.forget(&subject, &idem);
                    model.remove(&key);
                } else if live.is_none() && table.room(&subject, now).is_ok() {
                    table.insert(&subject, &idem, step, now);
                    model.insert(key, (now.plus(REMEMBERED), step));
                }
                let kept: usize = table.subjects.values().map(|own| own.by_idem.len()).sum();
                prop_assert_eq!(table.total, kept);
                prop_assert!(kept <= 16);
            }
        }
    }
}
