//! The chat model of this process.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::watch;

use crate::chat::{ChatModel, GenerateRequest, Generation, ModelError, ModelInfo, ModelStats, Status, Turn};
use crate::engine::Engine;
use crate::select::Selection;
use crate::tool::Tool;

/// How the model is chosen and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub selection: Selection,
    /// Folder of the model files.
    pub cache_dir: PathBuf,
    /// Threads of computation, at least 1.
    pub threads: usize,
    /// Requests computed together, 1 to 32.
    pub slots: usize,
    /// Tokens of prompt and answer of one request, at least 64; less where the model or the memory sets a bound.
    pub context_per_slot: u32,
    /// Requests that may wait for a slot; more are refused as busy.
    pub queue: usize,
}

impl Default for Options {
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

impl Options {
    /// Every figure within its bounds.
    fn clamped(mut self) -> Self {
        self.threads = self.threads.clamp(1, 256);
        self.slots = self.slots.clamp(1, 32);
        self.context_per_slot = self.context_per_slot.clamp(64, 1 << 20);
        self.queue = self.queue.min(4096);
        self
    }
}

/// A model on a thread of its own. The thread ends when the last reference is dropped, within one step.
#[derive(Debug)]
pub struct LocalModel {
    engine: Engine,
}

impl LocalModel {
    /// Returns at once: the file is checked and loaded in the background, and [`ChatModel::status`] tells how far it is.
    pub fn start(options: Options) -> Arc<Self> {
        Arc::new(Self { engine: Engine::start(options.clamped()) })
    }

    /// Looks for the model's file again: after it was fetched, or replaced. Running requests end first.
    pub fn reload(&self) {
        self.engine.reload();
    }

    /// The status, for those who wait for a change of it; of several changes in a row only the last may be seen.
    pub fn watch_status(&self) -> watch::Receiver<Status> {
        self.engine.watch_status()
    }

    /// Makes the engine's thread panic, for fault-injection tests. Nothing in the product calls it.
    pub fn inject_panic(&self) {
        self.engine.inject_panic();
    }
}

impl ChatModel for LocalModel {
    fn info(&self) -> ModelInfo {
        self.engine.info()
    }

    fn status(&self) -> Status {
        self.engine.status()
    }

    fn stats(&self) -> ModelStats {
        self.engine.stats()
    }

    fn count(&self, turns: &[Turn], tools: &[Tool]) -> Option<u32> {
        self.engine.count(turns, tools)
    }

    fn count_text(&self, text: &str) -> Option<u32> {
        self.engine.count_text(text)
    }

    fn generate(&self, request: GenerateRequest) -> Result<Generation, ModelError> {
        self.engine.generate(request)
    }
}
