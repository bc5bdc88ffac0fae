//! The threads that tasks' steps run on, apart from actors and HTTP.

use tokio::runtime::{Builder, Handle, Runtime};

/// Dropped, they end without being waited for.
#[derive(Debug)]
pub(super) struct Threads(Option<Runtime>);

impl Threads {
    /// So many; 0 is one for each core.
    ///
    /// # Errors
    /// None can be had.
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

impl Drop for Threads {
    fn drop(&mut self) {
        // To wait for its threads is not allowed on a thread of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
