//! Entries that lack a vector of the current model.

use std::collections::BTreeMap;

use actix::{Context, Handler};

use super::actor::Shard;
use super::messages::ListMissingVectors;
use crate::checkpoint::SlotNumber;
use crate::embed::round_robin::{group_by_owner, interleave};
use crate::record::{EntryId, Owner, Space};

/// Maximum number returned at once.
const MAX_ENTRIES: usize = 5_000;
/// Maximum number of an owner's namespaces visited at once.
const MAX_SPACES: usize = 16;

impl Shard {
    /// Returns a few entries of each owner in turn.
    fn missing_vectors(&mut self, limit: usize) -> Vec<(Space, EntryId)> {
        let ready = self.slots.values().filter(|slot_state| slot_state.loading.is_none());
        let spaces = ready.flat_map(|slot_state| slot_state.slot.missing_vectors.iter().cloned());
        let owners = group_by_owner(spaces, |space| space.owner.clone(), self.last.as_ref());
        let (mut missing_vectors, mut left) = (Vec::new(), limit);
        for spaces in owners {
            if left == 0 {
                break;
            }
            let of_owner = self.of_owner(spaces, limit);
            left -= usize::from(!of_owner.is_empty());
            missing_vectors.push(of_owner);
        }
        let missing_vectors = interleave(missing_vectors, limit);
        self.last = missing_vectors.last().map(|(space, _): &(Space, _)| space.owner.clone());
        missing_vectors
    }

    fn of_owner(&mut self, spaces: Vec<Space>, limit: usize) -> Vec<(Space, EntryId)> {
        let mut by_space: BTreeMap<Space, Vec<(Space, EntryId)>> = BTreeMap::new();
        for space in spaces {
            let Some(slot_state) = self.slots.get_mut(&SlotNumber::of(&space.owner)) else { continue };
            let collection = slot_state.slot.collections.get(&space);
            let ids = collection.map_or_else(Vec::new, |collection| collection.without_vector(limit));
            if ids.is_empty() {
                slot_state.slot.missing_vectors.remove(&space);
                continue;
            }
            by_space.insert(space.clone(), ids.into_iter().map(|id| (space.clone(), EntryId(id))).collect());
            if by_space.len() >= MAX_SPACES {
                break;
            }
        }
        interleave(by_space.into_values().collect(), limit)
    }

    /// Returns the number of the owner's entries that lack one.
    pub(super) fn count_missing_vectors(&self, owner: &Owner) -> u64 {
        let Some(slot_state) = self.slots.get(&SlotNumber::of(owner)) else { return 0 };
        slot_state.slot.of_owner(owner).map(|(_, collection)| (collection.len() - collection.vectors()) as u64).sum()
    }
}

impl Handler<ListMissingVectors> for Shard {
    type Result = Vec<(Space, EntryId)>;

    fn handle(&mut self, ListMissingVectors(limit): ListMissingVectors, _: &mut Context<Self>) -> Self::Result {
        self.catch_up();
        self.missing_vectors(limit.min(MAX_ENTRIES))
    }
}
