//! llama.cpp on its own thread with continuous batching: each step computes one token of every running request and a
//! share of the prompts not yet processed.
//!
//! Invariants: only the engine's thread touches the context; a request ends with exactly one `Done` or `Failed`, even
//! if the thread panics; every queue and every step is bounded.

mod admission;
mod grammar;
mod load;
mod prompt;
mod reply;
mod sampler;
mod sequence;
mod serve;
mod shared;
mod supervise;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::chat::{ChatTurn, GenerateRequest, Generation, ModelError, ModelInfo, ModelStats, ModelStatus};
use crate::hermes::turns_with_tools;
use crate::local::ModelOptions;
use crate::tool::Tool;
use shared::Shared;

/// The callers' side: submits requests and reads statistics; never waits for the engine.
#[derive(Debug)]
pub(crate) struct Engine {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    pub(crate) fn start(options: ModelOptions) -> Self {
        let shared = Arc::new(Shared::new(options));
        let of_thread = Arc::clone(&shared);
        let spawned = std::thread::Builder::new()
            .name("embedded-model".to_owned())
            .stack_size(8 << 20)
            .spawn(move || supervise::run(&of_thread));
        if let Err(error) = &spawned {
            let mend = "raise the limit of threads of this process and start again".to_owned();
            shared.set_status(ModelStatus::Failed { why: format!("no thread for the embedded model: {error}"), mend });
        }
        Self { shared, thread: spawned.ok() }
    }

    pub(crate) fn reload(&self) {
        self.shared.request_reload();
    }

    pub(crate) fn inject_panic(&self) {
        self.shared.request_panic();
    }

    pub(crate) fn info(&self) -> ModelInfo {
        self.shared.info()
    }

    pub(crate) fn status(&self) -> ModelStatus {
        self.shared.status()
    }

    pub(crate) fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        self.shared.watch_status()
    }

    pub(crate) fn stats(&self) -> ModelStats {
        self.shared.stats()
    }

    pub(crate) fn count(&self, turns: &[ChatTurn], tools: &[Tool]) -> Option<u32> {
        let tokens = self.shared.ready().ok()?.prompter.tokens(&turns_with_tools(turns, tools)).ok()?;
        u32::try_from(tokens.len()).ok()
    }

    pub(crate) fn count_text(&self, text: &str) -> Option<u32> {
        u32::try_from(self.shared.ready().ok()?.prompter.plain(text).len()).ok()
    }

    pub(crate) fn generate(&self, request: GenerateRequest) -> Result<Generation, ModelError> {
        let ready = self.shared.ready()?;
        // A full queue rejects the request before its prompt is tokenized; `enqueue` checks again.
        self.shared.check_capacity()?;
        let (job, generation) = admission::admit(&ready, request)?;
        self.shared.enqueue(job)?;
        Ok(generation)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.request_stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the embedded model's thread ended by a panic outside its guard");
        }
    }
}
