//! Statistics of the indexes.

use std::sync::atomic::Ordering;

use actix::{Context, Handler, MessageResult};
use serde::Serialize;

use super::actor::Shard;
use super::messages::{GetOwnerStats, GetShardStats};
use super::published::ShardSnapshot;
use super::timings::percentile;
use crate::embed::EmbedStats;
use crate::port::{IndexHealth, OwnerIndexStats};

/// Statistics of one shard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShardStats {
    /// Number of the shard.
    pub shard: usize,
    /// Health of the shard.
    pub health: IndexHealth,
    /// Number of collections.
    pub collections: u64,
    /// Number of indexed entries.
    pub entries: u64,
    /// Number of vectors.
    pub vectors: u64,
    /// Bytes in memory.
    pub bytes: u64,
    /// Collections whose vector graph is being built; missing vectors are scanned.
    pub building: u64,
    /// Last change applied.
    pub applied: u64,
    /// Last change contained in its checkpoints.
    pub checkpointed: u64,
    /// Why the last checkpoint failed.
    pub checkpoint_fault: Option<String>,
    /// Searches since its start.
    pub searches: u64,
    /// Average over the last ten seconds.
    pub searches_per_second: f64,
    /// Durations of the latest searches, in microseconds.
    #[serde(skip)]
    pub(super) took: Vec<u32>,
}

/// Statistics of all shards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndexStats {
    /// Worst health of any shard.
    pub health: IndexHealth,
    /// Number of indexed entries.
    pub entries: u64,
    /// Number of vectors.
    pub vectors: u64,
    /// Entries without a vector.
    pub pending: u64,
    /// Bytes in memory.
    pub bytes: u64,
    /// Searches since the start.
    pub searches: u64,
    /// Average over the last ten seconds.
    pub searches_per_second: f64,
    /// Median duration of the latest searches on the shard's thread, in microseconds; `None` before the first.
    pub p50_us: Option<u32>,
    /// 99th percentile of the same durations.
    pub p99_us: Option<u32>,
    /// Statistics of embedding.
    pub embedding: EmbedStats,
    /// The responding shards.
    pub shards: Vec<ShardStats>,
}

impl IndexStats {
    pub(super) fn of(health: IndexHealth, embedding: EmbedStats, shards: Vec<ShardStats>) -> Self {
        let sum = |of: fn(&ShardStats) -> u64| shards.iter().map(of).sum::<u64>();
        let mut took: Vec<u32> = shards.iter().flat_map(|shard| shard.took.iter().copied()).collect();
        took.sort_unstable();
        let (entries, vectors) = (sum(|shard| shard.entries), sum(|shard| shard.vectors));
        Self {
            health,
            entries,
            vectors,
            pending: entries.saturating_sub(vectors),
            bytes: sum(|shard| shard.bytes),
            searches: sum(|shard| shard.searches),
            searches_per_second: shards.iter().map(|shard| shard.searches_per_second).sum(),
            p50_us: percentile(&took, 50),
            p99_us: percentile(&took, 99),
            embedding,
            shards,
        }
    }
}

impl Handler<GetShardStats> for Shard {
    type Result = MessageResult<GetShardStats>;

    fn handle(&mut self, _: GetShardStats, _: &mut Context<Self>) -> Self::Result {
        let collections = || self.slots.values().flat_map(|slot_state| slot_state.slot.collections.values());
        let snapshot = self.snapshot();
        MessageResult(ShardStats {
            shard: self.number,
            health: snapshot.map_or(IndexHealth::Down, ShardSnapshot::health),
            collections: collections().count() as u64,
            entries: collections().map(|it| it.len() as u64).sum(),
            vectors: collections().map(|it| it.vectors() as u64).sum(),
            bytes: collections().map(|it| it.bytes() as u64).sum(),
            building: self.slots.values().map(|slot_state| slot_state.slot.building.len() as u64).sum(),
            applied: self.applied,
            checkpointed: snapshot.map_or(0, |snapshot| snapshot.covered.load(Ordering::Acquire)),
            checkpoint_fault: self.saving.fault.clone(),
            searches: self.timings.count(),
            searches_per_second: self.timings.per_second(self.shard_context.now()),
            took: self.timings.latest(),
        })
    }
}

impl Handler<GetOwnerStats> for Shard {
    type Result = MessageResult<GetOwnerStats>;

    fn handle(&mut self, GetOwnerStats(owner): GetOwnerStats, _: &mut Context<Self>) -> Self::Result {
        let slots = self.slots.values();
        let of_owner =
            || slots.clone().flat_map(|slot_state| slot_state.slot.of_owner(&owner)).map(|(_, collection)| collection);
        let missed = self.snapshot().map_or(0, |snapshot| snapshot.missed.load(Ordering::Acquire));
        MessageResult(OwnerIndexStats {
            entries: of_owner().map(|it| it.len() as u64).sum(),
            vectors: of_owner().map(|it| it.vectors() as u64).sum(),
            pending: self.count_missing_vectors(&owner),
            model: Some(std::sync::Arc::clone(&self.shard_context.model.id)),
            dimensions: Some(self.shard_context.model.dimensions),
            bytes: of_owner().map(|it| it.bytes() as u64).sum(),
            lag: missed.saturating_sub(self.applied),
        })
    }
}
