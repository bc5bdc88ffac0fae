//! Rebuilds slots from the store's entries. Blocking.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use muster_store::{PageRequest, Record, StoreError, Tree};

use super::loader::Loader;
use super::messages::Event;
use super::slot::Slot;
use crate::checkpoint::SlotNumber;
use crate::record::{EntryRecord, Owner, Space, Tally};
use crate::{place, stored};

/// Entries read per page.
const PAGE: usize = 250;
/// Interval at which partial results are published to searches.
const SHOW_EVERY: Duration = Duration::from_secs(1);

impl Loader {
    /// Rebuilds slots, given in order, from the store. Partial results can be searched meanwhile.
    pub(super) fn rebuild(&self, numbers: &[SlotNumber]) -> Result<Vec<Slot>, StoreError> {
        // Before the first page: later changes are applied from the change log.
        let last = stored::last_change(&self.shard_context.store)?;
        let mut slots: Vec<Slot> = numbers.iter().map(|number| Slot::new(*number)).collect();
        slots.iter_mut().for_each(|slot| slot.changed = last);
        let all = self.count(numbers).unwrap_or(0);
        let (mut done, mut unseen) = (0, BTreeSet::new());
        let mut shown = Instant::now();
        let from = |from| self.shard_context.store.entries(Tree::Memory, [], PageRequest::of(PAGE).starting_at(from));
        let mut entries = from(None);
        while let Some(entry) = entries.next().filter(|_| !self.gone.is_cancelled()) {
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
            unseen.insert(record.place.space);
            done += 1;
            if shown.elapsed() >= SHOW_EVERY {
                self.percent(done, all);
                self.show(&slots, std::mem::take(&mut unseen));
                shown = Instant::now();
            }
        }
        tracing::info!(shard = self.shard, slots = numbers.len(), entries = done, "the memory's index was built anew");
        Ok(slots)
    }

    /// Clones share their content, so this only costs later modifications.
    fn show(&self, slots: &[Slot], spaces: BTreeSet<Space>) {
        let find = |space: Space| {
            let collection = slots.iter().find_map(|slot| slot.collections.get(&space))?.clone();
            Some((space, collection))
        };
        self.send(Event::Partial(spaces.into_iter().filter_map(find).collect()));
    }

    /// Number of entries in the slots, from the owners' tallies.
    fn count(&self, numbers: &[SlotNumber]) -> Result<u64, StoreError> {
        let mut all = 0;
        for found in self.shard_context.store.records::<Tally>(b"n/", PageRequest::of(PAGE)) {
            let (key, tally) = found?;
            // The tallies of its spaces follow the owner's own.
            let owner = key.strip_prefix(b"n/").and_then(|rest| rest.strip_suffix(b"\0"));
            let owner = owner.and_then(|owner| std::str::from_utf8(owner).ok()).map(Owner::new);
            if owner.is_some_and(|owner| numbers.binary_search(&SlotNumber::of(&owner)).is_ok()) {
                all += tally.entries;
            }
        }
        Ok(all)
    }
}

/// Lower bound of the next owner's entries.
fn behind(owner: &Owner) -> Vec<u8> {
    let mut key = place::of_owner(owner);
    key.pop();
    key.push(1);
    key
}
