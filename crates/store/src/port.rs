//! The storage port: the interface through which the rest of the workspace uses storage. No other crate knows the
//! engine.

use std::io::Write;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::StoreError;

/// A namespace of keys for one kind of record. [`Tree::name`] is the name on disk and must never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Tree {
    /// The store's own metadata: schema versions, migration progress.
    Meta,
    /// API keys.
    Keys,
    /// Rate and quota counters.
    Limits,
    /// Usage and cost by key, model and day.
    Ledger,
    /// User accounts.
    Users,
    /// Login sessions and the generations of their refresh tokens.
    Sessions,
    /// Devices of the disaster network.
    Devices,
    /// Latest telemetry of each device.
    Telemetry,
    /// Commands sent to devices.
    Commands,
    /// Incidents.
    Incidents,
    /// History of each incident, append-only.
    Timeline,
    /// Published and imported CAP alerts.
    Alerts,
    /// Geofences and the devices inside them.
    Geofences,
    /// Firmware artifacts (their images are files).
    Artifacts,
    /// Firmware jobs.
    Jobs,
    /// Executions of firmware jobs, by device.
    Executions,
    /// Committed events that the feed has not journalled yet.
    Outbox,
    /// The feed's own metadata: epochs, offsets.
    Feed,
    /// First responses by `Idempotency-Key`.
    Idempotency,
    /// Security-relevant actions as versions before the audit log stored them: moved there at a start.
    Audit,
    /// The audit log: security-relevant actions, numbered.
    AuditLog,
    /// Hashes over the audit log, made from it. In no backup.
    AuditTiles,
    /// What was signed of the audit log, and its identity.
    AuditMarks,
    /// Agents' tasks.
    Tasks,
    /// Outputs of finished steps of tasks.
    Steps,
    /// History of each task, append-only.
    TaskLog,
    /// Durations of past tasks, for estimates.
    Estimates,
    /// Semantic memory: current entries by owner, namespace and key.
    Memory,
    /// Location of each memory entry, by identifier.
    MemoryIds,
    /// Replaced versions of memory entries.
    MemoryHistory,
    /// Embedding vectors of memory entries.
    MemoryVectors,
    /// Expiry times of memory entries, in order of time.
    MemoryExpiry,
    /// Changes of memory entries since the indexes' last checkpoints, in order.
    MemoryChanges,
    /// Minutes in which the medical interface was available. Nothing clinical.
    MedicalUptime,
    /// Kept medical conversations, each sealed.
    MedicalConversations,
    /// Notices to owners of medical conversations that others have read. Nothing clinical.
    MedicalNotices,
    /// Stored pictures, whose contents are files. In no backup.
    Pictures,
}

impl Tree {
    /// All trees, in a fixed order.
    pub const ALL: [Self; 37] = [
        Self::Meta,
        Self::Keys,
        Self::Limits,
        Self::Ledger,
        Self::Users,
        Self::Sessions,
        Self::Devices,
        Self::Telemetry,
        Self::Commands,
        Self::Incidents,
        Self::Timeline,
        Self::Alerts,
        Self::Geofences,
        Self::Artifacts,
        Self::Jobs,
        Self::Executions,
        Self::Outbox,
        Self::Feed,
        Self::Idempotency,
        Self::Audit,
        Self::AuditLog,
        Self::AuditTiles,
        Self::AuditMarks,
        Self::Tasks,
        Self::Steps,
        Self::TaskLog,
        Self::Estimates,
        Self::Memory,
        Self::MemoryIds,
        Self::MemoryHistory,
        Self::MemoryVectors,
        Self::MemoryExpiry,
        Self::MemoryChanges,
        Self::MedicalUptime,
        Self::MedicalConversations,
        Self::MedicalNotices,
        Self::Pictures,
    ];

    /// Trees whose records are numbered by [`Op::Append`].
    pub const APPENDED: [Self; 1] = [Self::AuditLog];

    /// Returns whether the records of this tree are numbered: its keys are 0, 1, 2 …, and none is ever deleted.
    #[must_use]
    pub fn is_appended(self) -> bool {
        Self::APPENDED.contains(&self)
    }

    /// Returns the newest schema among the records of this tree that are upgraded when they are read
    /// ([`crate::Record::upgrade`]); 1 where none is. Backups with newer records are rejected.
    #[must_use]
    pub const fn newest_schema(self) -> u16 {
        match self {
            Self::Keys => 2,
            Self::Ledger => 3,
            _ => 1,
        }
    }

    /// Returns whether a backup contains the records of this tree. Records of files that no backup contains would have none
    /// after a restore; tiles are made anew from the log.
    #[must_use]
    pub const fn is_backed_up(self) -> bool {
        !matches!(self, Self::Pictures | Self::AuditTiles)
    }

    /// Returns the tree's name on disk and in snapshots.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Keys => "keys",
            Self::Limits => "limits",
            Self::Ledger => "ledger",
            Self::Users => "users",
            Self::Sessions => "sessions",
            Self::Devices => "devices",
            Self::Telemetry => "telemetry",
            Self::Commands => "commands",
            Self::Incidents => "incidents",
            Self::Timeline => "timeline",
            Self::Alerts => "alerts",
            Self::Geofences => "geofences",
            Self::Artifacts => "artifacts",
            Self::Jobs => "jobs",
            Self::Executions => "executions",
            Self::Outbox => "outbox",
            Self::Feed => "feed",
            Self::Idempotency => "idempotency",
            Self::Audit => "audit",
            Self::AuditLog => "audit_log",
            Self::AuditTiles => "audit_tiles",
            Self::AuditMarks => "audit_marks",
            Self::Tasks => "tasks",
            Self::Steps => "steps",
            Self::TaskLog => "task_log",
            Self::Estimates => "estimates",
            Self::Memory => "memory",
            Self::MemoryIds => "memory_ids",
            Self::MemoryHistory => "memory_history",
            Self::MemoryVectors => "memory_vectors",
            Self::MemoryExpiry => "memory_expiry",
            Self::MemoryChanges => "memory_changes",
            Self::MedicalUptime => "medical_uptime",
            Self::MedicalConversations => "medical_conversations",
            Self::MedicalNotices => "medical_notices",
            Self::Pictures => "pictures",
        }
    }

    /// Returns the tree of that name, if this version of the program has it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tree| tree.name() == name)
    }
}

/// An encoded record as stored: schema version and bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rec {
    /// Schema version of `bytes`; readers upgrade older versions and reject newer ones.
    pub schema: u16,
    /// The encoded record.
    pub bytes: Vec<u8>,
}

/// A precondition on one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// The key does not exist.
    Absent,
    /// The key holds exactly this record (compare-and-swap).
    Is(Rec),
}

/// A single write of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Inserts or replaces a record.
    Put {
        /// Tree of the record.
        tree: Tree,
        /// Key of the record.
        key: Vec<u8>,
        /// The new record.
        rec: Rec,
    },
    /// Deletes a record, if it exists.
    Delete {
        /// Tree of the record.
        tree: Tree,
        /// Key of the record.
        key: Vec<u8>,
    },
    /// Adds a record under the next number of its tree, one of [`Tree::APPENDED`]. The store gives the number as it
    /// applies the batch; a batch that is refused takes none, so that there are no gaps.
    Append {
        /// Tree of the record.
        tree: Tree,
        /// The new record.
        rec: Rec,
    },
}

/// Writes that become durable atomically, with preconditions that are checked in the same transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Preconditions; all must hold for the batch to be applied.
    pub expect: Vec<(Tree, Vec<u8>, Expect)>,
    /// Writes, applied in order.
    pub ops: Vec<Op>,
}

impl Batch {
    /// Creates a batch with one put.
    pub fn put(tree: Tree, key: impl Into<Vec<u8>>, rec: Rec) -> Self {
        Self::default().and_put(tree, key, rec)
    }

    /// Creates a batch with one delete.
    pub fn delete(tree: Tree, key: impl Into<Vec<u8>>) -> Self {
        Self::default().and_delete(tree, key)
    }

    /// Appends a put.
    #[must_use]
    pub fn and_put(mut self, tree: Tree, key: impl Into<Vec<u8>>, rec: Rec) -> Self {
        self.ops.push(Op::Put { tree, key: key.into(), rec });
        self
    }

    /// Appends a delete.
    #[must_use]
    pub fn and_delete(mut self, tree: Tree, key: impl Into<Vec<u8>>) -> Self {
        self.ops.push(Op::Delete { tree, key: key.into() });
        self
    }

    /// Appends a record that is numbered by the store.
    #[must_use]
    pub fn and_append(mut self, tree: Tree, rec: Rec) -> Self {
        self.ops.push(Op::Append { tree, rec });
        self
    }

    /// Adds a precondition.
    #[must_use]
    pub fn when(mut self, tree: Tree, key: impl Into<Vec<u8>>, expect: Expect) -> Self {
        self.expect.push((tree, key.into(), expect));
        self
    }
}

/// A page of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Keys and records, in the order of the scan.
    pub items: Vec<(Vec<u8>, Rec)>,
    /// Start of the next page; `None` after the last one.
    pub next: Option<Vec<u8>>,
}

/// Range, direction and page size of a scan. Keys are ordered bytewise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// Restricts the scan to keys with this prefix.
    pub prefix: Vec<u8>,
    /// Start of the page (inclusive), in the direction of the scan; usually the previous [`Page::next`].
    pub from: Option<Vec<u8>>,
    /// Maximum number of records; 0 is rejected, and values above 1,000 are capped.
    pub limit: usize,
    /// Direction of the scan.
    pub order: Order,
}

/// Direction of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// From the smallest to the largest key.
    #[default]
    Ascending,
    /// From the largest to the smallest key.
    Descending,
}

/// Figures for health, status and metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// Size of the engine's log and of the large values, in bytes.
    pub bytes_on_disk: u64,
    /// Commit requests waiting for the writer.
    pub queue_depth: usize,
    /// Batches committed since the store was opened.
    pub commits: u64,
    /// Groups written; `commits / groups` is the number of requests that shared one sync.
    pub groups: u64,
    /// Duration of the last write and sync, in microseconds.
    pub last_sync_us: u64,
    /// Why writes are rejected after a failed sync; such a store is read-only until it is reopened.
    pub poisoned: Option<String>,
    /// Description of a folder that was set aside while opening because it was corrupt.
    pub quarantined: Option<String>,
    /// Files that the engine spilled beside its log. It never syncs them, so any value above 0 is a fault (health:
    /// red).
    pub spilled: u64,
}

/// Result of [`Store::verify`], which reads every record and checks its checksum.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Number of records read.
    pub records: u64,
    /// Total size of the intact values, in bytes.
    pub bytes: u64,
    /// Corrupt records as `tree/key-in-hex: reason`, at most 100.
    pub corrupt: Vec<String>,
}

/// The storage port. Reads are synchronous and short; a write is acknowledged once it is durable.
pub trait Store: Send + Sync + 'static {
    /// Returns the record at a key. A record that fails its checksum yields `StoreError::Corrupt`, never a wrong value.
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Rec>, StoreError>;

    /// Returns one page of a scan.
    fn scan(&self, tree: Tree, scan: &Scan) -> Result<Page, StoreError>;

    /// Applies a batch; the future resolves once it is durable. Dropping the future does not cancel the batch. Batches are
    /// applied in the order of the calls, so an empty one resolves after all that were submitted before it.
    fn commit(&self, batch: Batch) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Returns how many records of a tree of [`Tree::APPENDED`] are durable, and every later number of them.
    fn appended(&self, tree: Tree) -> watch::Receiver<u64>;

    /// Writes every record to `to` as a stream with checksums; returns the number of records.
    fn snapshot(&self, to: &mut dyn Write) -> Result<u64, StoreError>;

    /// Returns current figures.
    fn stats(&self) -> StoreStats;

    /// Checks whether writes are accepted. Cheap: called before each decision that will be written.
    ///
    /// # Errors
    /// `Poisoned`: the store only reads until it is reopened.
    fn writable(&self) -> Result<(), StoreError> {
        self.stats().poisoned.map_or(Ok(()), |why| Err(StoreError::Poisoned(why)))
    }

    /// Reads every record and checks its checksum.
    fn verify(&self) -> Result<VerifyReport, StoreError>;
}
