//! What every shard has at hand.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use muster_store::StoreHandle;

use super::published::Published;
use crate::memory::checkpoint::SlotNumber;
use crate::memory::embed::ModelTag;
use crate::{Clock, Millis};
use muster_retrieval::{Collection, CollectionOptions};

/// Set once for all shards.
pub(super) struct Kit {
    pub(super) store: StoreHandle,
    pub(super) clock: Clock,
    /// Of the checkpoints.
    pub(super) folder: PathBuf,
    pub(super) checkpoint_every: Duration,
    pub(super) model: ModelTag,
    pub(super) published: Arc<Published>,
    /// Held while a shard's files are read or written, by shard: a job of a shard that has died may still be at it.
    pub(super) disks: Vec<Mutex<()>>,
}

impl Kit {
    pub(super) fn shards(&self) -> usize {
        self.disks.len()
    }

    pub(super) fn slots(&self, shard: usize) -> impl Iterator<Item = SlotNumber> {
        let shards = self.shards();
        SlotNumber::all().filter(move |slot| slot.shard(shards) == shard)
    }

    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    pub(super) fn collection(&self) -> Collection {
        Collection::new(CollectionOptions::new(self.model.dimensions))
    }
}
