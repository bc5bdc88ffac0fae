//! Where observations wait for the actor. It outlives the actor's incarnations, so that a death loses none that waits yet.

use std::sync::Arc;

use crossbeam_queue::{ArrayQueue, SegQueue};

use super::record::Observation;

/// As many as 100,000 devices may send in the time of a restart, and more than they do.
const CAPACITY: usize = 65_536;

/// Shared by whoever observes and the actor.
#[derive(Debug, Clone)]
pub(super) struct Inbox(Arc<Waiting>);

#[derive(Debug)]
struct Waiting {
    /// Bounded.
    single: ArrayQueue<Observation>,
    /// What features began with: as many lists as starts of theirs, taken apart one by one.
    whole: SegQueue<Vec<Observation>>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self(Arc::new(Waiting { single: ArrayQueue::new(CAPACITY), whole: SegQueue::new() }))
    }
}

impl Inbox {
    /// Whether it was empty before: the actor has to be told. Where two race for that, its next tick finds them.
    pub fn push(&self, observation: Observation) -> bool {
        let idle = self.is_empty();
        if let Some(lost) = self.0.single.force_push(observation) {
            // Its subject's next place mends what this one would have told.
            tracing::warn!(subject = %lost.subject.id, "geofences are behind: a place was not looked at");
        }
        idle
    }

    pub fn push_all(&self, observations: Vec<Observation>) {
        self.0.whole.push(observations);
    }

    /// What features began with comes first: what is newer of the same subject counts then.
    pub fn pop(&self) -> Option<Observation> {
        while let Some(mut all) = self.0.whole.pop() {
            if let Some(one) = all.pop() {
                self.0.whole.push(all);
                return Some(one);
            }
        }
        self.0.single.pop()
    }

    /// Single places that wait.
    pub fn waiting(&self) -> usize {
        self.0.single.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.whole.is_empty() && self.0.single.is_empty()
    }
}
