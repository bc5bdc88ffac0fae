//! How many fetches run at a time: of all callers, and of one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Fetches of all callers at a time.
const ALL: usize = 8;
/// Fetches of one caller at a time.
const EACH: usize = 2;

/// The turns of all callers. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    all: Arc<Semaphore>,
    /// Semaphores of callers that fetch or wait.
    callers: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
}

/// A turn, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_caller: Option<OwnedSemaphorePermit>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(ALL)), callers: Arc::default() }
    }
}

impl Turns {
    /// Waits for a turn. The caller's own comes first, so that who waits for it takes none from others.
    pub(super) async fn take(&self, caller: &str) -> Turn {
        let of_caller = self.of(caller).acquire_owned().await.ok();
        Turn { _of_all: Arc::clone(&self.all).acquire_owned().await.ok(), _of_caller: of_caller }
    }

    fn of(&self, caller: &str) -> Arc<Semaphore> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = callers.get(caller).and_then(Weak::upgrade) {
            return known;
        }
        callers.retain(|_, semaphore| semaphore.strong_count() > 0);
        let made = Arc::new(Semaphore::new(EACH));
        callers.insert(caller.to_owned(), Arc::downgrade(&made));
        made
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_caller_has_two_turns_and_all_have_eight() {
        let turns = Turns::default();
        let mut held = vec![turns.take("a").await, turns.take("a").await];
        assert!(turns.take("a").now_or_never().is_none());
        for caller in ["b", "c", "d"] {
            held.push(turns.take(caller).await);
            held.push(turns.take(caller).await);
        }
        assert!(turns.take("e").now_or_never().is_none(), "the ninth");
        held.remove(0);
        assert!(turns.take("a").now_or_never().is_some());
        drop(held);
        assert!(turns.take("f").now_or_never().is_some());
        assert_eq!(turns.callers.lock().unwrap().len(), 1, "callers without a turn are forgotten");
    }
}
