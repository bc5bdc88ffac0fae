//! Figures of spaces and owners, as they are after everything that was decided.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use muster_store::{StoreError, StoreHandle};

use super::record::{Owner, Space, Tally};
use super::state::Delta;
use super::stored;

/// Most figures that are kept beside the store.
const MAX_HELD: usize = 50_000;

/// Read when they are first needed.
#[derive(Debug, Default)]
pub(super) struct Tallies(HashMap<Space, Tally>);

/// Where an owner's own figures stand: no namespace is empty.
pub(super) fn whole(owner: &Owner) -> Space {
    Space::new(owner.clone(), "")
}

impl Tallies {
    /// Has the figures of a space and its owner at hand.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn hold(&mut self, store: &StoreHandle, space: &Space) -> Result<(), StoreError> {
        for space in [space.clone(), whole(&space.owner)] {
            if let Entry::Vacant(vacant) = self.0.entry(space) {
                let tally = stored::tally(store, vacant.key())?;
                vacant.insert(tally);
            }
        }
        Ok(())
    }

    /// Figures that are at hand.
    pub(super) fn held(&self, space: &Space) -> Tally {
        self.0.get(space).copied().unwrap_or_default()
    }

    /// Moves the figures of a space at hand, and its owner's; gives them as they are now.
    pub(super) fn count(&mut self, space: &Space, delta: Delta) -> [(Space, Tally); 2] {
        [space.clone(), whole(&space.owner)].map(|space| {
            let tally = self.held(&space).moved(delta);
            self.0.insert(space.clone(), tally);
            (space, tally)
        })
    }

    pub(super) fn forget(&mut self, owner: &Owner) {
        self.0.retain(|space, _| space.owner != *owner);
    }

    /// Lets go of what the store has: only while everything decided is durable.
    pub(super) fn ease(&mut self) {
        if self.0.len() > MAX_HELD {
            self.0.clear();
        }
    }
}
