//! What a model makes of texts: the vectors of entries, in the background, and those of queries, at once.
//!
//! No list of what is to be done is kept: the collections know which entries have no vector, so nothing is lost by a
//! restart, and an import of a million entries takes no room here. The feeder takes a few of each owner in turn, has them
//! computed, and stores them through the writer, from where the indexes hear of them. A query waits for nothing but what
//! is being computed: entries go to the model in small pieces, and not while a query waits.

mod back_off;
mod cache;
pub(super) mod fair;
mod feeder;
mod figures;
mod lengths;
mod queries;
mod service;
#[cfg(test)]
pub(super) mod tests;
mod texts;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::Serialize;
use tokio::sync::Notify;

use super::record::{EntryId, Space};

pub use figures::EmbedFigures;
pub(super) use service::Embedding;

/// Which model, and how long its vectors are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelTag {
    /// Of the weights: vectors of two models are never compared.
    pub id: Arc<str>,
    pub dimensions: usize,
}

/// Whether a model can compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// It is absent, loading or broken; why, for people.
    NotReady {
        why: String,
    },
}

/// Why texts have no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedFault {
    #[error("the model is busy")]
    Busy { retry_after: Duration },
    #[error("{why}")]
    NotReady { why: String },
    /// That text, counted from 0, is longer than the model reads.
    #[error("text {index} is too long for the model")]
    TooLong { index: usize },
    #[error("{why}")]
    Failed { why: String },
}

/// Vectors to come, in the order of the texts, each of length 1. Dropping it cancels.
pub type Vectors = BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedFault>>;

/// A model that turns texts into vectors.
pub trait Embedder: Send + Sync + fmt::Debug + 'static {
    /// The same for as long as the server runs; known before the model is loaded.
    fn model(&self) -> ModelTag;

    fn ready(&self) -> Readiness;

    /// Resolves once [`Embedder::ready`] may say something else than it did when this was called.
    fn changed(&self) -> BoxFuture<'static, ()>;

    /// Computes at most 32 texts. Returns at once; the work is done elsewhere.
    fn embed(&self, texts: Vec<String>) -> Vectors;
}

/// Who knows which entries lack a vector of the present model.
pub(super) trait Backlog: Send + Sync + 'static {
    /// At most `limit` of them, a few of each owner.
    fn lacking(&self, limit: usize) -> BoxFuture<'_, Vec<(Space, EntryId)>>;

    /// Told when there may be more.
    fn wake(&self) -> Arc<Notify>;
}
