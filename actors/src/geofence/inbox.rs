//! Where observations wait for the actor. It outlives the actor's incarnations, so that a death loses none that waits yet.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;

use super::record::Observation;

/// As many as 100,000 devices may send in the time of a restart, and more than they do.
const CAPACITY: usize = 65_536;

/// Bounded; shared by whoever observes and the actor.
#[derive(Debug, Clone)]
pub(super) struct Inbox(Arc<ArrayQueue<Observation>>);

impl Default for Inbox {
    fn default() -> Self {
        Self(Arc::new(ArrayQueue::new(CAPACITY)))
    }
}

impl Inbox {
    /// Whether it was empty before: the actor has to be told. Where two race for that, its next tick finds them.
    pub fn push(&self, observation: Observation) -> bool {
        let idle = self.0.is_empty();
        if let Some(lost) = self.0.force_push(observation) {
            // Its subject's next place mends what this one would have told.
            tracing::warn!(subject = %lost.subject.id, "geofences are behind: a place was not looked at");
        }
        idle
    }

    pub fn pop(&self) -> Option<Observation> {
        self.0.pop()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
