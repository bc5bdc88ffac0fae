//! Turns: how many calls of sentinels run at one time, and whose is next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::engine::FairQueue;

/// A bound on calls that run at one time, fair between principals. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Turns(Arc<Mutex<TurnQueue>>);

#[derive(Debug)]
struct TurnQueue {
    queue: FairQueue,
    waiting: HashMap<u64, oneshot::Sender<()>>,
}

/// The right to run one call, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Turns,
    principal: Arc<str>,
    number: u64,
}

impl Turns {
    /// Creates a bound of `slots` calls, at least one.
    pub(super) fn new(slots: usize) -> Self {
        let queue = TurnQueue { queue: FairQueue::new(slots, slots), waiting: HashMap::new() };
        Self(Arc::new(Mutex::new(queue)))
    }

    /// Waits for a turn. Dropping the future gives up the place.
    pub(super) async fn take(&self, principal: &Arc<str>) -> Turn {
        let (sender, receiver) = oneshot::channel();
        let number = {
            let mut turns = self.lock();
            let number = turns.queue.push(principal);
            turns.waiting.insert(number, sender);
            turns.start_all();
            number
        };
        // Made before the wait: dropping it returns the place, or the turn that was given at the same moment.
        let turn = Turn { turns: self.clone(), principal: Arc::clone(principal), number };
        // The sender is dropped by nobody before it has sent.
        let _ = receiver.await;
        turn
    }

    fn lock(&self) -> MutexGuard<'_, TurnQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnQueue {
    /// Gives free slots to the next ones.
    fn start_all(&mut self) {
        while let Some(number) = self.queue.start_next() {
            if let Some(waiting) = self.waiting.remove(&number) {
                // Who no longer waits returns its turn when it is dropped.
                let _ = waiting.send(());
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = self.turns.lock();
        turns.waiting.remove(&self.number);
        if !turns.queue.remove(self.number) {
            turns.queue.finish(&self.principal);
        }
        turns.start_all();
    }
}
