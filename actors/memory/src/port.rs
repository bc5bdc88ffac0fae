//! Ports between the writer, its indexes and embedding: traits and the values that they exchange.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use muster_retrieval::{Hit, Mode, Query};
use serde::{Deserialize, Serialize};

use super::record::{EntryId, EntryRecord, Owner, Place, Space};
use muster_core::{Error, Millis};

/// A durable change.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// Number of the change, as in `Tree::MemoryChanges`: greater than that of every earlier change.
    pub seq: u64,
    /// The change.
    pub kind: AppliedKind,
}

/// What a durable change did.
#[derive(Debug, Clone, PartialEq)]
pub enum AppliedKind {
    /// An entry was created or replaced.
    Put(Arc<EntryRecord>),
    /// The vector of an entry was stored; it was valid for the entry at that time.
    Vector {
        /// Space of the entry.
        space: Space,
        /// Id of the entry.
        id: EntryId,
        /// Version whose text was embedded.
        version: u32,
        /// Id of the model.
        model: Arc<str>,
        /// The vector, of length 1.
        vector: Arc<[f32]>,
    },
    /// An entry was deleted.
    Deleted {
        /// Space of the entry.
        space: Space,
        /// Id of the entry.
        id: EntryId,
    },
    /// All data of an owner was deleted: none of it may remain in an index, nor in its checkpoints.
    OwnerDeleted {
        /// The owner.
        owner: Owner,
    },
}

impl Applied {
    /// Returns the owner whose data changed.
    pub fn owner(&self) -> &Owner {
        match &self.kind {
            AppliedKind::Put(record) => record.owner(),
            AppliedKind::Vector { space, .. } | AppliedKind::Deleted { space, .. } => &space.owner,
            AppliedKind::OwnerDeleted { owner } => owner,
        }
    }
}

/// Whether changes were applied to the indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// The next search finds all of them.
    Complete,
    /// An index is down or behind: it reads the changes from `Tree::MemoryChanges` later.
    Partial,
}

/// Receiver of durable changes.
pub trait IndexSink: Send + Sync {
    /// Applies changes. They must be passed in the order of `seq`, in which the call itself queues them for the index's
    /// owner. The future resolves once the next search finds them; dropping it earlier undoes nothing. An index reads
    /// changes that cannot be queued from `Tree::MemoryChanges` later.
    fn apply(&self, changes: Arc<[Applied]>) -> BoxFuture<'static, ApplyOutcome>;
}

/// A search of one owner's index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexSearch {
    /// Owner of the entries.
    pub owner: Owner,
    /// Namespace to search; `None` for all of the owner's.
    pub namespace: Option<Arc<str>>,
    /// The query.
    pub query: Query,
    /// Current time: entries that have expired by then are not found.
    pub now: Millis,
}

/// A part of a value that matches a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Highlight {
    /// Start of the snippet in the value, in bytes.
    pub start: usize,
    /// End of the snippet in the value, in bytes.
    pub end: usize,
    /// The snippet.
    pub snippet: String,
    /// Ranges of matching words in the snippet, in bytes: start and end.
    pub matches: Vec<(usize, usize)>,
}

/// An entry found by an index.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Namespace of the entry.
    pub namespace: Arc<str>,
    /// Its id, version and scores.
    pub hit: Hit,
}

/// Results of an index, to be compared with the store before they are returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    /// The requested page, best first.
    pub hits: Vec<Candidate>,
    /// Number of matching entries on all pages.
    pub total: usize,
    /// The ranking that was used.
    pub mode: Mode,
    /// Messages for the caller.
    pub warnings: Vec<String>,
    /// Whether the index is complete.
    pub index: IndexHealth,
}

/// Whether the indexes are complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum IndexHealth {
    /// They contain every entry.
    #[default]
    Ready,
    /// They are being loaded: entries that are missing so far are not found.
    Rebuilding {
        /// Progress, 0 to 99.
        percent: u8,
    },
    /// They do not respond.
    Down,
}

/// Statistics of an owner's part of the indexes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerIndexStats {
    /// Indexed entries.
    pub entries: u64,
    /// Entries with a vector.
    pub vectors: u64,
    /// Entries without a vector.
    pub pending: u64,
    /// Id of the model that computes vectors; `None` if there is none.
    pub model: Option<Arc<str>>,
    /// Length of its vectors.
    pub dimensions: Option<usize>,
    /// Bytes in memory.
    pub bytes: u64,
    /// Durable changes that are not applied yet.
    pub lag: u64,
}

/// Search of the indexes.
pub trait Searcher: Send + Sync {
    /// Searches the entries of an owner.
    ///
    /// # Errors
    /// `Unavailable`: the index is down or overloaded.
    fn search(&self, search: IndexSearch) -> BoxFuture<'static, Result<Candidates, Error>>;

    /// Returns statistics of an owner's part of the indexes.
    ///
    /// # Errors
    /// As `search`.
    fn owner_stats(&self, owner: &Owner) -> BoxFuture<'static, Result<OwnerIndexStats, Error>>;

    /// Returns the health over all owners, without sending a message.
    fn health(&self) -> IndexHealth;
}

/// The indexes as the service uses them: changes and searches.
pub trait Index: IndexSink + Searcher + fmt::Debug {}

impl<T: IndexSink + Searcher + fmt::Debug> Index for T {}

/// A computed vector of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVector {
    /// Location of the entry.
    pub place: Place,
    /// Id of the entry.
    pub id: EntryId,
    /// Version whose text was embedded.
    pub version: u32,
    /// Id of the model.
    pub model: Arc<str>,
    /// The vector, of length 1.
    pub vector: Arc<[f32]>,
}

/// Receiver of computed vectors.
pub trait PutVectors: Send + Sync {
    /// Stores the vectors whose entry and text are unchanged, and returns how many. The indexes are notified as of every
    /// change.
    ///
    /// # Errors
    /// `Unavailable`: it is unknown whether any was stored; try again.
    fn put_vectors(&self, vectors: Vec<NewVector>) -> BoxFuture<'static, Result<usize, Error>>;
}
