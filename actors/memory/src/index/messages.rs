//! Messages and events of a shard.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use actix::Message;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::slot::Slot;
use super::stats::ShardStats;
use crate::checkpoint::{FileEntry, PartKey, SlotNumber};
use crate::port::{Applied, Candidates, IndexSearch, OwnerIndexStats};
use crate::record::{EntryId, Owner, Space};
use muster_core::Error;
use muster_retrieval::Collection;

/// Durable changes in order, including those of other shards.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Apply {
    pub(super) changes: Arc<[Applied]>,
    /// Receives true once the next search finds the changes and no file contains deleted owners; false if a file could
    /// not be removed.
    pub(super) done: oneshot::Sender<bool>,
}

/// Everything up to this change was announced before this message.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct AnnouncedThrough(pub(super) u64);

/// A search of one owner's collections.
#[derive(Debug, Message)]
#[rtype(result = "Result<Candidates, Error>")]
pub(super) struct Search {
    pub(super) search: IndexSearch,
    /// Vector of the query; `None` to rank by words only.
    pub(super) vector: Option<Arc<[f32]>>,
    /// The caller's deadline.
    pub(super) until: Instant,
}

/// Requests entries without a vector, a few of each owner.
#[derive(Debug, Message)]
#[rtype(result = "Vec<(Space, EntryId)>")]
pub(super) struct ListMissingVectors(pub(super) usize);

/// Requests statistics of an owner's part of the shard.
#[derive(Debug, Message)]
#[rtype(result = "OwnerIndexStats")]
pub(super) struct GetOwnerStats(pub(super) Owner);

/// Requests statistics of the shard.
#[derive(Debug, Message)]
#[rtype(result = "ShardStats")]
pub(super) struct GetShardStats;

/// Writes changes to disk now; `done` receives the outcome, with an error message for people.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Checkpoint {
    pub(super) done: oneshot::Sender<Result<(), String>>,
}

/// Event from a job of the shard.
#[derive(Debug)]
pub(super) enum Event {
    /// Complete slots, up to at least that change.
    Loaded(Vec<Slot>, u64),
    /// Collections that are being rebuilt, as far as they are.
    Partial(Vec<(Space, Collection)>),
    Percent(u8),
    LoadFailed {
        why: String,
        /// It panicked: the checkpoints may be the cause.
        panicked: bool,
    },
    Saved(Vec<(SlotNumber, io::Result<BTreeMap<PartKey, FileEntry>>)>),
    /// The server is shutting down.
    Drain,
}
