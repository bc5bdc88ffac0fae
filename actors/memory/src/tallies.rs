//! Tallies of spaces and owners after all decisions so far.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use muster_store::{StoreError, StoreHandle};

use super::record::{Owner, Space, Tally};
use super::state::Delta;
use super::stored;

/// Maximum number of cached tallies.
const MAX_HELD: usize = 50_000;

/// Read from the store when first needed.
#[derive(Debug, Default)]
pub(super) struct Tallies(HashMap<Space, Tally>);

/// Location of an owner's own tally: no namespace is empty.
pub(super) fn whole(owner: &Owner) -> Space {
    Space::new(owner.clone(), "")
}

impl Tallies {
    /// Loads the tallies of a space and its owner.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn hold(&mut self, store: &StoreHandle, space: &Space) -> Result<(), StoreError> {
        for space in [space.clone(), whole(&space.owner)] {
            if let Entry::Vacant(vacant) = self.0.entry(space) {
                let tally = stored::tally(store, vacant.key())?;
                vacant.insert(tally);
            }
        }
        Ok(())
    }

    /// Returns a loaded tally.
    pub(super) fn held(&self, space: &Space) -> Tally {
        self.0.get(space).copied().unwrap_or_default()
    }

    /// Updates the tallies of a loaded space and its owner, and returns them.
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

    /// Evicts tallies that the store has: only while everything decided is durable.
    pub(super) fn ease(&mut self) {
        if self.0.len() > MAX_HELD {
            self.0.clear();
        }
    }
}
