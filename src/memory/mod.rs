//! Semantic memory: starts the writer, the index shards on threads of their own, and the embedding model.

mod embedder;

use std::sync::Arc;
use std::time::Duration;

use actix_rt::{Arbiter, ArbiterHandle};
use muster_core::Clock;
use muster_core::supervise::Tree;
use muster_core::upkeep::PeriodicJob;
use muster_memory::{
    IndexOptions, IndexStats, Indexes, Memory, MemoryOptions, MemorySettings, last_change, stored_entries,
};
use muster_models::LocalEmbedder;
use muster_store::StoreHandle;

use crate::config::Config;
use embedder::LocalSentenceModel;

/// Time between two sweeps for expired entries. The writer deletes each at its expiry; a sweep finds those that it
/// missed.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// Folder of the index files inside the data folder.
const FOLDER: &str = "memory";
/// Largest default number of shards: more shards than owners that search concurrently gain nothing.
const MOST_SHARDS: usize = 4;

/// Semantic memory as handlers use it.
pub struct MemoryParts {
    pub entries: Memory,
    /// Largest number of entries of one owner.
    pub max_entries: u64,
    index: Indexes,
    store: StoreHandle,
    arbiters: Vec<Arbiter>,
}

impl std::fmt::Debug for MemoryParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryParts").field("index", &self.index).finish_non_exhaustive()
    }
}

/// What semantic memory needs from the server.
pub(crate) struct Dependencies<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) store: &'a StoreHandle,
    pub(crate) clock: &'a Clock,
    pub(crate) embedder: &'a Arc<LocalEmbedder>,
}

impl MemoryParts {
    pub(crate) fn start(config: &Config, dependencies: &Dependencies<'_>) -> Self {
        let group = dependencies.tree.group("memory");
        // Searches use the CPU for long, so each shard has a thread of its own, as do writes.
        let arbiters: Vec<Arbiter> = (0..=shards(config)).map(|_| Arbiter::new()).collect();
        let handles: Vec<ArbiterHandle> = arbiters.iter().map(Arbiter::handle).collect();
        let (writer, shards) =
            handles.split_first().map_or_else(|| (Arbiter::current(), &[][..]), |(first, rest)| (first.clone(), rest));
        let embedder = Arc::new(LocalSentenceModel::new(Arc::clone(dependencies.embedder)));
        let folder = config.store.path.join(FOLDER);
        let store = Arc::clone(dependencies.store);
        let options = IndexOptions {
            checkpoint_every: Duration::from_secs(config.memory.checkpoint_seconds),
            ranking: config.memory.ranking(),
            ..IndexOptions::new(Arc::clone(&store), dependencies.clock.clone(), folder, embedder)
        };
        let index = Indexes::start(&group, shards, options);
        let max_entries = config.memory.max_entries_per_owner as u64;
        let options = MemoryOptions {
            store: Arc::clone(&store),
            clock: dependencies.clock.clone(),
            settings: MemorySettings { shared: config.memory.shared.clone(), max_entries },
            index: Arc::new(index.clone()),
        };
        let entries = Memory::start(&group, writer.clone(), options);
        index.feed(&group, writer, Arc::new(entries.clone()));
        Self { entries, max_entries, index, store, arbiters }
    }

    pub(crate) async fn up(&self) {
        tokio::join!(self.entries.up(), self.index.up());
    }

    /// Returns the periodic job that deletes expired entries.
    pub(crate) fn upkeep(&self) -> PeriodicJob {
        let entries = self.entries.clone();
        PeriodicJob::new("expired memory", SWEEP_EVERY, move || {
            let entries = entries.clone();
            async move { entries.sweep().await.map(drop).map_err(|error| error.to_string()) }
        })
    }

    /// Returns statistics over all owners, and the number of durable changes that the index lacks.
    pub async fn stats(&self) -> (IndexStats, u64) {
        let stats = self.index.stats().await;
        let applied = stats.shards.iter().map(|shard| shard.applied).min();
        let last = last_change(&self.store).unwrap_or(0);
        (stats, last.saturating_sub(applied.unwrap_or(last)))
    }

    /// Returns what compares the index with the store.
    pub(crate) fn search_index(&self) -> SearchIndex {
        SearchIndex { index: self.index.clone(), store: Arc::clone(&self.store) }
    }

    /// Saves the index during a shutdown, so that the next start need not read changes again.
    ///
    /// # Errors
    /// The index cannot be saved.
    pub(crate) async fn save(&self) -> Result<(), String> {
        self.index.checkpoint().await
    }

    /// Stops the threads, after their actors were stopped.
    pub(crate) fn end(&self) {
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }
}

/// Compares the index with the store.
#[derive(Clone)]
pub struct SearchIndex {
    index: Indexes,
    store: StoreHandle,
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").field("index", &self.index).finish_non_exhaustive()
    }
}

impl SearchIndex {
    /// Returns the number of entries in the store and in the index.
    ///
    /// # Errors
    /// Why they cannot be counted.
    pub(crate) async fn counts(&self) -> Result<(u64, u64), String> {
        let store = Arc::clone(&self.store);
        let stored = tokio::task::spawn_blocking(move || stored_entries(&store)).await;
        let stored = stored.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        Ok((stored, self.index.stats().await.entries))
    }
}

fn shards(config: &Config) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from).min(MOST_SHARDS);
    if config.memory.shards > 0 { config.memory.shards } else { cores() }
}
