//! Reads of what is stored. Blocking, each short and bounded.

use std::sync::Arc;

use muster_store::{PageRequest, Record, StoreError, StoreHandle, Tree};

use super::place;
use super::record::{Change, EntryId, EntryRecord, Owner, Place, Space, Tally, VectorRecord};

pub(super) fn read<R: Record>(store: &StoreHandle, tree: Tree, key: &[u8]) -> Result<Option<R>, StoreError> {
    store.get(tree, key)?.map(|rec| R::decode(&rec)).transpose()
}

/// The present version at a place, expired or not.
///
/// # Errors
/// It cannot be read.
pub fn entry(store: &StoreHandle, place: &Place) -> Result<Option<EntryRecord>, StoreError> {
    read(store, Tree::Memory, &place::entry(place))
}

/// Where an owner's entry stands.
///
/// # Errors
/// It cannot be read.
pub fn place_of(store: &StoreHandle, owner: &Owner, id: EntryId) -> Result<Option<Place>, StoreError> {
    let rec = store.get(Tree::MemoryIds, &place::id(owner, id))?;
    rec.map(|rec| read_place(&rec.bytes)).transpose()
}

/// An owner's entry, by identifier.
///
/// # Errors
/// It cannot be read.
pub fn entry_by_id(store: &StoreHandle, owner: &Owner, id: EntryId) -> Result<Option<EntryRecord>, StoreError> {
    let Some(place) = place_of(store, owner, id)? else { return Ok(None) };
    // Its place may have been taken by another since.
    Ok(entry(store, &place)?.filter(|entry| entry.id == id))
}

/// What a model made of an entry. Whether it still stands, [`EntryRecord::stands`] says.
///
/// # Errors
/// It cannot be read.
pub fn vector(store: &StoreHandle, id: EntryId) -> Result<Option<VectorRecord>, StoreError> {
    read(store, Tree::MemoryVectors, &place::vector(id))
}

pub(super) fn version(store: &StoreHandle, id: EntryId, version: u32) -> Result<Option<EntryRecord>, StoreError> {
    read(store, Tree::MemoryHistory, &place::version(id, version))
}

pub(super) fn tally(store: &StoreHandle, space: &Space) -> Result<Tally, StoreError> {
    Ok(read(store, Tree::MemoryIds, &place::tally(space))?.unwrap_or_default())
}

/// A page of what happened behind that change, in order; empty at the end. Blocking.
///
/// # Errors
/// It cannot be read.
pub fn changes(store: &StoreHandle, behind: u64, limit: usize) -> Result<Vec<(u64, Change)>, StoreError> {
    let from = Some(place::change(behind.saturating_add(1)));
    let page = store.record_page::<Change>([], PageRequest::of(limit).starting_at(from))?;
    let number = |(key, change): (Vec<u8>, _)| {
        let seq = key.try_into().map(u64::from_be_bytes);
        let seq = seq.map_err(|_| StoreError::Corrupt("memory_changes: a key that is no number".to_owned()))?;
        Ok((seq, change))
    };
    page.items.into_iter().map(number).collect()
}

/// A page of all entries, expired ones among them, and where the next begins. For an index that is built anew: take
/// [`last_change`] before the first page, and what happened behind it after the last.
///
/// # Errors
/// They cannot be read.
pub fn entries(
    store: &StoreHandle,
    from: Option<Vec<u8>>,
    limit: usize,
) -> Result<(Vec<EntryRecord>, Option<Vec<u8>>), StoreError> {
    let page = store.record_page([], PageRequest::of(limit).starting_at(from))?;
    Ok((page.items.into_iter().map(|(_, entry)| entry).collect(), page.next))
}

/// The number of the last change that is durable; 0 before the first.
///
/// # Errors
/// It cannot be read.
pub fn last_change(store: &StoreHandle) -> Result<u64, StoreError> {
    let Some(rec) = store.get(Tree::MemoryIds, place::SEQ)? else { return Ok(0) };
    let seq = rec.bytes.as_slice().try_into().map(u64::from_be_bytes);
    seq.map_err(|_| StoreError::Corrupt("memory_ids: the number of changes".to_owned()))
}

pub(super) fn read_place(bytes: &[u8]) -> Result<Place, StoreError> {
    postcard::from_bytes(bytes).map_err(|why| StoreError::Corrupt(format!("memory: a place: {why}")))
}

/// The key of an entry of a space, as `Tree::MemoryIds` holds it.
pub(super) fn read_key(bytes: Vec<u8>) -> Result<Arc<str>, StoreError> {
    let key = String::from_utf8(bytes).map_err(|why| StoreError::Corrupt(format!("memory_ids: a key: {why}")))?;
    Ok(Arc::from(key))
}
