//! Reads the stored data of an owner in slices, in order to delete it: entries with their history, expiry and vectors,
//! changes, stored responses, usage.

use muster_store::{Op, PageRequest, StoreError, StoreHandle, Tree};

use super::keys;
use super::messages::ForgottenCounts;
use super::record::{Change, EntryId, EntryRecord, Owner, Place};
use super::responses::is_ours;
use super::state::Transaction;
use super::stored;
use muster_core::{Millis, idempotency};

/// Ids read per page.
const IDS: usize = 256;
/// Approximate number of writes per slice; an entry has at most 72.
const MAX_OPS: usize = 1_900;
/// Approximate bytes of values read per slice.
const MAX_BYTES: u64 = 8 << 20;
/// Records of other trees read per page.
const PAGE: usize = 1_000;

/// Position of the deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    Entries,
    Changes(Option<Vec<u8>>),
    Answers(Option<Vec<u8>>),
    Usage,
    Done,
}

/// A slice of data to be deleted.
#[derive(Debug)]
pub(super) struct OwnerDataSlice {
    pub(super) ops: Vec<Op>,
    pub(super) forgotten: ForgottenCounts,
    /// Position after that is durable.
    pub(super) next: Stage,
}

/// Returns the next slice of an owner's data. Blocking.
///
/// # Errors
/// The store cannot be read.
pub(super) fn part(store: &StoreHandle, owner: &Owner, stage: &Stage) -> Result<OwnerDataSlice, StoreError> {
    match stage {
        Stage::Entries => entries(store, owner),
        Stage::Changes(from) => changes(store, owner, from.clone()),
        Stage::Answers(from) => {
            let (ops, next) = idempotency::delete_ops_of(store, owner.as_str(), from.clone(), is_ours)?;
            let next = next.map_or(Stage::Usage, |from| Stage::Answers(Some(from)));
            Ok(OwnerDataSlice { ops, forgotten: ForgottenCounts::default(), next })
        }
        Stage::Usage => usage(store, owner),
        Stage::Done => Ok(OwnerDataSlice { ops: Vec::new(), forgotten: ForgottenCounts::default(), next: Stage::Done }),
    }
}

/// Always from the beginning: deleted entries are not found again.
fn entries(store: &StoreHandle, owner: &Owner) -> Result<OwnerDataSlice, StoreError> {
    let mut next = Stage::Changes(None);
    // Only the writes of the transaction are used: the indexes and the usage of the owner are updated as a whole.
    let (mut transaction, mut forgotten, mut bytes) = (Transaction::new(Millis(0), 0), ForgottenCounts::default(), 0);
    for entry in store.entries(Tree::MemoryIds, keys::ids_of_owner(owner), PageRequest::of(IDS)).take(IDS) {
        let (key, rec) = entry?;
        next = Stage::Entries;
        let place = stored::read_place(&rec.bytes)?;
        let Some(id) = keys::read_id(&key) else { continue };
        forgotten.vectors += u64::from(store.get(Tree::MemoryVectors, &keys::vector(id))?.is_some());
        match stored::entry(store, &place) {
            Ok(Some(entry)) if entry.id == id => {
                forgotten.entries += 1;
                forgotten.versions += entry.kept.len() as u64;
                bytes += entry.bytes();
                transaction.erase(&entry);
            }
            found => delete_unreadable(&mut transaction, &place, id, found)?,
        }
        if transaction.ops.len() > MAX_OPS || bytes > MAX_BYTES {
            break;
        }
    }
    Ok(OwnerDataSlice { ops: transaction.ops, forgotten, next })
}

/// Deletes everything known about an id without a readable entry.
fn delete_unreadable(
    transaction: &mut Transaction,
    place: &Place,
    id: EntryId,
    found: Result<Option<EntryRecord>, StoreError>,
) -> Result<(), StoreError> {
    match found {
        Err(StoreError::Corrupt(why)) => {
            tracing::warn!(%id, why, "an entry that cannot be read is deleted with its owner");
            transaction.delete(Tree::Memory, keys::entry(place));
        }
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    transaction.delete(Tree::MemoryIds, keys::id(&place.space.owner, id));
    transaction.delete(Tree::MemoryIds, keys::id_in(&place.space, id));
    transaction.delete(Tree::MemoryVectors, keys::vector(id));
    Ok(())
}

/// The record of the owner's deletion stays in the log for indexes that have yet to read it.
fn changes(store: &StoreHandle, owner: &Owner, from: Option<Vec<u8>>) -> Result<OwnerDataSlice, StoreError> {
    let page = store.record_page::<Change>([], PageRequest::of(PAGE).starting_at(from))?;
    let mut ops = Vec::new();
    for (key, change) in page.items {
        if change.owner() == owner && !matches!(change, Change::OwnerDeleted { .. }) {
            ops.push(Op::Delete { tree: Tree::MemoryChanges, key });
        }
    }
    let next = page.next.map_or(Stage::Answers(None), |from| Stage::Changes(Some(from)));
    Ok(OwnerDataSlice { ops, forgotten: ForgottenCounts::default(), next })
}

fn usage(store: &StoreHandle, owner: &Owner) -> Result<OwnerDataSlice, StoreError> {
    let mut usage = store.entries(Tree::MemoryIds, keys::usages(owner), PageRequest::of(PAGE));
    let delete = |(key, _)| Op::Delete { tree: Tree::MemoryIds, key };
    let ops = usage.by_ref().take(PAGE).map(|entry| entry.map(delete)).collect::<Result<_, _>>()?;
    let next = if usage.resume_at().is_some() { Stage::Usage } else { Stage::Done };
    Ok(OwnerDataSlice { ops, forgotten: ForgottenCounts::default(), next })
}
