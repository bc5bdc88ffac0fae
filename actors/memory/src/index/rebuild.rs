//! Rebuilds slots from the store's entries. Blocking.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use muster_store::{PageRequest, Record, StoreError, Tree};

use super::loader::Loader;
use super::messages::Event;
use super::slot::Slot;
use crate::checkpoint::SlotNumber;
use crate::record::{EntryRecord, Owner, Space, Usage};
use crate::{keys, stored};

/// Entries read per page.
const PAGE: usize = 250;
/// Interval at which partial results are published to searches.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

impl Loader {
    /// Rebuilds slots, given in order, from the store. Partial results can be searched meanwhile.
    pub(super) fn rebuild(&self, numbers: &[SlotNumber]) -> Result<Vec<Slot>, StoreError> {
        // Before the first page: later changes are applied from the change log.
        let last = stored::last_change(&self.shard_context.store)?;
        let mut slots: Vec<Slot> = numbers.iter().map(|number| Slot::new(*number)).collect();
        slots.iter_mut().for_each(|slot| slot.changed = last);
        let total = self.count_entries(numbers).unwrap_or(0);
        let (mut done, mut unpublished) = (0, BTreeSet::new());
        let mut published = Instant::now();
        let from = |from| self.shard_context.store.entries(Tree::Memory, [], PageRequest::of(PAGE).starting_at(from));
        let mut entries = from(None);
        while let Some(entry) = entries.next().filter(|_| !self.stopped.is_cancelled()) {
            let record = match EntryRecord::decode(&entry?.1) {
                Ok(record) => record,
                Err(error) => {
                    tracing::error!(%error, "an entry is not in the memory's index");
                    continue;
                }
            };
            let number = SlotNumber::of(record.owner());
            let Some(slot) = numbers.binary_search(&number).ok().and_then(|place| slots.get_mut(place)) else {
                entries = from(Some(behind(record.owner())));
                continue;
            };
            slot.put(&record, &self.shard_context);
            slot.stored_vector(&record, &self.shard_context)?;
            unpublished.insert(record.place.space);
            done += 1;
            if published.elapsed() >= PUBLISH_EVERY {
                self.publish_percent(done, total);
                self.publish_partial(&slots, std::mem::take(&mut unpublished));
                published = Instant::now();
            }
        }
        tracing::info!(
            shard = self.shard,
            slots = numbers.len(),
            entries = done,
            "the memory's index was rebuilt from the store"
        );
        Ok(slots)
    }

    /// Publishes copies of these spaces. Clones share their content, so this only costs later modifications.
    fn publish_partial(&self, slots: &[Slot], spaces: BTreeSet<Space>) {
        let find = |space: Space| {
            let collection = slots.iter().find_map(|slot| slot.collections.get(&space))?.clone();
            Some((space, collection))
        };
        self.send(Event::Partial(spaces.into_iter().filter_map(find).collect()));
    }

    /// Returns the number of entries in the slots, from the owners' usage.
    fn count_entries(&self, numbers: &[SlotNumber]) -> Result<u64, StoreError> {
        let mut all = 0;
        for found in self.shard_context.store.records::<Usage>(b"n/", PageRequest::of(PAGE)) {
            let (key, usage) = found?;
            // The usage of its spaces follows the owner's own.
            let owner = key.strip_prefix(b"n/").and_then(|rest| rest.strip_suffix(b"\0"));
            let owner = owner.and_then(|owner| std::str::from_utf8(owner).ok()).map(Owner::new);
            if owner.is_some_and(|owner| numbers.binary_search(&SlotNumber::of(&owner)).is_ok()) {
                all += usage.entries;
            }
        }
        Ok(all)
    }
}

/// Returns the lower bound of the next owner's entries.
fn behind(owner: &Owner) -> Vec<u8> {
    let mut key = keys::of_owner(owner);
    key.pop();
    key.push(1);
    key
}
