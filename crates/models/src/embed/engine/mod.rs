//! The embedding engine: threads that each take a batch of waiting texts from any requests and compute it.

mod batch_queue;
mod bert;
mod load;
mod math;
mod safetensors;
mod shared;
mod supervise;
mod wordpiece;
mod words;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::{oneshot, watch};

use super::{EmbedError, EmbedFuture, EmbedOptions, EmbedStats};
use crate::chat::ModelStatus;
use shared::Shared;

/// The callers' side: submits texts and reads statistics; never waits for the engine.
#[derive(Debug)]
pub(super) struct Engine {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    pub(super) fn start(options: EmbedOptions) -> Self {
        let shared = Arc::new(Shared::new(options));
        let of_thread = Arc::clone(&shared);
        let spawned =
            std::thread::Builder::new().name("embeddings".to_owned()).spawn(move || supervise::run(&of_thread));
        if let Err(error) = &spawned {
            let mend = "raise the limit of threads of this process and start again".to_owned();
            shared.set_unable(ModelStatus::Failed { why: format!("no thread for the embedding model: {error}"), mend });
        }
        Self { shared, thread: spawned.ok() }
    }

    pub(super) fn reload(&self) {
        self.shared.request_reload();
    }

    pub(super) fn inject_panic(&self) {
        self.shared.request_panic();
    }

    pub(super) fn status(&self) -> ModelStatus {
        self.shared.status()
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        self.shared.watch_status()
    }

    pub(super) fn stats(&self) -> EmbedStats {
        self.shared.stats()
    }

    /// Admission happens at the call, not at the first poll, so requests are queued in the order of their calls.
    pub(super) fn embed(&self, texts: Vec<String>) -> EmbedFuture {
        let (reply, answer) = oneshot::channel();
        self.shared.admit(texts, reply);
        Box::pin(async move {
            let stopped = |_| EmbedError::Failed { why: "it was stopped".to_owned() };
            answer.await.map_err(stopped)?
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.request_stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the embedding model's thread ended by a panic outside its guard");
        }
    }
}
