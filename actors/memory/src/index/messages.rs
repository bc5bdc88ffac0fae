//! What a shard is asked, and what happens beside it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use actix::Message;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::slot::Slot;
use super::stats::ShardStats;
use crate::checkpoint::{FileEntry, PartKey, SlotNumber};
use crate::port::{Applied, Candidates, IndexAsk, IndexFigures};
use crate::record::{EntryId, Owner, Space};
use muster_core::Error;
use muster_retrieval::Collection;

/// Durable changes, those of other shards among them, in order.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Apply {
    pub(super) changes: Arc<[Applied]>,
    /// True once the next search finds them, and of owners that are gone no file is left; false where a file could not
    /// be removed.
    pub(super) done: oneshot::Sender<bool>,
}

/// Everything up to this change was told before this.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct ToldThrough(pub(super) u64);

#[derive(Debug, Message)]
#[rtype(result = "Result<Candidates, Error>")]
pub(super) struct Search {
    pub(super) ask: IndexAsk,
    /// The query, as the model has it; `None` where it is ranked by words alone.
    pub(super) vector: Option<Arc<[f32]>>,
    /// Nobody waits any longer.
    pub(super) until: Instant,
}

/// Entries without a vector, a few of each owner.
#[derive(Debug, Message)]
#[rtype(result = "Vec<(Space, EntryId)>")]
pub(super) struct AskLacking(pub(super) usize);

#[derive(Debug, Message)]
#[rtype(result = "IndexFigures")]
pub(super) struct AskFigures(pub(super) Owner);

#[derive(Debug, Message)]
#[rtype(result = "ShardStats")]
pub(super) struct AskStats;

/// Writes what has changed to the disk now; answered through `done`, with an error for people.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Checkpoint {
    pub(super) done: oneshot::Sender<Result<(), String>>,
}

/// What has happened beside the actor.
#[derive(Debug)]
pub(super) enum Event {
    /// Slots that are whole, through that change at least.
    Loaded(Vec<Slot>, u64),
    /// What there is of collections that are being built.
    Partial(Vec<(Space, Collection)>),
    Percent(u8),
    LoadFailed {
        why: String,
        /// It broke off in the midst: the checkpoints may be why.
        panicked: bool,
    },
    Saved(Vec<(SlotNumber, io::Result<BTreeMap<PartKey, FileEntry>>)>),
    /// The server ends.
    Drain,
}
