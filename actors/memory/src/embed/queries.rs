//! Query vectors: cached ones immediately, others before all entries.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::fut::{ActorFutureExt, ready};
use actix::{Actor, Context, Handler, Message, ResponseActFuture, WrapFuture};
use tokio::time::Instant;

use super::cache::Cache;
use super::counters::Counters;
use super::{Embedder, ModelTag, Readiness, normalize, texts};

/// Capacity of the cache.
const CAPACITY: usize = 1_024;

/// Requests the vector of a query. The error explains why there is none.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<[f32]>, String>")]
pub(super) struct QueryVector {
    pub(super) text: Arc<str>,
    /// The caller's deadline.
    pub(super) until: Instant,
}

/// Actor that caches query vectors.
#[derive(Debug)]
pub struct Queries {
    embedder: Arc<dyn Embedder>,
    model: ModelTag,
    counts: Arc<Counters>,
    cache: Cache,
}

impl Queries {
    pub(super) fn new(embedder: Arc<dyn Embedder>, counts: Arc<Counters>) -> Self {
        Self { model: embedder.model(), embedder, counts, cache: Cache::new(CAPACITY) }
    }
}

impl Actor for Queries {
    type Context = Context<Self>;
}

impl Handler<QueryVector> for Queries {
    type Result = ResponseActFuture<Self, Result<Arc<[f32]>, String>>;

    fn handle(&mut self, query: QueryVector, _: &mut Context<Self>) -> Self::Result {
        self.counts.queries.fetch_add(1, Ordering::Relaxed);
        let key = Cache::key(&self.model.id, &query.text);
        if let Some(known) = self.cache.get(&key) {
            self.counts.known.fetch_add(1, Ordering::Relaxed);
            return Box::pin(ready(Ok(known)));
        }
        if let Readiness::NotReady { why } = self.embedder.ready() {
            return Box::pin(ready(Err(why)));
        }
        let (embedder, counts) = (Arc::clone(&self.embedder), Arc::clone(&self.counts));
        let dimensions = self.model.dimensions;
        let computed = async move {
            let _waiting = counts.waits();
            let computed = texts::compute(&embedder, texts::of_query(&query.text));
            match tokio::time::timeout_at(query.until, computed).await {
                Err(_) => Err("the model did not respond in time".to_owned()),
                Ok(Err(fault)) => Err(fault.to_string()),
                Ok(Ok(vectors)) => normalize::mean(&vectors, dimensions),
            }
        };
        Box::pin(
            computed.into_actor(self).map(move |computed, queries, _| {
                computed.inspect(|vector| queries.cache.insert(key, Arc::clone(vector)))
            }),
        )
    }
}
