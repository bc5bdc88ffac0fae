//! Where observations wait for the actor. It outlives the actor's incarnations, so that a death loses none.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::record::Observation;

/// As many as 100,000 devices may send in the time of a restart, and more than they do.
const CAPACITY: usize = 65_536;

/// Bounded; shared by whoever observes and the actor.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox(Arc<Mutex<VecDeque<Observation>>>);

impl Inbox {
    /// Whether it was empty before: the actor has to be told.
    pub fn push(&self, observation: Observation) -> bool {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= CAPACITY
            && let Some(lost) = waiting.pop_front()
        {
            // Its subject's next place mends what this one would have told.
            tracing::warn!(subject = %lost.subject.id, "geofences are behind: a place was not looked at");
        }
        waiting.push_back(observation);
        waiting.len() == 1
    }

    pub fn pop(&self) -> Option<Observation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
