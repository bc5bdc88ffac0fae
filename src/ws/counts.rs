//! How many connections there are, of each person and without one, over all threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
struct Inner {
    anonymous: usize,
    people: HashMap<Arc<str>, usize>,
    total: usize,
}

/// The connections of a server.
#[derive(Debug)]
pub struct Counts {
    inner: Mutex<Inner>,
    max_anonymous: usize,
    max_person: usize,
}

/// A connection's place; dropped, it is free again.
#[derive(Debug)]
pub struct Connected {
    counts: Arc<Counts>,
    person: Option<Arc<str>>,
}

impl Counts {
    pub fn new(max_anonymous: usize, max_person: usize) -> Arc<Self> {
        Arc::new(Self { inner: Mutex::default(), max_anonymous, max_person })
    }

    /// A place for one that has not said yet who it is; `None` where there is none left.
    pub fn anonymous(self: &Arc<Self>) -> Option<Connected> {
        let mut inner = self.lock();
        (inner.anonymous < self.max_anonymous).then(|| {
            inner.anonymous += 1;
            inner.total += 1;
            Connected { counts: Arc::clone(self), person: None }
        })
    }

    /// A person's place; `None` where the person has as many connections as may be.
    pub fn person(self: &Arc<Self>, user: &Arc<str>) -> Option<Connected> {
        let mut inner = self.lock();
        let connections = inner.people.get(user).copied().unwrap_or_default();
        (connections < self.max_person).then(|| {
            inner.people.insert(Arc::clone(user), connections + 1);
            inner.total += 1;
            Connected { counts: Arc::clone(self), person: Some(Arc::clone(user)) }
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
        match &self.person {
            None => inner.anonymous = inner.anonymous.saturating_sub(1),
            Some(user) => {
                let left = inner.people.get_mut(user).map(|connections| {
                    *connections = connections.saturating_sub(1);
                    *connections
                });
                if left == Some(0) {
                    inner.people.remove(user);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_and_free_again_when_dropped() {
        let counts = Counts::new(1, 2);
        let user: Arc<str> = "usr_1".into();
        let anonymous = counts.anonymous();
        assert!(anonymous.is_some() && counts.anonymous().is_none());
        let places = [counts.person(&user), counts.person(&user)];
        assert!(places.iter().all(Option::is_some) && counts.person(&user).is_none());
        assert!(counts.person(&"usr_2".into()).is_some(), "another person has places of their own");
        assert_eq!(counts.total(), 3);
        drop((anonymous, places));
        assert_eq!(counts.total(), 0);
        assert!(counts.anonymous().is_some() && counts.person(&user).is_some());
    }
}
