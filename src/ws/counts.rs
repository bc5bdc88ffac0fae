//! Counts of connections, by user or device and of unauthenticated ones, over all threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::protocol::Subject;

/// Largest number of connections of a device: one, and another while it reconnects.
pub const MAX_PER_DEVICE: usize = 2;

#[derive(Debug, Default)]
struct Inner {
    anonymous: usize,
    /// By `usr_…`, `key_…` or `dev_…`.
    known: HashMap<Arc<str>, usize>,
    total: usize,
}

/// The connection counts of a server.
#[derive(Debug)]
pub struct Counts {
    inner: Mutex<Inner>,
    max_anonymous: usize,
    max_person: usize,
}

/// A counted connection. Dropping it reduces the count.
#[derive(Debug)]
pub struct Connected {
    counts: Arc<Counts>,
    subject: Option<Arc<str>>,
}

impl Counts {
    pub fn new(max_anonymous: usize, max_person: usize) -> Arc<Self> {
        Arc::new(Self { inner: Mutex::default(), max_anonymous, max_person })
    }

    /// Counts an unauthenticated connection; `None` if there are too many.
    pub fn anonymous(self: &Arc<Self>) -> Option<Connected> {
        let mut inner = self.lock();
        (inner.anonymous < self.max_anonymous).then(|| {
            inner.anonymous += 1;
            inner.total += 1;
            Connected { counts: Arc::clone(self), subject: None }
        })
    }

    /// Counts a connection of a user or device; `None` if it has too many.
    pub fn known(self: &Arc<Self>, subject: &Subject) -> Option<Connected> {
        let most = match subject {
            Subject::Person(_) | Subject::Key(..) => self.max_person,
            Subject::Device(_) => MAX_PER_DEVICE,
        };
        let id = subject.id();
        let mut inner = self.lock();
        let connections = inner.known.get(id).copied().unwrap_or_default();
        (connections < most).then(|| {
            inner.known.insert(Arc::clone(id), connections + 1);
            inner.total += 1;
            Connected { counts: Arc::clone(self), subject: Some(Arc::clone(id)) }
        })
    }

    pub fn total(&self) -> usize {
        self.lock().total
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut inner = self.counts.lock();
        inner.total = inner.total.saturating_sub(1);
        match &self.subject {
            None => inner.anonymous = inner.anonymous.saturating_sub(1),
            Some(id) => {
                let left = inner.known.get_mut(id).map(|connections| {
                    *connections = connections.saturating_sub(1);
                    *connections
                });
                if left == Some(0) {
                    inner.known.remove(id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_and_released_when_dropped() {
        let counts = Counts::new(1, 1);
        let device = Subject::Device("dev_1".into());
        let anonymous = counts.anonymous();
        assert!(anonymous.is_some() && counts.anonymous().is_none());
        let places = [counts.known(&device), counts.known(&device)];
        assert!(places.iter().all(Option::is_some) && counts.known(&device).is_none());
        assert!(counts.known(&Subject::Device("dev_2".into())).is_some(), "another device has places of its own");
        assert_eq!(counts.total(), 3);
        drop((anonymous, places));
        assert_eq!(counts.total(), 0);
        assert!(counts.anonymous().is_some() && counts.known(&device).is_some());
    }
}
