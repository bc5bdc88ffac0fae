//! Cache of the usage of spaces and owners, after all decisions so far.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use muster_store::{StoreError, StoreHandle};

use super::record::{Owner, Space, Usage};
use super::state::UsageDelta;
use super::stored;

/// Maximum number of cached values.
const MAX_CACHED: usize = 50_000;

/// Read from the store when first needed.
#[derive(Debug, Default)]
pub(super) struct UsageCache(HashMap<Space, Usage>);

/// Location of an owner's own usage: no namespace is empty.
pub(super) fn owner_total(owner: &Owner) -> Space {
    Space::new(owner.clone(), "")
}

impl UsageCache {
    /// Loads the usage of a space and its owner.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn hold(&mut self, store: &StoreHandle, space: &Space) -> Result<(), StoreError> {
        for space in [space.clone(), owner_total(&space.owner)] {
            if let Entry::Vacant(vacant) = self.0.entry(space) {
                let usage = stored::usage(store, vacant.key())?;
                vacant.insert(usage);
            }
        }
        Ok(())
    }

    /// Returns a loaded usage.
    pub(super) fn held(&self, space: &Space) -> Usage {
        self.0.get(space).copied().unwrap_or_default()
    }

    /// Updates the usage of a loaded space and its owner, and returns both.
    pub(super) fn count(&mut self, space: &Space, delta: UsageDelta) -> [(Space, Usage); 2] {
        [space.clone(), owner_total(&space.owner)].map(|space| {
            let usage = self.held(&space).plus(delta);
            self.0.insert(space.clone(), usage);
            (space, usage)
        })
    }

    pub(super) fn forget(&mut self, owner: &Owner) {
        self.0.retain(|space, _| space.owner != *owner);
    }

    /// Evicts values that the store has: only while everything decided is durable.
    pub(super) fn ease(&mut self) {
        if self.0.len() > MAX_CACHED {
            self.0.clear();
        }
    }
}
