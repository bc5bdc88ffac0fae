//! Sentence embeddings in this process: all-MiniLM-L6-v2 behind [`EmbedModel`].
//!
//! Invariants: a request leaves by exactly one answer, even where an engine's thread panics; the line and every step
//! are bounded; nobody waits for the engine under its lock.

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

use crate::chat::Status;

pub use local::{EmbedOptions, LocalEmbedder};

/// What an embedding model is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EmbedInfo {
    /// The manifest's id, such as `minilm`.
    pub id: String,
    pub name: String,
    /// Length of each vector.
    pub dimensions: u32,
    /// Word pieces of the longest text, with the two marks around it.
    pub max_tokens: u32,
    /// Of the file of weights: 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// The vectors of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embeddings {
    /// In the order of the texts, each of length 1 (L2).
    pub vectors: Vec<Vec<f32>>,
    /// Word pieces of each text as the model reads it, with the two marks around it.
    pub tokens: Vec<u32>,
}

impl Embeddings {
    /// Word pieces of all texts.
    pub fn total_tokens(&self) -> u32 {
        self.tokens.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }
}

/// Figures for status and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EmbedStats {
    /// Texts admitted and not yet answered, those being computed too.
    pub waiting: usize,
    pub texts: u64,
    pub tokens: u64,
    /// Times the engine died and was started again.
    pub restarts: u64,
}

/// Why a model refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    #[error("the embedded embedding model is not installed: {mend}")]
    Absent { mend: String },
    #[error("the embedded embedding model is still loading ({percent} %)")]
    Loading { percent: u8 },
    #[error("the embedded embedding model failed: {why}")]
    Failed { why: String },
    /// The line is full.
    #[error("the embedded embedding model is busy")]
    Busy { retry_after: Duration },
    /// Nothing is cut silently. A text that is far too long is not counted to its end: `tokens` is what it has at least.
    #[error("input {index} (counted from 0) has {tokens} tokens or more; this model reads {most} of a text: split it")]
    TooLong { index: usize, tokens: u32, most: u32 },
    #[error("{texts} texts are more than this model takes at once: send at most {most} in a request")]
    TooMany { texts: usize, most: usize },
}

/// The vectors to come. Dropping it cancels: texts not yet computed are forgotten.
pub type EmbedFuture = Pin<Box<dyn Future<Output = Result<Embeddings, EmbedError>> + Send>>;

/// An embedding model in this process. Calls return at once; the work happens on the engine's own threads.
pub trait EmbedModel: Send + Sync + Debug + 'static {
    /// Known before the files are there.
    fn info(&self) -> EmbedInfo;
    fn status(&self) -> Status;
    /// The status, for those who wait for a change of it; of several changes in a row only the last may be seen.
    fn watch_status(&self) -> watch::Receiver<Status>;
    fn stats(&self) -> EmbedStats;

    /// Queues texts. The same text always has the same vector, whatever is asked with it, up to rounding.
    fn embed(&self, texts: Vec<String>) -> EmbedFuture;
}
