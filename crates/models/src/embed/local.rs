//! The in-process embedding model.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::watch;

use super::engine::Engine;
use super::{EmbedFuture, EmbedInfo, EmbedModel, EmbedStats};
use crate::chat::ModelStatus;
use crate::manifest::{FileRole, Manifest};

/// ModelOptions of the embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedOptions {
    /// Whether the model is used; else it is as if it were absent.
    pub enabled: bool,
    /// Folder of the model files.
    pub cache_dir: PathBuf,
    /// Number of compute threads, at least 1; each computes its own batches.
    pub threads: usize,
    /// Maximum number of texts waiting or being computed, over all requests; more are rejected as busy.
    pub queue: usize,
}

impl Default for EmbedOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            cache_dir: PathBuf::from("models-cache"),
            threads: available_parallelism().map_or(1, usize::from),
            queue: 4096,
        }
    }
}

impl EmbedOptions {
    /// Clamps every value to its bounds.
    fn clamped(mut self) -> Self {
        self.threads = self.threads.clamp(1, 256);
        self.queue = self.queue.clamp(1, 65_536);
        self
    }
}

/// all-MiniLM-L6-v2 on its own threads. They exit within one batch after the last reference is dropped.
#[derive(Debug)]
pub struct LocalEmbedder {
    engine: Engine,
    info: EmbedInfo,
}

impl LocalEmbedder {
    /// Starts the model and returns immediately. The files are verified and loaded in the background;
    /// [`EmbedModel::status`] reports progress.
    pub fn start(options: EmbedOptions) -> Arc<Self> {
        Arc::new(Self { engine: Engine::start(options.clamped()), info: info() })
    }

    /// Looks for the model's files again, after they were downloaded or replaced. Waiting requests stay queued.
    pub fn reload(&self) {
        self.engine.reload();
    }

    /// Makes the next computing thread panic, for fault-injection tests. Production code does not call it.
    pub fn inject_panic(&self) {
        self.engine.inject_panic();
    }
}

impl EmbedModel for LocalEmbedder {
    fn info(&self) -> EmbedInfo {
        self.info.clone()
    }

    fn status(&self) -> ModelStatus {
        self.engine.status()
    }

    fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        self.engine.watch_status()
    }

    fn stats(&self) -> EmbedStats {
        self.engine.stats()
    }

    fn embed(&self, texts: Vec<String>) -> EmbedFuture {
        self.engine.embed(texts)
    }
}

/// Info from the manifest; an invalid manifest fails the start of the engine, which reports why.
fn info() -> EmbedInfo {
    let entry = Manifest::embedding_entry().ok();
    let sha256 = entry.as_ref().and_then(|entry| Some(entry.file(FileRole::Weights)?.sha256.clone()));
    let (id, name, dimensions, max_tokens) =
        entry.map_or_else(Default::default, |entry| (entry.id, entry.name, entry.dimensions, entry.max_tokens));
    EmbedInfo { id, name, dimensions, max_tokens, sha256: sha256.unwrap_or_default() }
}
