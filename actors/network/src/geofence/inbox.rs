//! Queue of observations for the actor. It outlives the actor's incarnations, so that a restart loses no waiting
//! observation.

use std::sync::Arc;

use crossbeam_queue::{ArrayQueue, SegQueue};

use super::record::Observation;

/// Largest number of waiting observations: more than 100,000 devices send during a restart.
const CAPACITY: usize = 65_536;

/// Queue shared by the actor and the features that report locations.
#[derive(Debug, Clone)]
pub(super) struct Inbox(Arc<Queues>);

#[derive(Debug)]
struct Queues {
    /// Single observations, bounded.
    updates: ArrayQueue<Observation>,
    /// Lists of locations at the start of features: one list for each start, consumed item by item.
    initial: SegQueue<Vec<Observation>>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self(Arc::new(Queues { updates: ArrayQueue::new(CAPACITY), initial: SegQueue::new() }))
    }
}

impl Inbox {
    /// Adds an observation; returns whether the inbox was empty before, so that the actor must be notified. If two
    /// callers race, the actor's next tick finds both.
    pub fn push(&self, observation: Observation) -> bool {
        let idle = self.is_empty();
        if let Some(lost) = self.0.updates.force_push(observation) {
            // The subject's next observation corrects the membership.
            tracing::warn!(subject = %lost.subject.id, "geofences are behind: a place was not looked at");
        }
        idle
    }

    /// Adds the locations of all subjects of a feature.
    pub fn push_all(&self, observations: Vec<Observation>) {
        self.0.initial.push(observations);
    }

    /// Removes the next observation, locations at start first, so that a newer observation of the same subject wins.
    pub fn pop(&self) -> Option<Observation> {
        while let Some(mut all) = self.0.initial.pop() {
            if let Some(one) = all.pop() {
                self.0.initial.push(all);
                return Some(one);
            }
        }
        self.0.updates.pop()
    }

    /// Returns the number of waiting single observations.
    pub fn waiting(&self) -> usize {
        self.0.updates.len()
    }

    /// Returns whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.0.initial.is_empty() && self.0.updates.is_empty()
    }
}
