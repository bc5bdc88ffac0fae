//! Writes and notifications of one decision.

use std::sync::Arc;

use muster_store::{Op, Rec, Record, StoreError, Tree};

use super::usage_delta::UsageDelta;
use crate::keys;
use crate::port::{Applied, AppliedKind};
use crate::record::{Change, EntryId, EntryRecord, Place, RetainedVersion, Space};
use muster_core::Millis;

/// A decision being built.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) now: Millis,
    /// Number of the last change, including this decision's.
    pub(crate) seq: u64,
    pub(crate) ops: Vec<Op>,
    /// Changes for the indexes, in order.
    pub(crate) applied: Vec<Applied>,
    /// Entries at the changed places, in order.
    pub(crate) entries: Vec<(Place, Option<Arc<EntryRecord>>)>,
    pub(crate) deltas: Vec<(Space, UsageDelta)>,
}

impl Transaction {
    pub(crate) fn new(now: Millis, seq: u64) -> Self {
        Self { now, seq, ops: Vec::new(), applied: Vec::new(), entries: Vec::new(), deltas: Vec::new() }
    }

    pub(crate) fn delete(&mut self, tree: Tree, key: Vec<u8>) {
        self.ops.push(Op::Delete { tree, key });
    }

    pub(crate) fn put<R: Record>(&mut self, tree: Tree, key: Vec<u8>, record: &R) -> Result<(), StoreError> {
        self.ops.push(Op::Put { tree, key, rec: record.encode()? });
        Ok(())
    }

    fn put_bytes(&mut self, tree: Tree, key: Vec<u8>, bytes: Vec<u8>) {
        self.ops.push(Op::Put { tree, key, rec: Rec { schema: 1, bytes } });
    }

    /// Appends a change to the log; returns its number.
    pub(crate) fn change(&mut self, change: &Change) -> Result<u64, StoreError> {
        self.seq += 1;
        self.put(Tree::MemoryChanges, keys::change(self.seq), change)?;
        Ok(self.seq)
    }

    pub(crate) fn record(&mut self, seq: u64, kind: AppliedKind) {
        self.applied.push(Applied { seq, kind });
    }

    pub(super) fn count(&mut self, space: &Space, delta: UsageDelta) {
        if delta != UsageDelta::default() {
            self.deltas.push((space.clone(), delta));
        }
    }

    /// Writes an entry's current version.
    pub(super) fn write(&mut self, record: &Arc<EntryRecord>) -> Result<(), StoreError> {
        self.put(Tree::Memory, keys::entry(&record.place), record.as_ref())?;
        self.entries.push((record.place.clone(), Some(Arc::clone(record))));
        Ok(())
    }

    /// Indexes a new entry by its id.
    pub(super) fn enlist(&mut self, record: &EntryRecord) -> Result<(), StoreError> {
        let place = &record.place;
        let bytes = postcard::to_stdvec(place).map_err(|why| StoreError::BadRequest(format!("a place: {why}")))?;
        self.put_bytes(Tree::MemoryIds, keys::id(record.owner(), record.id), bytes);
        self.put_bytes(Tree::MemoryIds, keys::id_in(&place.space, record.id), place.key.as_bytes().to_vec());
        Ok(())
    }

    /// Schedules the expiry of a version.
    pub(super) fn schedule(&mut self, record: &EntryRecord) -> Result<(), StoreError> {
        let Some(at) = record.expires_at else { return Ok(()) };
        let place = &record.place;
        let bytes = postcard::to_stdvec(place).map_err(|why| StoreError::BadRequest(format!("a place: {why}")))?;
        self.put_bytes(Tree::MemoryExpiry, keys::expiry(at, record.id, record.version), bytes);
        Ok(())
    }

    pub(super) fn unschedule(&mut self, at: Option<Millis>, id: EntryId, version: u32) {
        if let Some(at) = at {
            self.delete(Tree::MemoryExpiry, keys::expiry(at, id, version));
        }
    }

    /// Removes a retained version.
    pub(super) fn drop_retained(&mut self, id: EntryId, kept: RetainedVersion) {
        self.delete(Tree::MemoryHistory, keys::version(id, kept.version));
        self.unschedule(kept.expires_at, id, kept.version);
    }

    /// Removes an entry with everything that belongs to it.
    pub(super) fn remove(&mut self, record: &EntryRecord) -> Result<(), StoreError> {
        let (place, id) = (&record.place, record.id);
        self.erase(record);
        let seq = self.change(&Change::Deleted { place: place.clone(), id })?;
        self.record(seq, AppliedKind::Deleted { space: place.space.clone(), id });
        self.entries.push((place.clone(), None));
        let (versions, bytes) = (record.kept.len() as i64, record.bytes() as i64);
        self.count(&place.space, UsageDelta { entries: -1, versions: -versions, bytes: -bytes });
        Ok(())
    }

    /// Deletes only an entry's records; the caller notifies the indexes and updates the usage.
    pub(crate) fn erase(&mut self, record: &EntryRecord) {
        let (place, id) = (&record.place, record.id);
        self.delete(Tree::Memory, keys::entry(place));
        self.delete(Tree::MemoryIds, keys::id(record.owner(), id));
        self.delete(Tree::MemoryIds, keys::id_in(&place.space, id));
        self.delete(Tree::MemoryVectors, keys::vector(id));
        self.unschedule(record.expires_at, id, record.version);
        for kept in &record.kept {
            self.drop_retained(id, *kept);
        }
    }
}
