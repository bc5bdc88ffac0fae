//! Flap damping: a device that comes and goes is told of at most once in a while, and what it is in the end always.
//! Pure.

use std::time::Duration;

use super::record::Status;
use muster_core::Millis;

/// What was told of a device's status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flap {
    /// When online, degraded or offline was last told.
    at: Option<Millis>,
    /// Changes since that were not told.
    suppressed: u32,
    /// The last status that was told, where it is not the present one.
    behind: Option<Status>,
}

/// What is to be done with a change of status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// Tell it: from what was last told; so many changes between were not.
    Now { from: Status, suppressed: u32 },
    /// Look again then.
    At(Millis),
}

impl Flap {
    /// Of a device read back from the store: `told` is what was told of it last.
    pub fn read_back(told: Status, present: Status) -> Self {
        Self { at: None, suppressed: 0, behind: (told != present).then_some(told) }
    }

    /// The last status that was told, of a device that is `present` now.
    pub fn told(&self, present: Status) -> Status {
        self.behind.unwrap_or(present)
    }

    /// It changed. What people do is told at once; what the server finds out at most once in `every`.
    pub fn changed(&mut self, from: Status, to: Status, now: Millis, every: Duration) -> Tell {
        let told = self.behind.unwrap_or(from);
        if to.automatic() {
            if let Some(at) = self.at
                && now.since(at) < every
            {
                self.suppressed = self.suppressed.saturating_add(1);
                self.behind = (told != to).then_some(told);
                return Tell::At(at.plus(every));
            }
            self.at = Some(now);
        }
        self.behind = None;
        Tell::Now { from: told, suppressed: std::mem::take(&mut self.suppressed) }
    }

    /// The time that was set has come.
    pub fn due(&mut self, present: Status, now: Millis, every: Duration) -> Option<Tell> {
        let told = self.behind?;
        if let Some(at) = self.at
            && now.since(at) < every
        {
            return Some(Tell::At(at.plus(every)));
        }
        if present.automatic() {
            self.at = Some(now);
        }
        self.behind = None;
        Some(Tell::Now { from: told, suppressed: std::mem::take(&mut self.suppressed) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVERY: Duration = Duration::from_secs(30);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Whatever a device does: no 30 s see two events, every change is told or counted, and once it rests, the last
        /// that was told is what it is.
        #[test]
        fn no_window_tells_twice_and_the_end_is_always_told(gaps in prop::collection::vec(0_u64..40_000, 1..100)) {
            let (mut flap, mut present, mut now) = (Flap::default(), Status::Offline, Millis(1_000_000));
            let (mut told, mut counted, mut changes, mut look) = (vec![], 0, 0, None::<Millis>);
            let mut last_told = present;
            let note = |tell: Tell, now: Millis, to: Status, told: &mut Vec<Millis>, last: &mut Status| match tell {
                Tell::Now { from, suppressed } => {
                    assert_eq!(from, *last, "an event goes on from the one before");
                    told.push(now);
                    *last = to;
                    (suppressed, None)
                }
                Tell::At(at) => (0, Some(at)),
            };
            for gap in gaps {
                let next = now.plus(Duration::from_millis(gap));
                if let Some(at) = look.filter(|at| *at <= next) {
                    look = None;
                    if let Some(tell) = flap.due(present, at, EVERY) {
                        let (more, again) = note(tell, at, present, &mut told, &mut last_told);
                        counted += more;
                        look = again;
                    }
                }
                now = next;
                let to = if present == Status::Online { Status::Offline } else { Status::Online };
                let tell = flap.changed(present, to, now, EVERY);
                present = to;
                changes += 1;
                let (more, at) = note(tell, now, present, &mut told, &mut last_told);
                counted += more;
                look = at.or(look);
            }
            if let Some(at) = look
                && let Some(tell) = flap.due(present, at, EVERY)
            {
                note(tell, at, present, &mut told, &mut last_told);
            }
            prop_assert!(told.windows(2).all(|pair| pair[1].since(pair[0]) >= EVERY));
            prop_assert_eq!(last_told, present);
            prop_assert!(told.len() <= changes && u64::from(counted) <= changes as u64);
        }
    }

    #[test]
    fn what_people_do_is_told_at_once() {
        let mut flap = Flap::default();
        let at = |s: u64| Millis(1_000 * s);
        assert_eq!(
            flap.changed(Status::Provisioned, Status::Online, at(0), EVERY),
            Tell::Now { from: Status::Provisioned, suppressed: 0 }
        );
        assert_eq!(flap.changed(Status::Online, Status::Offline, at(1), EVERY), Tell::At(at(30)));
        let maintained = flap.changed(Status::Offline, Status::Maintenance, at(2), EVERY);
        assert_eq!(maintained, Tell::Now { from: Status::Online, suppressed: 1 });
        assert_eq!(flap.due(Status::Maintenance, at(30), EVERY), None, "nothing is left to tell");
    }

    #[test]
    fn what_was_not_told_before_a_restart_is_told_after_it() {
        let mut flap = Flap::read_back(Status::Online, Status::Offline);
        assert_eq!(flap.told(Status::Offline), Status::Online);
        let tell = flap.due(Status::Offline, Millis(5), EVERY);
        assert_eq!(tell, Some(Tell::Now { from: Status::Online, suppressed: 0 }));
    }
}
