//! Deletion and expiry of entries.

use std::sync::Arc;

use muster_store::{StoreError, Tree};

use super::rejection::Rejection;
use super::store::check_precondition;
use super::transaction::Transaction;
use super::usage_delta::UsageDelta;
use crate::keys;
use crate::messages::Precondition;
use crate::record::{EntryId, EntryRecord};
use muster_core::Millis;

/// Deletes an entry with its history; returns false if there was none.
///
/// # Errors
/// As for a store.
pub(crate) fn delete(
    transaction: &mut Transaction,
    present: Option<&EntryRecord>,
    precondition: Precondition,
) -> Result<Result<bool, Rejection>, StoreError> {
    let live = present.filter(|present| !present.expired(transaction.now));
    if let Err(refused) = check_precondition(precondition, live) {
        return Ok(Err(refused));
    }
    if let Some(present) = present {
        transaction.remove(present)?;
    }
    Ok(Ok(live.is_some()))
}

/// A row of `Tree::MemoryExpiry`: the expiry of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpiryRow {
    pub(crate) at: Millis,
    pub(crate) id: EntryId,
    pub(crate) version: u32,
}

/// What expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expired {
    Entry,
    Version,
    /// It no longer existed.
    Nothing,
}

/// Processes an expiry row, given the entry at its place.
///
/// # Errors
/// It cannot be encoded.
pub(crate) fn expire(
    transaction: &mut Transaction,
    present: Option<&EntryRecord>,
    end: ExpiryRow,
) -> Result<Expired, StoreError> {
    let ExpiryRow { at, id, version } = end;
    let present_entry = present.filter(|present| present.id == id);
    if let Some(present) = present_entry.filter(|present| present.version == version && present.expires_at == Some(at))
    {
        transaction.remove(present)?;
        return Ok(Expired::Entry);
    }
    transaction.unschedule(Some(at), id, version);
    let holds = |present: &&EntryRecord| present.kept.iter().any(|kept| kept.version == version);
    let Some(present) = present_entry.filter(holds) else { return Ok(Expired::Nothing) };
    transaction.delete(Tree::MemoryHistory, keys::version(id, version));
    // The current version lists the retained ones, so it is rewritten without a visible change.
    let mut record = present.clone();
    record.kept.retain(|kept| kept.version != version);
    transaction.write(&Arc::new(record))?;
    transaction.count(&present.place.space, UsageDelta { versions: -1, ..UsageDelta::default() });
    Ok(Expired::Version)
}
