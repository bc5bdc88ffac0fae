//! What the writer and the reads of semantic memory need of its indexes, and the indexes of the writer.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use muster_retrieval::{Hit, Mode, Query};
use serde::{Deserialize, Serialize};

use super::record::{EntryId, EntryRecord, Owner, Place, Space};
use muster_core::{Error, Millis};

/// A change that is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// As in `Tree::MemoryChanges`.
    pub seq: u64,
    pub kind: AppliedKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AppliedKind {
    /// An entry, new or replaced.
    Put(Arc<EntryRecord>),
    /// What a model made of an entry's text as it was at that version. It was checked to stand when it was stored.
    Vector {
        space: Space,
        id: EntryId,
        version: u32,
        model: Arc<str>,
        vector: Arc<[f32]>,
    },
    Deleted {
        space: Space,
        id: EntryId,
    },
    /// Nothing of that owner may be left, in checkpoints neither.
    OwnerGone {
        owner: Owner,
    },
}

impl Applied {
    pub fn owner(&self) -> &Owner {
        match &self.kind {
            AppliedKind::Put(record) => record.owner(),
            AppliedKind::Vector { space, .. } | AppliedKind::Deleted { space, .. } => &space.owner,
            AppliedKind::OwnerGone { owner } => owner,
        }
    }
}

/// What became of changes that were handed to the indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The next search finds them.
    All,
    /// An index is down or behind: it will bring itself up by `Tree::MemoryChanges`.
    Partly,
}

/// Takes durable changes.
pub trait IndexSink: Send + Sync {
    /// Takes changes over, in the order of the calls, which is that of `seq`: the call itself puts them into the queue of
    /// whoever owns the index. The future resolves once the next search finds them; it may be dropped before, which
    /// undoes nothing. What cannot be queued is for the index to read from `Tree::MemoryChanges` later.
    fn apply(&self, changes: Arc<[Applied]>) -> BoxFuture<'static, Taken>;
}

/// A search, as indexes are asked.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexAsk {
    pub owner: Owner,
    /// `None` is all of the owner's.
    pub namespace: Option<Arc<str>>,
    pub query: Query,
    /// What expired by then is not found.
    pub now: Millis,
}

/// A part of a value that answers a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Highlight {
    /// Where the snippet is in the value, in bytes.
    pub start: usize,
    pub end: usize,
    pub snippet: String,
    /// Where words match within the snippet, in bytes.
    pub matches: Vec<(usize, usize)>,
}

/// An entry that an index found.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub namespace: Arc<str>,
    pub hit: Hit,
}

/// What indexes found.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    /// Best first.
    pub hits: Vec<Candidate>,
    /// All that match.
    pub total: usize,
    /// The ranking that was used.
    pub mode: Mode,
    pub warnings: Vec<String>,
    pub index: IndexHealth,
}

/// Whether the indexes hold everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum IndexHealth {
    #[default]
    Ready,
    /// What is not in them yet is not found.
    Rebuilding { percent: u8 },
    /// They do not answer.
    Down,
}

/// Figures of an owner's part of the indexes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexFigures {
    pub entries: u64,
    pub vectors: u64,
    /// Entries whose vector is yet to be made.
    pub pending: u64,
    /// The weights that make vectors now.
    pub model: Option<Arc<str>>,
    pub dimensions: Option<usize>,
    /// In memory.
    pub bytes: u64,
    /// Durable changes that are not in them yet.
    pub lag: u64,
}

/// Finds entries.
pub trait Searcher: Send + Sync {
    /// # Errors
    /// `Unavailable`: the index is down or overloaded.
    fn search(&self, ask: IndexAsk) -> BoxFuture<'static, Result<Candidates, Error>>;

    /// # Errors
    /// As `search`.
    fn figures(&self, owner: &Owner) -> BoxFuture<'static, Result<IndexFigures, Error>>;

    /// Over all owners. Asks nobody.
    fn health(&self) -> IndexHealth;
}

/// Everything that indexes do.
pub trait Index: IndexSink + Searcher + fmt::Debug {}

impl<T: IndexSink + Searcher + fmt::Debug> Index for T {}

/// What a model made of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVector {
    pub place: Place,
    pub id: EntryId,
    /// Of the entry whose text was given to the model.
    pub version: u32,
    pub model: Arc<str>,
    /// A unit vector.
    pub vector: Arc<[f32]>,
}

/// Stores vectors.
pub trait PutVectors: Send + Sync {
    /// Stores those whose entry and text still stand, at most 512 a call; gives how many. The indexes are told of them as
    /// of every change.
    ///
    /// # Errors
    /// `Unavailable`: nothing is known to be stored, try again.
    fn put_vectors(&self, vectors: Vec<NewVector>) -> BoxFuture<'static, Result<usize, Error>>;
}
