//! Moves the entries of versions before the log into it, once: their order, times and identifiers stay. Their past is not
//! proven by it, only that they have not changed since.

use muster_core::Millis;
use muster_core::audit::{AuditEntry, OldAuditEntry};
use muster_store::{Batch, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::marks::ImportMark;

/// Entries that are moved in one batch.
const STEP: usize = 256;

/// What a stored record allows, at the time at which the log begins.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordState {
    /// Identifier of the record.
    pub resource: String,
    /// Roles, scopes and keys; nothing personal.
    pub allows: Value,
}

/// Imports unless it was done before; only then `records` is called.
pub(crate) async fn import_once(
    store: &StoreHandle,
    records: impl FnOnce() -> Result<Vec<RecordState>, StoreError>,
    now: Millis,
) -> Result<(), StoreError> {
    if ImportMark::read(store)?.done { Ok(()) } else { import(store, records()?, now).await }
}

/// Moves the old entries and appends the state of every record. What an interrupted run did is not done again.
pub(crate) async fn import(store: &StoreHandle, mut records: Vec<RecordState>, now: Millis) -> Result<(), StoreError> {
    let mut mark = ImportMark::read(store)?;
    if mark.done {
        return Ok(());
    }
    if !mark.announced {
        mark.announced = true;
        let mut ops = vec![mark.op()?];
        let (count, hash) = digest(store)?;
        if count > 0 {
            // The resource is never erased.
            let details = json!({ "count": count, "sha256": hash });
            ops.push(AuditEntry::new(now, "system", "audit.imported", &hash, details).via("import").op()?);
        }
        store.commit(Batch { ops, ..Batch::default() }).await?;
    }
    loop {
        let page = store.record_page::<OldAuditEntry>([], PageRequest::of(STEP))?;
        if page.items.is_empty() {
            break;
        }
        let mut ops = Vec::with_capacity(2 * page.items.len());
        for (key, old) in page.items {
            ops.push(AuditEntry::from(old).op()?);
            ops.push(Op::Delete { tree: OldAuditEntry::TREE, key });
        }
        store.commit(Batch { ops, ..Batch::default() }).await?;
    }
    records.retain(|record| !record.allows.is_null());
    records.sort_by(|a, b| a.resource.cmp(&b.resource));
    records.retain(|record| mark.recorded.as_ref().is_none_or(|recorded| record.resource > *recorded));
    for step in records.chunks(STEP) {
        mark.recorded = step.last().map(|record| record.resource.clone());
        let mut ops = vec![mark.op()?];
        for RecordState { resource, allows } in step {
            let entry = AuditEntry::new(now, "system", "state.recorded", resource, Value::Null);
            ops.push(entry.via("import").after(allows).op()?);
        }
        store.commit(Batch { ops, ..Batch::default() }).await?;
    }
    mark.done = true;
    store.commit(Batch { ops: vec![mark.op()?], ..Batch::default() }).await
}

/// Counts the old entries, and hashes their stored bytes, each after its length (four bytes, big-endian).
fn digest(store: &StoreHandle) -> Result<(u64, String), StoreError> {
    let (mut count, mut hash) = (0, Sha256::new());
    for entry in store.entries(Tree::Audit, [], PageRequest::of(STEP)) {
        let (_, rec) = entry?;
        count += 1;
        hash.update(u32::try_from(rec.bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        hash.update(&rec.bytes);
    }
    Ok((count, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_core::audit::AuditRecord;
    use muster_store::{MemStore, Store};

    use super::*;

    fn old(number: u64) -> OldAuditEntry {
        OldAuditEntry {
            id: format!("aud_{number:026}"),
            at: Millis(1_700_000_000_000 + number),
            actor: format!("usr_{}", number % 3),
            action: "login".to_owned(),
            resource: format!("ses_{number}"),
            details: json!({ "number": number }),
        }
    }

    fn states() -> Vec<RecordState> {
        (0..300).map(|n| RecordState { resource: format!("key_{n:03}"), allows: json!({ "scopes": [n] }) }).collect()
    }

    async fn filled(entries: u64) -> StoreHandle {
        let store: StoreHandle = Arc::new(MemStore::default());
        for number in 0..entries {
            let entry = old(number);
            let batch = Batch::put(Tree::Audit, entry.id.clone(), entry.encode().unwrap());
            store.commit(batch).await.unwrap();
        }
        store
    }

    fn entries(store: &StoreHandle) -> Vec<AuditEntry> {
        store.records::<AuditRecord>([], PageRequest::default()).map(|r| r.unwrap().1.entry().unwrap()).collect()
    }

    /// Passes commits on until it has passed a number of them; then it is as a server that was killed.
    #[derive(Debug)]
    struct Killed {
        disk: StoreHandle,
        left: std::sync::atomic::AtomicUsize,
    }

    impl Store for Killed {
        fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<muster_store::Rec>, StoreError> {
            self.disk.get(tree, key)
        }

        fn scan(&self, tree: Tree, scan: &muster_store::Scan) -> Result<muster_store::Page, StoreError> {
            self.disk.scan(tree, scan)
        }

        fn commit(&self, batch: Batch) -> futures::future::BoxFuture<'static, Result<(), StoreError>> {
            use std::sync::atomic::Ordering::SeqCst;
            if self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err() {
                return Box::pin(async { Err(StoreError::Io("killed".to_owned())) });
            }
            self.disk.commit(batch)
        }

        fn appended(&self, tree: Tree) -> tokio::sync::watch::Receiver<u64> {
            self.disk.appended(tree)
        }

        fn snapshot(&self, to: &mut dyn std::io::Write) -> Result<u64, StoreError> {
            self.disk.snapshot(to)
        }

        fn stats(&self) -> muster_store::StoreStats {
            self.disk.stats()
        }

        fn verify(&self) -> Result<muster_store::VerifyReport, StoreError> {
            self.disk.verify()
        }
    }

    #[tokio::test]
    async fn old_entries_and_states_are_moved_once_and_in_order_however_often_it_is_interrupted() {
        let whole = filled(600).await;
        import(&whole, states(), Millis(5)).await.unwrap();
        let expected = entries(&whole);
        assert_eq!(expected.len(), 1 + 600 + 300);
        assert_eq!((&*expected[0].action, expected[0].details["count"].as_u64()), ("audit.imported", Some(600)));
        assert_eq!((&*expected[600].id, expected[600].via.as_deref()), (&*old(599).id, Some("import")));
        assert_eq!((&*expected[601].action, &*expected[601].resource), ("state.recorded", "key_000"));
        assert!(expected[601].after.is_some());
        assert_eq!(whole.entries(Tree::Audit, [], PageRequest::default()).count(), 0);
        import(&whole, states(), Millis(6)).await.unwrap();
        assert_eq!(entries(&whole).len(), 901, "once");

        for steps in 0..7 {
            let disk = filled(600).await;
            let killed: StoreHandle = Arc::new(Killed { disk: disk.clone(), left: steps.into() });
            assert!(import(&killed, states(), Millis(5)).await.is_err());
            import(&disk, states(), Millis(5)).await.unwrap();
            let moved = entries(&disk);
            let shown = |entries: &[AuditEntry]| -> Vec<_> {
                entries
                    .iter()
                    .map(|e| (e.action.clone(), e.resource.clone(), e.details.clone(), e.after.clone()))
                    .collect()
            };
            assert_eq!(shown(&moved), shown(&expected), "killed after {steps} batches");
        }
    }

    #[tokio::test]
    async fn a_new_store_gets_no_entry() {
        let store = filled(0).await;
        import(&store, Vec::new(), Millis(5)).await.unwrap();
        assert!(entries(&store).is_empty());
        import(&store, states(), Millis(5)).await.unwrap();
        assert!(entries(&store).is_empty(), "what is made later has entries of its own");
    }
}
