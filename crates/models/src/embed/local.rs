//! The embedding model of this process.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::watch;

use super::engine::Engine;
use super::{EmbedFuture, EmbedInfo, EmbedModel, EmbedStats};
use crate::chat::Status;
use crate::manifest::{FileRole, Manifest};

/// How the model is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedOptions {
    /// Folder of the model files.
    pub cache_dir: PathBuf,
    /// Threads of computation, at least 1; each computes texts of its own.
    pub threads: usize,
    /// Texts that may wait or be computed, over all requests; more are refused as busy.
    pub queue: usize,
}

impl Default for EmbedOptions {
    fn default() -> Self {
        Self {
            cache_dir: PathBuf::from("models-cache"),
            threads: available_parallelism().map_or(1, usize::from),
            queue: 4096,
        }
    }
}

impl EmbedOptions {
    /// Every figure within its bounds.
    fn clamped(mut self) -> Self {
        self.threads = self.threads.clamp(1, 256);
        self.queue = self.queue.clamp(1, 65_536);
        self
    }
}

/// all-MiniLM-L6-v2 on threads of its own. They end when the last reference is dropped, within one step.
#[derive(Debug)]
pub struct LocalEmbedder {
    engine: Engine,
    info: EmbedInfo,
}

impl LocalEmbedder {
    /// Returns at once: the files are checked and loaded in the background, and [`EmbedModel::status`] tells how far it
    /// is.
    pub fn start(options: EmbedOptions) -> Arc<Self> {
        Arc::new(Self { engine: Engine::start(options.clamped()), info: info() })
    }

    /// Looks for the model's files again, after they were fetched or replaced. What waits is kept.
    pub fn reload(&self) {
        self.engine.reload();
    }

    /// Makes the thread that computes next panic, for fault-injection tests. Nothing in the product calls it.
    pub fn inject_panic(&self) {
        self.engine.inject_panic();
    }
}

impl EmbedModel for LocalEmbedder {
    fn info(&self) -> EmbedInfo {
        self.info.clone()
    }

    fn status(&self) -> Status {
        self.engine.status()
    }

    fn watch_status(&self) -> watch::Receiver<Status> {
        self.engine.watch_status()
    }

    fn stats(&self) -> EmbedStats {
        self.engine.stats()
    }

    fn embed(&self, texts: Vec<String>) -> EmbedFuture {
        self.engine.embed(texts)
    }
}

/// What the manifest says; a manifest that is none fails the start of the engine, which tells why.
fn info() -> EmbedInfo {
    let entry = Manifest::embedding_entry().ok();
    let sha256 = entry.as_ref().and_then(|entry| Some(entry.file(FileRole::Weights)?.sha256.clone()));
    let (id, name, dimensions, max_tokens) =
        entry.map_or_else(Default::default, |entry| (entry.id, entry.name, entry.dimensions, entry.max_tokens));
    EmbedInfo { id, name, dimensions, max_tokens, sha256: sha256.unwrap_or_default() }
}
