//! The model on threads of its own. Each takes a step of waiting texts, whoever they are of, and computes it.

mod bert;
mod line;
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
use crate::chat::Status;
use shared::Shared;

/// The calling side: hands texts over and reads figures; never waits for the engine.
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
            shared.set_unable(Status::Failed { why: format!("no thread for the embedding model: {error}"), mend });
        }
        Self { shared, thread: spawned.ok() }
    }

    pub(super) fn reload(&self) {
        self.shared.request_reload();
    }

    pub(super) fn inject_panic(&self) {
        self.shared.request_panic();
    }

    pub(super) fn status(&self) -> Status {
        self.shared.status()
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<Status> {
        self.shared.watch_status()
    }

    pub(super) fn stats(&self) -> EmbedStats {
        self.shared.stats()
    }

    /// Admitted at the call, not at the first poll: requests stand in the order of their calls.
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
