//! Dependencies shared by all shards.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::published::Published;
use super::ranking::Ranking;
use crate::checkpoint::SlotNumber;
use crate::embed::ModelTag;
use muster_core::{Clock, Millis};
use muster_retrieval::Collection;

/// Created once for all shards.
pub(super) struct ShardContext {
    pub(super) store: StoreHandle,
    pub(super) clock: Clock,
    /// Folder of the checkpoints.
    pub(super) folder: PathBuf,
    pub(super) checkpoint_every: Duration,
    pub(super) model: ModelTag,
    pub(super) ranking: Ranking,
    pub(super) published: Arc<Published>,
    /// One permit per shard for access to its files: a job of a dead shard may still be running.
    pub(super) disks: Vec<Arc<Semaphore>>,
}

impl ShardContext {
    /// Returns the number of shards.
    pub(super) fn shards(&self) -> usize {
        self.disks.len()
    }

    /// Iterates over the slots of a shard.
    pub(super) fn slots(&self, shard: usize) -> impl Iterator<Item = SlotNumber> {
        let shards = self.shards();
        SlotNumber::all().filter(move |slot| slot.shard(shards) == shard)
    }

    /// Waits for the permit of a shard's files; `None` only if there is no such shard.
    pub(super) async fn disk(&self, shard: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(self.disks.get(shard)?).acquire_owned().await.ok()
    }

    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Creates an empty collection with the options of all shards.
    pub(super) fn collection(&self) -> Collection {
        Collection::new(self.ranking.collection(self.model.dimensions))
    }

    /// Identifies compatible checkpoints.
    pub(super) fn mark(&self) -> String {
        self.ranking.mark(&self.model.id)
    }
}
