//! Public interface of the indexes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_store::StoreHandle;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::published::Published;
use super::ranking::Ranking;
use super::shard_context::ShardContext;
use super::shards::Shards;
use super::stats::IndexStats;
use crate::embed::{Embedder, Embedding, ModelTag, Readiness};
use crate::port::{
    Applied, ApplyOutcome, Candidates, IndexHealth, IndexSearch, IndexSink, OwnerIndexStats, PutVectors, Searcher,
};
use crate::record::Owner;
use crate::stored;
use muster_core::supervise::Group;
use muster_core::{Clock, Error};
use muster_retrieval::Mode;

/// Options of the indexes.
#[derive(Clone)]
pub struct IndexOptions {
    /// Store of the entries.
    pub store: StoreHandle,
    /// Source of time.
    pub clock: Clock,
    /// Checkpoint folder, created if necessary.
    pub folder: PathBuf,
    /// Model of the vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Ranking parameters.
    pub ranking: Ranking,
    /// Interval of checkpoints, at least a second.
    pub checkpoint_every: Duration,
    /// Maximum number of waiting searches per shard; further ones are rejected.
    pub max_waiting: usize,
    /// Time limit of a search, including its wait.
    pub search_timeout: Duration,
    /// Part of that for the query vector; after it the search ranks by words only.
    pub model_timeout: Duration,
}

impl IndexOptions {
    /// Returns the default options.
    pub fn new(store: StoreHandle, clock: Clock, folder: PathBuf, embedder: Arc<dyn Embedder>) -> Self {
        Self {
            store,
            clock,
            folder,
            embedder,
            ranking: Ranking::default(),
            checkpoint_every: Duration::from_secs(300),
            max_waiting: 256,
            search_timeout: Duration::from_secs(3),
            model_timeout: Duration::from_secs(1),
        }
    }
}

impl std::fmt::Debug for IndexOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexOptions").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The indexes of semantic memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Indexes {
    pub(super) shards: Shards,
    embedding: Embedding,
    options: IndexOptions,
}

impl Indexes {
    /// Starts a shard on each arbiter (at least one, used by nothing else): `index-0`, `index-1` … in `group`; and
    /// `queries` on the first of them.
    pub fn start(group: &Group, arbiters: &[ArbiterHandle], options: IndexOptions) -> Self {
        // If it cannot be read now, the gap is found later.
        let last = stored::last_change(&options.store).unwrap_or(0);
        let shard_context = Arc::new(ShardContext {
            store: Arc::clone(&options.store),
            clock: options.clock.clone(),
            folder: options.folder.clone(),
            checkpoint_every: options.checkpoint_every.max(Duration::from_secs(1)),
            model: options.embedder.model(),
            ranking: options.ranking,
            published: Arc::new(Published::new(arbiters.len(), last)),
            disks: arbiters.iter().map(|_| Arc::new(Semaphore::new(1))).collect(),
        });
        let shards = Shards::start(group, arbiters, &shard_context, options.max_waiting.max(1));
        let beside = arbiters.first().cloned().unwrap_or_else(actix_rt::Arbiter::current);
        let embedding = Embedding::start(group, beside, Arc::clone(&options.embedder));
        Self { shards, embedding, options }
    }

    /// Waits until the shards respond. Their content may still be loading, see [`Searcher::health`].
    pub async fn up(&self) {
        tokio::join!(self.shards.up(), self.embedding.up());
    }

    /// Starts the actor `feeder` in `group`: entries get vectors from now on, stored through `put`.
    pub fn feed(&self, group: &Group, arbiter: ArbiterHandle, put: Arc<dyn PutVectors>) {
        let read = (Arc::clone(&self.options.store), self.options.clock.clone());
        self.embedding.feed(group, arbiter, read, Arc::new(self.shards.clone()), put);
    }

    /// Writes changes to disk, for an orderly shutdown. The change log is trimmed up to what all shards have written.
    ///
    /// # Errors
    /// Why it failed, for people; the next start then takes longer.
    pub async fn checkpoint(&self) -> Result<(), String> {
        self.shards.checkpoint().await
    }

    /// Returns statistics of the responding shards and of embedding.
    pub async fn stats(&self) -> IndexStats {
        IndexStats::of(self.shards.published().health(), self.embedding.stats(), self.shards.stats().await)
    }

    /// Returns the model of the vectors.
    pub fn model(&self) -> ModelTag {
        self.embedding.model()
    }

    /// Returns whether vectors can be computed now.
    pub fn model_ready(&self) -> Readiness {
        self.embedding.ready()
    }
}

impl IndexSink for Indexes {
    fn apply(&self, changes: Arc<[Applied]>) -> BoxFuture<'static, ApplyOutcome> {
        self.shards.apply(&changes)
    }
}

impl Searcher for Indexes {
    fn search(&self, search: IndexSearch) -> BoxFuture<'static, Result<Candidates, Error>> {
        let this = self.clone();
        async move {
            let until = Instant::now() + this.options.search_timeout;
            let (mut vector, mut without) = (None, None);
            if search.query.mode != Mode::Text && !search.query.text.is_empty() {
                let timeout = this.options.model_timeout.min(this.options.search_timeout / 2);
                match this.embedding.query(&search.query.text, timeout).await {
                    Ok(found) => vector = Some(found),
                    Err(why) => without = Some(format!("ranked by words only: {why}")),
                }
            }
            let mut found = this.shards.search(search, vector, until).await?;
            found.warnings.extend(without);
            Ok(found)
        }
        .boxed()
    }

    fn owner_stats(&self, owner: &Owner) -> BoxFuture<'static, Result<OwnerIndexStats, Error>> {
        let (this, owner) = (self.clone(), owner.clone());
        async move { this.shards.owner_stats(&owner).await }.boxed()
    }

    fn health(&self) -> IndexHealth {
        self.shards.published().health()
    }
}
