//! The entries of the audit log, for tests.

use muster_core::audit::{AuditEntry, AuditRecord};
use muster_store::{PageRequest, Record, StoreHandle, Tree};

/// Returns all entries in their order.
pub(crate) fn of(store: &StoreHandle) -> Vec<AuditEntry> {
    let records = store.entries(Tree::AuditLog, Vec::new(), PageRequest::default());
    records.map(|found| AuditRecord::decode(&found.unwrap().1).unwrap().entry().unwrap()).collect()
}
