//! Embedding: vectors of entries in the background, vectors of queries immediately.
//!
//! There is no persistent work queue: the collections know which entries lack a vector, so nothing is lost by a
//! restart, and an import of a million entries takes no memory here. The feeder takes a few entries of each owner in
//! turn, has them computed, and stores the vectors through the writer, which passes them to the indexes. A query waits
//! for at most one model call: entries are submitted in small batches, and not while a query waits.

mod back_off;
mod cache;
mod counters;
mod feeder;
mod normalize;
mod queries;
pub(super) mod round_robin;
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

pub use counters::EmbedStats;
pub(super) use service::Embedding;

/// Identity of a model, and the length of its vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelTag {
    /// Hash of the weights: vectors of different models are never compared.
    pub id: Arc<str>,
    /// Length of its vectors.
    pub dimensions: usize,
}

/// Whether a model can compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Vectors can be computed.
    Ready,
    /// The model is absent, loading or failed.
    NotReady {
        /// The reason, for people.
        why: String,
    },
}

/// Why texts have no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedFault {
    /// The model has no capacity now.
    #[error("the model is busy")]
    Busy {
        /// When to try again.
        retry_after: Duration,
    },
    /// The model is absent, loading or failed.
    #[error("{why}")]
    NotReady {
        /// The reason, for people.
        why: String,
    },
    /// A text exceeds the model's maximum length.
    #[error("text {index} is too long for the model")]
    TooLong {
        /// Index of the text, from 0.
        index: usize,
    },
    /// The model failed to compute these texts.
    #[error("{why}")]
    Failed {
        /// The reason, for people.
        why: String,
    },
}

/// Future of vectors, in the order of the texts, each of length 1. Dropping it cancels.
pub type Vectors = BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedFault>>;

/// A model that computes text embeddings.
pub trait Embedder: Send + Sync + fmt::Debug + 'static {
    /// Returns the model's identity: constant while the server runs, and known before the model is loaded.
    fn model(&self) -> ModelTag;

    /// Returns whether the model can compute now.
    fn ready(&self) -> Readiness;

    /// Resolves once [`Embedder::ready`] may have changed since this call.
    fn changed(&self) -> BoxFuture<'static, ()>;

    /// Computes at most 32 texts. Returns immediately; the work is done elsewhere.
    fn embed(&self, texts: Vec<String>) -> Vectors;
}

/// Source of entries that lack a vector of the current model.
pub(super) trait Backlog: Send + Sync + 'static {
    /// Returns at most `limit` of them, a few of each owner.
    fn missing_vectors(&self, limit: usize) -> BoxFuture<'_, Vec<(Space, EntryId)>>;

    /// Notified when there may be more.
    fn wake(&self) -> Arc<Notify>;
}
