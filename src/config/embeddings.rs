//! Settings of the embedded embedding model.

use serde::{Deserialize, Serialize};

/// Which embedding model runs in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingModel {
    /// all-MiniLM-L6-v2.
    Minilm,
    /// None: memory is searched by words only, and `muster-embed` answers 503.
    None,
}

/// The embedded embedding model.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Embeddings {
    /// The model.
    pub model: EmbeddingModel,
    /// Number of inference threads; 0 means one per core.
    pub threads: usize,
    /// Largest number of waiting texts.
    pub queue: usize,
}

impl Default for Embeddings {
    fn default() -> Self {
        Self { model: EmbeddingModel::Minilm, threads: 0, queue: 4096 }
    }
}
