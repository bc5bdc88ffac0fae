//! In-process sentence embeddings: all-MiniLM-L6-v2 behind [`EmbedModel`].
//!
//! Invariants: a request gets exactly one response, even if an engine thread panics; the queue and every batch are
//! bounded; callers never wait for computation while holding the lock.

mod local;

#[cfg(not(feature = "embed"))]
#[path = "no_engine.rs"]
mod engine;
#[cfg(feature = "embed")]
mod engine;

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

use crate::chat::ModelStatus;

pub use local::{EmbedOptions, LocalEmbedder};

/// Description of an embedding model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EmbedInfo {
    /// Id in the manifest, such as `minilm`.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Length of each vector.
    pub dimensions: u32,
    /// Maximum number of word pieces in a text, including the two special tokens.
    pub max_tokens: u32,
    /// SHA-256 of the weights file: 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// Vectors of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embeddings {
    /// One vector per text, in order, each of L2 length 1.
    pub vectors: Vec<Vec<f32>>,
    /// Word pieces of each text, including the two special tokens.
    pub tokens: Vec<u32>,
}

impl Embeddings {
    /// Returns the word pieces of all texts.
    pub fn total_tokens(&self) -> u32 {
        self.tokens.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }
}

/// Counters and gauges for status and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EmbedStats {
    /// Texts admitted and not yet answered, including those being computed.
    pub waiting: usize,
    /// Texts computed since the start.
    pub texts: u64,
    /// Tokens computed since the start.
    pub tokens: u64,
    /// Number of times the engine died and was restarted.
    pub restarts: u64,
}

/// Why a model rejects or fails a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The files are missing, or this build has no inference engine.
    #[error("the embedded embedding model is not installed: {mend}")]
    Absent {
        /// Command or setting that fixes it.
        mend: String,
    },
    /// The files are still being verified or loaded.
    #[error("the embedded embedding model is still loading ({percent} %)")]
    Loading {
        /// Progress, 0 to 100.
        percent: u8,
    },
    /// Loading or running failed.
    #[error("the embedded embedding model failed: {why}")]
    Failed {
        /// What failed.
        why: String,
    },
    /// The queue is full.
    #[error("the embedded embedding model is busy")]
    Busy {
        /// When to try again.
        retry_after: Duration,
    },
    /// A text is too long; nothing is truncated silently.
    #[error("input {index} (counted from 0) has {tokens} tokens or more; this model accepts at most {most}: split it")]
    TooLong {
        /// Index of the text in the request, from 0.
        index: usize,
        /// Number of tokens. An extremely long text is not tokenized to its end; this is then a lower bound.
        tokens: u32,
        /// Maximum number of tokens in a text.
        most: u32,
    },
    /// The request has too many texts.
    #[error("{texts} texts are more than this model accepts in one request: send at most {most}")]
    TooMany {
        /// Number of texts in the request.
        texts: usize,
        /// Maximum number of texts in a request.
        most: usize,
    },
}

/// Future of the vectors. Dropping it cancels the request: texts not yet computed are discarded.
pub type EmbedFuture = Pin<Box<dyn Future<Output = Result<Embeddings, EmbedError>> + Send>>;

/// An embedding model running in this process. Methods return immediately; the work is done on the engine's own
/// threads.
pub trait EmbedModel: Send + Sync + Debug + 'static {
    /// Returns the description, which is known before the files are present.
    fn info(&self) -> EmbedInfo;
    /// Returns whether the model can serve now.
    fn status(&self) -> ModelStatus;
    /// Subscribes to status changes; of several quick changes only the last may be observed.
    fn watch_status(&self) -> watch::Receiver<ModelStatus>;
    /// Returns the current counters and gauges.
    fn stats(&self) -> EmbedStats;

    /// Queues texts. A text's vector does not depend on the other texts of the request, up to rounding.
    fn embed(&self, texts: Vec<String>) -> EmbedFuture;
}
