//! The storage port: what the rest of the house knows of storage. Nothing above this crate knows the engine.

use std::io::Write;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// One concern of the house, kept in a tree of its own. The name is the tree's name on disk: never rename one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Tree {
    /// The store's own facts: schema versions, migration cursors.
    Meta,
    /// API keys.
    Keys,
    /// Rate and quota counters.
    Limits,
    /// Spending by key, model and day.
    Ledger,
    /// People who may log in.
    Users,
    /// Logins and the generations of their refresh tokens.
    Sessions,
    /// Devices of the network.
    Devices,
    /// The latest telemetry of devices.
    Telemetry,
    /// What devices were asked to do.
    Commands,
    /// Incidents.
    Incidents,
    /// What happened to each incident, append-only.
    Timeline,
    /// Published and imported CAP alerts.
    Alerts,
    /// Geofences and who is inside.
    Geofences,
    /// Firmware artifacts (their images are files).
    Artifacts,
    /// Firmware jobs.
    Jobs,
    /// Firmware jobs, device by device.
    Executions,
    /// Events that were committed, until the feed has journalled them.
    Outbox,
    /// The feed's own facts: epochs, offsets.
    Feed,
    /// First answers by `Idempotency-Key`.
    Idempotency,
    /// Security-relevant acts, append-only.
    Audit,
    /// Agents' runs.
    Tasks,
    /// What finished steps of tasks gave.
    Steps,
    /// What happened to each task, append-only.
    TaskLog,
    /// How long agents' runs took.
    Estimates,
    /// Semantic memory: entries as they stand, by owner, namespace and key.
    Memory,
    /// Where each entry stands, by identifier.
    MemoryIds,
    /// Replaced versions of entries.
    MemoryHistory,
    /// What a model made of entries.
    MemoryVectors,
    /// When entries end, in order of time.
    MemoryExpiry,
    /// What happened to entries since the indexes' last checkpoints, in order.
    MemoryChanges,
}

impl Tree {
    /// Every tree, in a fixed order.
    pub const ALL: [Self; 30] = [
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
    ];

    /// The tree's name on disk and in snapshots.
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
        }
    }

    /// The tree of that name, if this program knows it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tree| tree.name() == name)
    }
}

/// A stored record as the caller sees it: what it is, which schema it was written with, its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rec {
    /// Schema version of `bytes`; a reader upgrades what is older and refuses what is newer.
    pub schema: u16,
    pub bytes: Vec<u8>,
}

/// What must hold for a key before a batch may be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// The key is not there.
    Absent,
    /// The key holds exactly this record (compare-and-swap).
    Is(Rec),
}

/// One write of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Put { tree: Tree, key: Vec<u8>, rec: Rec },
    Delete { tree: Tree, key: Vec<u8> },
}

/// Writes that become durable together or not at all, behind preconditions checked in the same transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub expect: Vec<(Tree, Vec<u8>, Expect)>,
    pub ops: Vec<Op>,
}

impl Batch {
    /// A batch of one put.
    pub fn put(tree: Tree, key: impl Into<Vec<u8>>, rec: Rec) -> Self {
        Self::default().and_put(tree, key, rec)
    }

    /// A batch of one delete.
    pub fn delete(tree: Tree, key: impl Into<Vec<u8>>) -> Self {
        Self::default().and_delete(tree, key)
    }

    #[must_use]
    pub fn and_put(mut self, tree: Tree, key: impl Into<Vec<u8>>, rec: Rec) -> Self {
        self.ops.push(Op::Put { tree, key: key.into(), rec });
        self
    }

    #[must_use]
    pub fn and_delete(mut self, tree: Tree, key: impl Into<Vec<u8>>) -> Self {
        self.ops.push(Op::Delete { tree, key: key.into() });
        self
    }

    /// Adds a precondition.
    #[must_use]
    pub fn when(mut self, tree: Tree, key: impl Into<Vec<u8>>, expect: Expect) -> Self {
        self.expect.push((tree, key.into(), expect));
        self
    }
}

/// A page of a scan; `next` is where to go on, `None` at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub items: Vec<(Vec<u8>, Rec)>,
    pub next: Option<Vec<u8>>,
}

/// Which way and from where a scan goes. Keys are ordered as bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// Only keys that start with this.
    pub prefix: Vec<u8>,
    /// Where to start (inclusive), in the direction of the scan; `Page::next` of the page before.
    pub from: Option<Vec<u8>>,
    /// At most this many records; 0 is refused, the store caps it at 1,000.
    pub limit: usize,
    pub order: Order,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Ascending,
    Descending,
}

/// Figures for health, status and metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    pub bytes_on_disk: u64,
    /// Commit requests waiting for the writer.
    pub queue_depth: usize,
    pub commits: u64,
    /// Groups written: `commits / groups` is how many requests shared one sync.
    pub groups: u64,
    /// Duration of the last write-and-sync, in microseconds.
    pub last_sync_us: u64,
    /// Why writes are refused, once a sync has failed; such a store only reads until it is reopened.
    pub poisoned: Option<String>,
    /// A folder that was set aside at open because it was corrupt.
    pub quarantined: Option<String>,
    /// Files the engine itself spilled beside its log. It never syncs them, so more than 0 is a fault (health: red).
    pub spilled: u64,
}

/// What `verify` found: every record is read and its checksum compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub records: u64,
    pub bytes: u64,
    /// `tree/key-in-hex: why`, at most 100 of them.
    pub corrupt: Vec<String>,
}

/// The port. Reads are synchronous and short; a write is acknowledged once it is durable.
pub trait Store: Send + Sync + 'static {
    /// The record at a key. A record whose checksum does not hold is `StoreError::Corrupt`, never a wrong value.
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Rec>, StoreError>;

    /// One page of a scan.
    fn scan(&self, tree: Tree, scan: &Scan) -> Result<Page, StoreError>;

    /// Applies a batch; resolves after it is durable. Dropping the future does not undo the batch. Batches are applied in
    /// the order of the calls, so an empty one resolves after all that were handed over before it.
    fn commit(&self, batch: Batch) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Writes every record as a checked stream to `to`.
    fn snapshot(&self, to: &mut dyn Write) -> Result<u64, StoreError>;

    fn stats(&self) -> StoreStats;

    /// Whether writes are accepted. Cheap: asked before each decision that will be written.
    ///
    /// # Errors
    /// `Poisoned`: the store only reads until it is reopened.
    fn writable(&self) -> Result<(), StoreError> {
        self.stats().poisoned.map_or(Ok(()), |why| Err(StoreError::Poisoned(why)))
    }

    fn verify(&self) -> Result<Report, StoreError>;
}
