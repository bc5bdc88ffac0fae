//! Reads of stored records. Blocking, each short and bounded.

use std::sync::Arc;

use muster_store::{PageRequest, Record, StoreError, StoreHandle, Tree};

use super::keys;
use super::record::{Change, EntryId, EntryRecord, Owner, Place, Space, Usage, VectorRecord};

/// Reads a record.
///
/// # Errors
/// The store cannot be read.
pub(super) fn read<R: Record>(store: &StoreHandle, tree: Tree, key: &[u8]) -> Result<Option<R>, StoreError> {
    store.get(tree, key)?.map(|rec| R::decode(&rec)).transpose()
}

/// Returns the current version at a place, expired or not.
///
/// # Errors
/// The store cannot be read.
pub(super) fn entry(store: &StoreHandle, place: &Place) -> Result<Option<EntryRecord>, StoreError> {
    read(store, Tree::Memory, &keys::entry(place))
}

/// Returns the place of an owner's entry.
///
/// # Errors
/// The store cannot be read.
pub(super) fn place_of(store: &StoreHandle, owner: &Owner, id: EntryId) -> Result<Option<Place>, StoreError> {
    let rec = store.get(Tree::MemoryIds, &keys::id(owner, id))?;
    rec.map(|rec| read_place(&rec.bytes)).transpose()
}

/// Returns an owner's entry by id.
///
/// # Errors
/// The store cannot be read.
pub(super) fn entry_by_id(store: &StoreHandle, owner: &Owner, id: EntryId) -> Result<Option<EntryRecord>, StoreError> {
    let Some(place) = place_of(store, owner, id)? else { return Ok(None) };
    // Another entry may occupy its place by now.
    Ok(entry(store, &place)?.filter(|entry| entry.id == id))
}

/// Returns the vector of an entry; [`EntryRecord::is_vector_valid`] decides whether it is still valid.
///
/// # Errors
/// The store cannot be read.
pub(super) fn vector(store: &StoreHandle, id: EntryId) -> Result<Option<VectorRecord>, StoreError> {
    read(store, Tree::MemoryVectors, &keys::vector(id))
}

pub(super) fn version(store: &StoreHandle, id: EntryId, version: u32) -> Result<Option<EntryRecord>, StoreError> {
    read(store, Tree::MemoryHistory, &keys::version(id, version))
}

pub(super) fn usage(store: &StoreHandle, space: &Space) -> Result<Usage, StoreError> {
    Ok(read(store, Tree::MemoryIds, &keys::usage(space))?.unwrap_or_default())
}

/// Returns a page of changes after a change number, in order; empty at the end. Blocking.
///
/// # Errors
/// The store cannot be read.
pub(super) fn changes(store: &StoreHandle, behind: u64, limit: usize) -> Result<Vec<(u64, Change)>, StoreError> {
    let from = Some(keys::change(behind.saturating_add(1)));
    let page = store.record_page::<Change>([], PageRequest::of(limit).starting_at(from))?;
    let number = |(key, change): (Vec<u8>, _)| {
        let seq = key.try_into().map(u64::from_be_bytes);
        let seq = seq.map_err(|_| StoreError::Corrupt("memory_changes: a key that is not a number".to_owned()))?;
        Ok((seq, change))
    };
    page.items.into_iter().map(number).collect()
}

/// Returns the number of the last durable change; 0 before the first.
///
/// # Errors
/// The store cannot be read.
pub fn last_change(store: &StoreHandle) -> Result<u64, StoreError> {
    let Some(rec) = store.get(Tree::MemoryIds, keys::SEQ)? else { return Ok(0) };
    let seq = rec.bytes.as_slice().try_into().map(u64::from_be_bytes);
    seq.map_err(|_| StoreError::Corrupt("memory_ids: the number of changes".to_owned()))
}

/// Returns the number of entries of all owners, as their usage counts them. Blocking.
///
/// # Errors
/// The store cannot be read.
pub fn stored_entries(store: &StoreHandle) -> Result<u64, StoreError> {
    let mut entries = 0_u64;
    for found in store.entries(Tree::MemoryIds, keys::USAGES, PageRequest::default()) {
        let (key, rec) = found?;
        // An owner's own usage has no namespace behind the separator.
        if key.last() == Some(&0) {
            entries = entries.saturating_add(Usage::decode(&rec)?.entries);
        }
    }
    Ok(entries)
}

/// Parses the place of an entry, as stored in `Tree::MemoryIds` and `Tree::MemoryExpiry`.
pub(super) fn read_place(bytes: &[u8]) -> Result<Place, StoreError> {
    postcard::from_bytes(bytes).map_err(|why| StoreError::Corrupt(format!("memory: a place: {why}")))
}

/// Parses the key of a space's entry, as stored in `Tree::MemoryIds`.
pub(super) fn read_key(bytes: Vec<u8>) -> Result<Arc<str>, StoreError> {
    let key = String::from_utf8(bytes).map_err(|why| StoreError::Corrupt(format!("memory_ids: a key: {why}")))?;
    Ok(Arc::from(key))
}
