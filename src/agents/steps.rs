//! The threads that run the steps of tasks, separate from actors and HTTP.

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime for steps. When it is dropped, its threads end without being awaited.
#[derive(Debug)]
pub(super) struct StepThreads(Option<Runtime>);

impl StepThreads {
    /// Starts `threads` threads; 0 means one per core.
    ///
    /// # Errors
    /// The threads cannot be started.
    pub(super) fn start(count: usize) -> std::io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder.thread_name("steps").enable_all();
        if count > 0 {
            builder.worker_threads(count);
        }
        builder.build().map(|runtime| Self(Some(runtime)))
    }

    pub(super) fn handle(&self) -> Option<Handle> {
        self.0.as_ref().map(|runtime| runtime.handle().clone())
    }
}

impl Drop for StepThreads {
    fn drop(&mut self) {
        // A runtime must not wait for its threads on a thread of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
