//! The way in.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_store::StoreHandle;
use tokio::time::Instant;

use super::feeder::{Feeder, Parts};
use super::figures::Counts;
use super::queries::{Queries, QueryVector};
use super::{Backlog, EmbedFigures, Embedder, ModelTag, Readiness};
use crate::Clock;
use crate::memory::port::PutVectors;
use crate::supervise::{ChildSpec, Group, Handle};

/// Queries that may wait for their vectors.
const WAITING: usize = 256;

/// Vectors of queries, and, once it is told where to put them, of entries.
#[derive(Debug, Clone)]
pub(in crate::memory) struct Embedding {
    embedder: Arc<dyn Embedder>,
    counts: Arc<Counts>,
    queries: Handle<Queries>,
}

impl Embedding {
    /// Starts the actor `queries` in `group`.
    pub(in crate::memory) fn start(group: &Group, arbiter: ArbiterHandle, embedder: Arc<dyn Embedder>) -> Self {
        let counts = Arc::new(Counts::default());
        let parts = (Arc::clone(&embedder), Arc::clone(&counts));
        let spec = ChildSpec::new("queries", arbiter, move |_| {
            std::future::ready(Ok(Queries::new(Arc::clone(&parts.0), Arc::clone(&parts.1))))
        });
        Self { embedder, counts, queries: group.start(spec.capacity(WAITING)) }
    }

    /// Starts the actor `feeder` in `group`: entries get their vectors from now on.
    pub(in crate::memory) fn feed(
        &self,
        group: &Group,
        arbiter: ArbiterHandle,
        (store, clock): (StoreHandle, Clock),
        backlog: Arc<dyn Backlog>,
        put: Arc<dyn PutVectors>,
    ) {
        let (embedder, counts) = (Arc::clone(&self.embedder), Arc::clone(&self.counts));
        let parts = Parts { store, clock, embedder, backlog, put, counts };
        let spec = ChildSpec::new("feeder", arbiter, move |_| std::future::ready(Ok(Feeder::new(parts.clone()))));
        // Its tree keeps it: nobody asks it anything.
        drop(group.start(spec));
    }

    pub(in crate::memory) async fn up(&self) {
        self.queries.up().await;
    }

    pub(in crate::memory) fn model(&self) -> ModelTag {
        self.embedder.model()
    }

    pub(in crate::memory) fn ready(&self) -> Readiness {
        self.embedder.ready()
    }

    pub(in crate::memory) fn figures(&self) -> EmbedFigures {
        self.counts.read()
    }

    /// The vector of a query.
    ///
    /// # Errors
    /// Why there is none now, for people.
    pub(in crate::memory) async fn query(&self, text: &Arc<str>, patience: Duration) -> Result<Arc<[f32]>, String> {
        let ask = QueryVector { text: Arc::clone(text), until: Instant::now() + patience };
        self.queries.ask_within(patience, ask).await.map_err(|error| error.to_string())?
    }
}
