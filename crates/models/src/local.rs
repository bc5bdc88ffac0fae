//! The in-process chat model.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::watch;

use crate::chat::{ChatModel, ChatTurn, GenerateRequest, Generation, ModelError, ModelInfo, ModelStats, ModelStatus};
use crate::engine::Engine;
use crate::select::Selection;
use crate::tool::Tool;

/// ModelOptions of the chat model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOptions {
    /// Which model to load.
    pub selection: Selection,
    /// Folder of the model files.
    pub cache_dir: PathBuf,
    /// Number of compute threads, at least 1.
    pub threads: usize,
    /// Number of requests computed together, 1 to 32.
    pub slots: usize,
    /// Prompt and answer tokens of one request, at least 64; less if the model or the memory requires it.
    pub context_per_slot: u32,
    /// Maximum number of requests waiting for a slot; more are rejected as busy.
    pub queue: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            selection: Selection::Auto,
            cache_dir: PathBuf::from("models-cache"),
            threads: available_parallelism().map_or(1, usize::from),
            slots: 4,
            context_per_slot: 4096,
            queue: 32,
        }
    }
}

impl ModelOptions {
    /// Clamps every value to its bounds.
    fn clamped(mut self) -> Self {
        self.threads = self.threads.clamp(1, 256);
        self.slots = self.slots.clamp(1, 32);
        self.context_per_slot = self.context_per_slot.clamp(64, 1 << 20);
        self.queue = self.queue.min(4096);
        self
    }
}

/// A chat model on its own thread. The thread exits within one step after the last reference is dropped.
#[derive(Debug)]
pub struct LocalModel {
    engine: Engine,
}

impl LocalModel {
    /// Starts the model and returns immediately. The file is verified and loaded in the background;
    /// [`ChatModel::status`] reports progress.
    pub fn start(options: ModelOptions) -> Arc<Self> {
        Arc::new(Self { engine: Engine::start(options.clamped()) })
    }

    /// Looks for the model's file again, after it was downloaded or replaced. Running requests finish first.
    pub fn reload(&self) {
        self.engine.reload();
    }

    /// Subscribes to status changes; of several quick changes only the last may be observed.
    pub fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        self.engine.watch_status()
    }

    /// Makes the engine's thread panic, for fault-injection tests. Production code does not call it.
    pub fn inject_panic(&self) {
        self.engine.inject_panic();
    }
}

impl ChatModel for LocalModel {
    fn info(&self) -> ModelInfo {
        self.engine.info()
    }

    fn status(&self) -> ModelStatus {
        self.engine.status()
    }

    fn stats(&self) -> ModelStats {
        self.engine.stats()
    }

    fn count(&self, turns: &[ChatTurn], tools: &[Tool]) -> Option<u32> {
        self.engine.count(turns, tools)
    }

    fn count_text(&self, text: &str) -> Option<u32> {
        self.engine.count_text(text)
    }

    fn generate(&self, request: GenerateRequest) -> Result<Generation, ModelError> {
        self.engine.generate(request)
    }
}
