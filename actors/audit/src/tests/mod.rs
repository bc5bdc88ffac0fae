//! The log as a whole: appended, followed, signed, proven, altered.

mod alterations;
mod exports;
mod generations;
mod searches;
mod trees;
mod witnesses;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use muster_core::audit::{AuditEntry, AuditRecord, Outcome};
use muster_core::event::RecordingPublisher;
use muster_core::supervise::Tree as Supervision;
use muster_core::{Clock, Millis, test_world};
use muster_store::{Batch, MemStore, PageRequest, Record, Store, StoreHandle, Tree, number_key};
use muster_tlog::Hash;
use serde_json::json;
use tempfile::TempDir;

use crate::witness::Witness;
use crate::{Audit, AuditOptions, LogRefusal, OpenedLog};

/// A log on a store in memory and a folder of its own.
struct Fixture {
    disk: Arc<MemStore>,
    data: TempDir,
    published: Arc<RecordingPublisher>,
}

impl Fixture {
    fn new() -> Self {
        Self { disk: Arc::default(), data: tempfile::tempdir().unwrap(), published: Arc::default() }
    }

    fn store(&self) -> StoreHandle {
        Arc::clone(&self.disk) as _
    }

    fn options(&self) -> AuditOptions {
        AuditOptions {
            data: self.data.path().to_owned(),
            name: Some("muster.example.org".to_owned()),
            accept_rollback: None,
            delay: Duration::from_secs(1),
            copy: None,
            witnesses: Vec::new(),
        }
    }

    async fn open(&self, options: AuditOptions) -> Result<OpenedLog, LogRefusal> {
        let clock = Clock::tokio(test_world::START);
        OpenedLog::open(&self.store(), &clock, options, || Ok(Vec::new())).await
    }

    async fn start(&self, tree: &Supervision) -> Audit {
        self.start_with(tree, self.options()).await
    }

    async fn start_with(&self, tree: &Supervision, options: AuditOptions) -> Audit {
        let opened = self.open(options).await.unwrap();
        let audit = opened.start(&tree.group("audit"), Arbiter::current(), Some(Arc::clone(&self.published) as _));
        audit.up().await;
        audit
    }

    /// Appends entries in batches of different lengths.
    async fn append(&self, numbers: std::ops::Range<u64>) {
        let mut numbers = numbers.peekable();
        let mut length = 1;
        while numbers.peek().is_some() {
            let ops = numbers.by_ref().take(length).map(|number| entry(number).op().unwrap()).collect();
            self.disk.commit(Batch { ops, ..Batch::default() }).await.unwrap();
            length = length * 3 % 31 + 1;
        }
    }

    fn records(&self) -> Vec<AuditRecord> {
        self.store().records::<AuditRecord>([], PageRequest::default()).map(|found| found.unwrap().1).collect()
    }

    async fn replace(&self, seq: u64, record: &AuditRecord) {
        self.disk.commit(Batch::put(Tree::AuditLog, number_key(seq), record.encode().unwrap())).await.unwrap();
    }

    fn checkpoints(&self) -> std::path::PathBuf {
        self.data.path().join("audit/checkpoints")
    }
}

fn entry(number: u64) -> AuditEntry {
    let outcome = if number.is_multiple_of(97) { Outcome::Refused } else { Outcome::Ok };
    let (actor, action) = (format!("usr_{}", number % 13), format!("task.{}", number % 3));
    let at = Millis(test_world::START.0 + number * 10);
    let entry = AuditEntry::new(at, &actor, &action, &format!("task_{number}"), json!({ "number": number }));
    entry.with_outcome(outcome)
}

/// Waits until that many entries are in the tree.
async fn followed(audit: &Audit, size: u64) {
    let mut views = audit.views();
    views.wait_for(|view| view.size() >= size).await.unwrap();
}

/// Waits until that many entries are signed.
async fn signed(audit: &Audit, size: u64) {
    let mut views = audit.views();
    views.wait_for(|view| view.signed_size() >= size).await.unwrap();
}

/// The root by its definition: MTH of RFC 6962, section 2.1.
fn naive_root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of_empty_tree(),
        [leaf] => *leaf,
        _ => {
            let split = 1 << (leaves.len() - 1).ilog2();
            Hash::of_node(&naive_root(&leaves[..split]), &naive_root(&leaves[split..]))
        }
    }
}

fn hashes(records: &[AuditRecord]) -> Vec<Hash> {
    records.iter().map(|record| Hash::of_leaf(record.leaf.as_bytes())).collect()
}

/// A folder with the files of another one that belong to the log.
fn copy_files(from: &Path, to: &Path) {
    for file in ["audit/checkpoints", "signing/log-keys.json"] {
        let target = to.join(file);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(from.join(file), &target).unwrap();
    }
    use std::os::unix::fs::PermissionsExt;
    for folder in ["audit", "signing"] {
        std::fs::set_permissions(to.join(folder), std::fs::Permissions::from_mode(0o700)).unwrap();
    }
}

/// Two servers signed by one key.
fn witnesses_of(witness: Arc<dyn Witness>) -> Vec<Arc<dyn Witness>> {
    vec![witness]
}
