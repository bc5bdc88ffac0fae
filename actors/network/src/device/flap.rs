//! Flap damping: status changes of a device that comes and goes are published at most once in a time window; the final
//! status is always published. Pure.

use std::time::Duration;

use super::record::Status;
use muster_core::Millis;

/// What was published of a device's status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FlapDamper {
    /// When online, degraded or offline was last published.
    at: Option<Millis>,
    /// Number of unpublished changes since then.
    suppressed: u32,
    /// Status that was last published, if it is not the present one.
    behind: Option<Status>,
}

/// When a status change is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusPublication {
    /// Now: `from` is the status that was last published, `suppressed` the number of unpublished changes in between.
    Now { from: Status, suppressed: u32 },
    /// Not before this time.
    At(Millis),
}

impl FlapDamper {
    /// Restores the state of a device from the store: `published` is its last published status.
    pub(super) fn read_back(published: Status, present: Status) -> Self {
        Self { at: None, suppressed: 0, behind: (published != present).then_some(published) }
    }

    /// Returns the last published status of a device whose status is `present`.
    pub(super) fn published(&self, present: Status) -> Status {
        self.behind.unwrap_or(present)
    }

    /// Handles a status change. Changes by people are published at once; those that the server detects, at most once in
    /// `window`.
    pub(super) fn changed(&mut self, from: Status, to: Status, now: Millis, window: Duration) -> StatusPublication {
        let published = self.behind.unwrap_or(from);
        if to.automatic() {
            if let Some(at) = self.at
                && now.since(at) < window
            {
                self.suppressed = self.suppressed.saturating_add(1);
                self.behind = (published != to).then_some(published);
                return StatusPublication::At(at.plus(window));
            }
            self.at = Some(now);
        }
        self.behind = None;
        StatusPublication::Now { from: published, suppressed: std::mem::take(&mut self.suppressed) }
    }

    /// Handles a [`StatusPublication::At`] whose time has come.
    pub(super) fn due(&mut self, present: Status, now: Millis, window: Duration) -> Option<StatusPublication> {
        let published = self.behind?;
        if let Some(at) = self.at
            && now.since(at) < window
        {
            return Some(StatusPublication::At(at.plus(window)));
        }
        if present.automatic() {
            self.at = Some(now);
        }
        self.behind = None;
        Some(StatusPublication::Now { from: published, suppressed: std::mem::take(&mut self.suppressed) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(30);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// For any sequence of changes: no window of 30 s has two events, every change is published or counted, and
        /// once the device rests, the last published status is its status.
        #[test]
        fn a_window_publishes_at_most_once_and_the_final_status_is_always_published(gaps in prop::collection::vec(0_u64..40_000, 1..100)) {
            let (mut flap, mut present, mut now) = (FlapDamper::default(), Status::Offline, Millis(1_000_000));
            let (mut published, mut counted, mut changes, mut look) = (vec![], 0, 0, None::<Millis>);
            let mut last_published = present;
            let note = |publication: StatusPublication, now: Millis, to: Status, published: &mut Vec<Millis>, last: &mut Status| match publication {
                StatusPublication::Now { from, suppressed } => {
                    assert_eq!(from, *last, "an event goes on from the one before");
                    published.push(now);
                    *last = to;
                    (suppressed, None)
                }
                StatusPublication::At(at) => (0, Some(at)),
            };
            for gap in gaps {
                let next = now.plus(Duration::from_millis(gap));
                if let Some(at) = look.filter(|at| *at <= next) {
                    look = None;
                    if let Some(publication) = flap.due(present, at, WINDOW) {
                        let (more, again) = note(publication, at, present, &mut published, &mut last_published);
                        counted += more;
                        look = again;
                    }
                }
                now = next;
                let to = if present == Status::Online { Status::Offline } else { Status::Online };
                let publication = flap.changed(present, to, now, WINDOW);
                present = to;
                changes += 1;
                let (more, at) = note(publication, now, present, &mut published, &mut last_published);
                counted += more;
                look = at.or(look);
            }
            if let Some(at) = look
                && let Some(publication) = flap.due(present, at, WINDOW)
            {
                note(publication, at, present, &mut published, &mut last_published);
            }
            prop_assert!(published.windows(2).all(|pair| pair[1].since(pair[0]) >= WINDOW));
            prop_assert_eq!(last_published, present);
            prop_assert!(published.len() <= changes && u64::from(counted) <= changes as u64);
        }
    }

    #[test]
    fn status_changes_by_people_are_published_at_once() {
        let mut flap = FlapDamper::default();
        let at = |s: u64| Millis(1_000 * s);
        assert_eq!(
            flap.changed(Status::Provisioned, Status::Online, at(0), WINDOW),
            StatusPublication::Now { from: Status::Provisioned, suppressed: 0 }
        );
        assert_eq!(flap.changed(Status::Online, Status::Offline, at(1), WINDOW), StatusPublication::At(at(30)));
        let maintained = flap.changed(Status::Offline, Status::Maintenance, at(2), WINDOW);
        assert_eq!(maintained, StatusPublication::Now { from: Status::Online, suppressed: 1 });
        assert_eq!(flap.due(Status::Maintenance, at(30), WINDOW), None, "nothing is left to publish");
    }

    #[test]
    fn a_status_that_was_unpublished_at_a_restart_is_published_after_it() {
        let mut flap = FlapDamper::read_back(Status::Online, Status::Offline);
        assert_eq!(flap.published(Status::Offline), Status::Online);
        let publication = flap.due(Status::Offline, Millis(5), WINDOW);
        assert_eq!(publication, Some(StatusPublication::Now { from: Status::Online, suppressed: 0 }));
    }
}
