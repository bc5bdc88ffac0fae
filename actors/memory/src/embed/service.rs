//! Public interface of embedding.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_store::StoreHandle;
use tokio::time::Instant;

use super::feeder::{Feeder, FeederDeps};
use super::figures::Counts;
use super::queries::{Queries, QueryVector};
use super::{Backlog, EmbedFigures, Embedder, ModelTag, Readiness};
use crate::port::PutVectors;
use muster_core::Clock;
use muster_core::supervise::{ChildSpec, Group, Handle};

/// Maximum number of queries waiting for vectors.
const WAITING: usize = 256;

/// Computes query vectors and, once feeding has started, entry vectors.
#[derive(Debug, Clone)]
pub(crate) struct Embedding {
    embedder: Arc<dyn Embedder>,
    counts: Arc<Counts>,
    queries: Handle<Queries>,
}

impl Embedding {
    /// Starts the actor `queries` in `group`.
    pub(crate) fn start(group: &Group, arbiter: ArbiterHandle, embedder: Arc<dyn Embedder>) -> Self {
        let counts = Arc::new(Counts::default());
        let parts = (Arc::clone(&embedder), Arc::clone(&counts));
        let spec = ChildSpec::new("queries", arbiter, move |_| {
            std::future::ready(Ok(Queries::new(Arc::clone(&parts.0), Arc::clone(&parts.1))))
        });
        Self { embedder, counts, queries: group.start(spec.capacity(WAITING)) }
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
        let parts = FeederDeps { store, clock, embedder, backlog, put, counts };
        let spec = ChildSpec::new("feeder", arbiter, move |_| std::future::ready(Ok(Feeder::new(parts.clone()))));
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

    pub(crate) fn figures(&self) -> EmbedFigures {
        self.counts.read()
    }

    /// Returns the vector of a query.
    ///
    /// # Errors
    /// Why there is none now, for people.
    pub(crate) async fn query(&self, text: &Arc<str>, patience: Duration) -> Result<Arc<[f32]>, String> {
        let ask = QueryVector { text: Arc::clone(text), until: Instant::now() + patience };
        self.queries.ask_within(patience, ask).await.map_err(|error| error.to_string())?
    }
}
