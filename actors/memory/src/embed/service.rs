//! Public interface of embedding.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_store::StoreHandle;
use tokio::time::Instant;

use super::counters::Counters;
use super::feeder::{Feeder, FeederDeps};
use super::queries::{Queries, QueryVector};
use super::{Backlog, EmbedStats, Embedder, ModelTag, Readiness};
use crate::port::PutVectors;
use muster_core::Clock;
use muster_core::supervise::{ChildSpec, Group, Handle};

/// Maximum number of queries waiting for vectors.
const MAX_WAITING: usize = 256;

/// Computes query vectors and, once feeding has started, entry vectors.
#[derive(Debug, Clone)]
pub(crate) struct Embedding {
    embedder: Arc<dyn Embedder>,
    counts: Arc<Counters>,
    queries: Handle<Queries>,
}

impl Embedding {
    /// Starts the actor `queries` in `group`.
    pub(crate) fn start(group: &Group, arbiter: ArbiterHandle, embedder: Arc<dyn Embedder>) -> Self {
        let counts = Arc::new(Counters::default());
        let dependencies = (Arc::clone(&embedder), Arc::clone(&counts));
        let spec = ChildSpec::new("queries", arbiter, move |_| {
            std::future::ready(Ok(Queries::new(Arc::clone(&dependencies.0), Arc::clone(&dependencies.1))))
        });
        Self { embedder, counts, queries: group.start(spec.capacity(MAX_WAITING)) }
    }

    /// Starts the actor `feeder` in `group`, which computes missing entry vectors from now on.
    pub(crate) fn feed(
        &self,
        group: &Group,
        arbiter: ArbiterHandle,
        (store, clock): (StoreHandle, Clock),
        backlog: Arc<dyn Backlog>,
        put: Arc<dyn PutVectors>,
    ) {
        let (embedder, counts) = (Arc::clone(&self.embedder), Arc::clone(&self.counts));
        let dependencies = FeederDeps { store, clock, embedder, backlog, put, counts };
        let spec =
            ChildSpec::new("feeder", arbiter, move |_| std::future::ready(Ok(Feeder::new(dependencies.clone()))));
        // The supervision tree owns it; it receives no messages.
        drop(group.start(spec));
    }

    pub(crate) async fn up(&self) {
        self.queries.up().await;
    }

    pub(crate) fn model(&self) -> ModelTag {
        self.embedder.model()
    }

    pub(crate) fn ready(&self) -> Readiness {
        self.embedder.ready()
    }

    /// Returns statistics since the server's start.
    pub(crate) fn stats(&self) -> EmbedStats {
        self.counts.read()
    }

    /// Returns the vector of a query.
    ///
    /// # Errors
    /// Why there is none now, for people.
    pub(crate) async fn query(&self, text: &Arc<str>, timeout: Duration) -> Result<Arc<[f32]>, String> {
        let query = QueryVector { text: Arc::clone(text), until: Instant::now() + timeout };
        self.queries.ask_within(timeout, query).await.map_err(|error| error.to_string())?
    }
}
