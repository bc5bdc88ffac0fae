//! Compares the records of a backup with its audit log. Blocking.

use std::sync::Arc;

use futures::FutureExt as _;
use muster_backup::{AuditCheck, Discrepancy, Header};
use muster_core::audit::AuditRecord;
use muster_store::{BackupSource, Batch, MemStore, Rec, Record, StoreError, StoreHandle, Tree, read_backup};
use muster_tlog::Salt;
use serde_json::Value;

use crate::audit_log::record_states;

/// Trees of the records that an entry of the log says what they allow.
const STATES: [Tree; 5] = [Tree::Keys, Tree::Users, Tree::Artifacts, Tree::Deciders, Tree::Policy];
/// Records that are copied in one batch.
const STEP: usize = 256;

/// Returns what contradicts the log: entries that are not those that were signed, and people, keys, trust anchors, deciders
/// and policies that allow something else than their newest entry says.
///
/// # Errors
/// The backup cannot be read.
pub fn check_backup(source: &dyn BackupSource, header: &Header) -> Result<Vec<String>, String> {
    let signed = header.open_checkpoint().map_err(|error| error.to_string())?;
    // A store that no server with a log has opened has records from before it, without an entry.
    let every_record_has_an_entry = signed.is_some();
    let (mut audit, mut copy, mut problems) = (AuditCheck::new(signed), RecordCopy::default(), Vec::new());
    let read = read_backup(source, &mut |tree, key, rec| match tree {
        Tree::AuditLog if problems.is_empty() => {
            if let Err(why) = append(&mut audit, key, rec) {
                problems.push(why);
            }
            Ok(())
        }
        tree if STATES.contains(&tree) => copy.put(tree, key, rec),
        _ => Ok(()),
    });
    read.and_then(|()| copy.flush()).map_err(|error| error.to_string())?;
    if problems.is_empty()
        && let Err(error) = audit.finish()
    {
        problems.push(error.to_string());
    }
    if !problems.is_empty() {
        return Ok(problems);
    }
    for state in record_states(&copy.store).map_err(|error| error.to_string())? {
        match audit.compare(&state.resource, &state.allows) {
            Ok(()) => {}
            // Nothing is allowed that an entry would have to say.
            Err(Discrepancy::NoEntry) if !every_record_has_an_entry || state.allows.is_null() => {}
            Err(why) => problems.push(format!("{}: {why}", state.resource)),
        }
    }
    Ok(problems)
}

/// Adds an entry as it is stored.
fn append(audit: &mut AuditCheck, key: &[u8], rec: &Rec) -> Result<(), String> {
    let seq = u64::from_be_bytes(key.try_into().map_err(|_| "an entry of the audit log has no number".to_owned())?);
    let altered = |why: String| format!("entry {seq} of its audit log was altered: {why}");
    let record = AuditRecord::decode(rec).map_err(|error| altered(error.to_string()))?;
    let details: Option<Value> = record
        .details
        .as_deref()
        .map(serde_json::from_str)
        .transpose()
        .map_err(|_| altered("its details are no JSON".to_owned()))?;
    let added = audit.append(seq, record.leaf.as_bytes(), record.salt.map(Salt::new), details.as_ref());
    added.map_err(|error| error.to_string())
}

/// A copy of some trees in memory: as many records as there are people, keys, artifacts and deciders.
struct RecordCopy {
    store: StoreHandle,
    batch: Batch,
}

impl Default for RecordCopy {
    fn default() -> Self {
        Self { store: Arc::new(MemStore::default()), batch: Batch::default() }
    }
}

impl RecordCopy {
    fn put(&mut self, tree: Tree, key: &[u8], rec: &Rec) -> Result<(), StoreError> {
        self.batch = std::mem::take(&mut self.batch).and_put(tree, key, rec.clone());
        if self.batch.ops.len() >= STEP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        // Nothing is waited for: a store in memory commits at once.
        let committed = self.store.commit(std::mem::take(&mut self.batch)).now_or_never();
        committed.unwrap_or_else(|| Err(StoreError::Io("records could not be copied into memory".to_owned())))
    }
}
