//! Figures of the indexes.

use std::sync::atomic::Ordering;

use actix::{Context, Handler, MessageResult};
use serde::Serialize;

use super::actor::Shard;
use super::messages::{AskFigures, AskStats};
use super::published::Shown;
use super::timings::percentile;
use crate::embed::EmbedFigures;
use crate::port::{IndexFigures, IndexHealth};

/// Of one shard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShardStats {
    pub shard: usize,
    pub health: IndexHealth,
    pub collections: u64,
    pub entries: u64,
    pub vectors: u64,
    /// In memory.
    pub bytes: u64,
    /// Collections whose graph of vectors is being grown: what is not in it yet is scanned.
    pub building: u64,
    /// The last change that it has.
    pub applied: u64,
    /// The last change that its checkpoints have.
    pub checkpointed: u64,
    /// Why the last checkpoint was not written.
    pub checkpoint_fault: Option<String>,
    /// Searches since its start.
    pub searches: u64,
    /// Over the last ten seconds.
    pub searches_per_second: f64,
    /// Of the latest searches, in microseconds.
    #[serde(skip)]
    pub(super) took: Vec<u32>,
}

/// Of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndexStats {
    pub health: IndexHealth,
    pub entries: u64,
    pub vectors: u64,
    /// Entries whose vector is yet to be made.
    pub pending: u64,
    pub bytes: u64,
    pub searches: u64,
    pub searches_per_second: f64,
    /// Of the latest searches, on the shard's thread, in microseconds; none before the first.
    pub p50_us: Option<u32>,
    pub p99_us: Option<u32>,
    pub embedding: EmbedFigures,
    /// Those that answered.
    pub shards: Vec<ShardStats>,
}

impl IndexStats {
    pub(super) fn of(health: IndexHealth, embedding: EmbedFigures, shards: Vec<ShardStats>) -> Self {
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

impl Handler<AskStats> for Shard {
    type Result = MessageResult<AskStats>;

    fn handle(&mut self, _: AskStats, _: &mut Context<Self>) -> Self::Result {
        let collections = || self.slots.values().flat_map(|seat| seat.slot.collections.values());
        let shown = self.shown();
        MessageResult(ShardStats {
            shard: self.number,
            health: shown.map_or(IndexHealth::Down, Shown::health),
            collections: collections().count() as u64,
            entries: collections().map(|it| it.len() as u64).sum(),
            vectors: collections().map(|it| it.vectors() as u64).sum(),
            bytes: collections().map(|it| it.bytes() as u64).sum(),
            building: self.slots.values().map(|seat| seat.slot.building.len() as u64).sum(),
            applied: self.applied,
            checkpointed: shown.map_or(0, |shown| shown.covered.load(Ordering::Acquire)),
            checkpoint_fault: self.saving.fault.clone(),
            searches: self.timings.count(),
            searches_per_second: self.timings.per_second(self.kit.now()),
            took: self.timings.latest(),
        })
    }
}

impl Handler<AskFigures> for Shard {
    type Result = MessageResult<AskFigures>;

    fn handle(&mut self, AskFigures(owner): AskFigures, _: &mut Context<Self>) -> Self::Result {
        let seats = self.slots.values();
        let of_owner = || seats.clone().flat_map(|seat| seat.slot.of_owner(&owner)).map(|(_, collection)| collection);
        let missed = self.shown().map_or(0, |shown| shown.missed.load(Ordering::Acquire));
        MessageResult(IndexFigures {
            entries: of_owner().map(|it| it.len() as u64).sum(),
            vectors: of_owner().map(|it| it.vectors() as u64).sum(),
            pending: self.owner_lacks(&owner),
            model: Some(std::sync::Arc::clone(&self.kit.model.id)),
            dimensions: Some(self.kit.model.dimensions),
            bytes: of_owner().map(|it| it.bytes() as u64).sum(),
            lag: missed.saturating_sub(self.applied),
        })
    }
}
