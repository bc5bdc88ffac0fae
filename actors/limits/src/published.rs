//! What an actor grants in advance, where callers find it without asking: a table of slots, one grant in each.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arc_swap::ArcSwapOption;

/// Largest and smallest number of requests that a grant is for.
pub(crate) const MOST_GRANTED: u64 = 64;
pub(crate) const LEAST_GRANTED: u64 = 4;
/// A caller whose previous request was at most so many milliseconds ago gets a grant.
pub(crate) const BUSY_MILLIS: u64 = 50;
/// Milliseconds that a grant lasts.
const LASTS_MILLIS: u64 = 100;

/// The time during which a grant may be drawn from, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term {
    from: u64,
    until: u64,
}

impl Term {
    /// Returns the term of a grant made now.
    pub(crate) fn from(now: u64) -> Self {
        Self { from: now, until: now.saturating_add(LASTS_MILLIS) }
    }

    /// Returns this term, ended at `end` at the latest.
    pub(crate) fn until_at_most(self, end: u64) -> Self {
        Self { until: self.until.min(end), ..self }
    }

    /// Returns whether it is over. A clock that was set back ends it too.
    pub(crate) fn has_ended(self, now: u64) -> bool {
        now < self.from || now >= self.until
    }
}

/// Number of slots. A grant whose slot is taken is not published: its callers ask.
const SLOTS: usize = 256;

/// Grants by their keys. `is` distinguishes the grant of a key from another one that shares its slot.
#[derive(Debug)]
pub(crate) struct Published<T>(Box<[ArcSwapOption<T>]>);

impl<T> Default for Published<T> {
    fn default() -> Self {
        Self((0..SLOTS).map(|_| ArcSwapOption::empty()).collect())
    }
}

impl<T> Published<T> {
    fn slot(&self, key: &impl Hash) -> Option<&ArcSwapOption<T>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.0.get(usize::try_from(hasher.finish() % SLOTS as u64).ok()?)
    }

    pub(crate) fn find(&self, key: &impl Hash, is: impl FnOnce(&T) -> bool) -> Option<Arc<T>> {
        self.slot(key)?.load_full().filter(|grant| is(grant))
    }

    /// Returns whether a grant of this key can be published.
    pub(crate) fn is_free_for(&self, key: &impl Hash, is: impl FnOnce(&T) -> bool) -> bool {
        self.slot(key).is_some_and(|slot| slot.load().as_ref().is_none_or(|there| is(there)))
    }

    pub(crate) fn publish(&self, key: &impl Hash, grant: Arc<T>) {
        if let Some(slot) = self.slot(key) {
            slot.store(Some(grant));
        }
    }

    pub(crate) fn remove(&self, key: &impl Hash, is: impl FnOnce(&T) -> bool) {
        if let Some(slot) = self.slot(key)
            && slot.load().as_ref().is_some_and(|there| is(there))
        {
            slot.store(None);
        }
    }

    /// Removes and returns everything.
    pub(crate) fn take_all(&self) -> impl Iterator<Item = Arc<T>> {
        // Most are empty, and exchanging is slow.
        self.0.iter().filter(|slot| slot.load().is_some()).filter_map(|slot| slot.swap(None))
    }
}
