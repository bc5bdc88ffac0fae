//! The way in.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_store::StoreHandle;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::kit::Kit;
use super::published::Published;
use super::ranking::Ranking;
use super::shards::Shards;
use super::stats::IndexStats;
use crate::embed::{Embedder, Embedding, ModelTag, Readiness};
use crate::port::{Applied, Candidates, IndexAsk, IndexFigures, IndexHealth, IndexSink, PutVectors, Searcher, Taken};
use crate::record::Owner;
use crate::stored;
use muster_core::supervise::Group;
use muster_core::{Clock, Error};
use muster_retrieval::Mode;

/// How the indexes are set up.
#[derive(Clone)]
pub struct IndexOptions {
    pub store: StoreHandle,
    pub clock: Clock,
    /// Of the checkpoints: made where it is not there.
    pub folder: PathBuf,
    pub embedder: Arc<dyn Embedder>,
    pub ranking: Ranking,
    /// How often what has changed is written to the disk, at least a second.
    pub checkpoint_every: Duration,
    /// Searches that may wait, for each shard; one more is refused.
    pub waiting: usize,
    /// How long a search may wait and take.
    pub patience: Duration,
    /// How long of that it waits for the model; then it is ranked by words alone.
    pub model_patience: Duration,
}

impl IndexOptions {
    /// What is set where nothing else is said.
    pub fn new(store: StoreHandle, clock: Clock, folder: PathBuf, embedder: Arc<dyn Embedder>) -> Self {
        Self {
            store,
            clock,
            folder,
            embedder,
            ranking: Ranking::default(),
            checkpoint_every: Duration::from_secs(300),
            waiting: 256,
            patience: Duration::from_secs(3),
            model_patience: Duration::from_secs(1),
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
    /// Starts a shard on each of the arbiters (at least one), which should be theirs alone: `index-0`, `index-1` … in
    /// `group`; and `queries`, on the first of them.
    pub fn start(group: &Group, arbiters: &[ArbiterHandle], options: IndexOptions) -> Self {
        // What cannot be read now is read as a gap later.
        let last = stored::last_change(&options.store).unwrap_or(0);
        let kit = Arc::new(Kit {
            store: Arc::clone(&options.store),
            clock: options.clock.clone(),
            folder: options.folder.clone(),
            checkpoint_every: options.checkpoint_every.max(Duration::from_secs(1)),
            model: options.embedder.model(),
            ranking: options.ranking,
            published: Arc::new(Published::new(arbiters.len(), last)),
            disks: arbiters.iter().map(|_| Arc::new(Semaphore::new(1))).collect(),
        });
        let shards = Shards::start(group, arbiters, &kit, options.waiting.max(1));
        let beside = arbiters.first().cloned().unwrap_or_else(actix_rt::Arbiter::current);
        let embedding = Embedding::start(group, beside, Arc::clone(&options.embedder));
        Self { shards, embedding, options }
    }

    /// Waits until the shards answer. What they had may still be coming: [`Searcher::health`] says.
    pub async fn up(&self) {
        tokio::join!(self.shards.up(), self.embedding.up());
    }

    /// From now on entries get vectors, which are stored through `put`: the actor `feeder` in `group`.
    pub fn feed(&self, group: &Group, arbiter: ArbiterHandle, put: Arc<dyn PutVectors>) {
        let read = (Arc::clone(&self.options.store), self.options.clock.clone());
        self.embedding.feed(group, arbiter, read, Arc::new(self.shards.clone()), put);
    }

    /// Writes what has changed to the disk; for an end in order. Changes that all shards have there are not kept.
    ///
    /// # Errors
    /// Why it was not written, for people: the next start takes longer.
    pub async fn checkpoint(&self) -> Result<(), String> {
        self.shards.checkpoint().await
    }

    /// Figures of the shards that answer, and of the model's work.
    pub async fn stats(&self) -> IndexStats {
        IndexStats::of(self.shards.published().health(), self.embedding.figures(), self.shards.stats().await)
    }

    /// Whose vectors are compared.
    pub fn model(&self) -> ModelTag {
        self.embedding.model()
    }

    /// Whether vectors can be made now.
    pub fn model_ready(&self) -> Readiness {
        self.embedding.ready()
    }
}

impl IndexSink for Indexes {
    fn apply(&self, changes: Arc<[Applied]>) -> BoxFuture<'static, Taken> {
        self.shards.apply(&changes)
    }
}

impl Searcher for Indexes {
    fn search(&self, ask: IndexAsk) -> BoxFuture<'static, Result<Candidates, Error>> {
        let this = self.clone();
        async move {
            let until = Instant::now() + this.options.patience;
            let (mut vector, mut without) = (None, None);
            if ask.query.mode != Mode::Text && !ask.query.text.is_empty() {
                let patience = this.options.model_patience.min(this.options.patience / 2);
                match this.embedding.query(&ask.query.text, patience).await {
                    Ok(found) => vector = Some(found),
                    Err(why) => without = Some(format!("ranked by words alone: {why}")),
                }
            }
            let mut found = this.shards.search(ask, vector, until).await?;
            found.warnings.extend(without);
            Ok(found)
        }
        .boxed()
    }

    fn figures(&self, owner: &Owner) -> BoxFuture<'static, Result<IndexFigures, Error>> {
        let (this, owner) = (self.clone(), owner.clone());
        async move { this.shards.figures(&owner).await }.boxed()
    }

    fn health(&self) -> IndexHealth {
        self.shards.published().health()
    }
}
