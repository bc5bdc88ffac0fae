//! A model with its thread: loaded at its first use, unloaded when idle, one call at a time, a bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};

use super::actor::ModelActor;
use super::call::{Call, QueuedCall, Stop};
use super::slots::ModelSlots;
use super::thread;

/// Whether a model can be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ModelState {
    /// It is not in memory: not used yet, or unloaded.
    #[default]
    Absent,
    /// It is being loaded.
    Loading,
    /// It is in memory.
    Ready,
    /// It could not be loaded, or it panicked; the next call tries again.
    Failed(String),
}

impl ModelState {
    /// Returns the name of the state.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Loading => "loading",
            Self::Ready => "ready",
            Self::Failed(_) => "failed",
        }
    }
}

/// Why a call of a model gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Too many calls wait.
    #[error("{name} has {queue} calls waiting: try again in a few seconds")]
    Busy {
        /// Name of the model.
        name: String,
        /// Number of calls that may wait.
        queue: usize,
    },
    /// It could not be loaded, or failed in the call.
    #[error("{name} failed: {why}")]
    Failed {
        /// Name of the model.
        name: String,
        /// What failed.
        why: String,
    },
}

/// Bounds of a model's thread.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// Number of calls that may wait.
    pub queue: usize,
    /// Time without a call after which the model is unloaded.
    pub idle: Duration,
    /// Limit of loaded models that it shares with others; `None` if it has its memory to itself.
    pub slots: Option<ModelSlots>,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self { queue: 32, idle: Duration::from_secs(600), slots: None }
    }
}

/// Counts of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelStats {
    /// Whether it can be used.
    pub state: ModelState,
    /// Calls that wait or run.
    pub calls: usize,
    /// Calls that ended with a result or an error.
    pub served: u64,
    /// Calls whose client left: before they began, or between two batches.
    pub stopped: u64,
}

/// Counts that the handle, the actor and the thread of a model share.
#[derive(Debug, Default)]
pub(super) struct Counts {
    calls: AtomicUsize,
    served: AtomicU64,
    stopped: AtomicU64,
}

impl Counts {
    fn begin(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a call that was refused.
    pub(super) fn refuse(&self) {
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts the end of a call.
    pub(super) fn end(&self, is_stopped: bool) {
        let counted = if is_stopped { &self.stopped } else { &self.served };
        counted.fetch_add(1, Ordering::Relaxed);
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The handle of a model's thread. The thread ends when the last handle is dropped.
pub struct ModelThread<M> {
    name: Arc<str>,
    queue: usize,
    calls: mpsc::Sender<Box<dyn Call<M>>>,
    state: watch::Receiver<ModelState>,
    counts: Arc<Counts>,
}

impl<M> Clone for ModelThread<M> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            queue: self.queue,
            calls: self.calls.clone(),
            state: self.state.clone(),
            counts: Arc::clone(&self.counts),
        }
    }
}

impl<M> std::fmt::Debug for ModelThread<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelThread").field("name", &self.name).field("state", &*self.state.borrow()).finish()
    }
}

impl<M: 'static> ModelThread<M> {
    /// Starts the thread of a model, which is loaded at the first call, and the actor that keeps its queue, on the
    /// runtime of the caller.
    ///
    /// # Errors
    /// The thread cannot be started, or the caller is on no runtime.
    pub fn start(
        name: &str,
        options: ModelOptions,
        load: impl Fn() -> Result<M, String> + Send + 'static,
    ) -> std::io::Result<Self> {
        let runtime = Handle::try_current().map_err(std::io::Error::other)?;
        let name: Arc<str> = name.into();
        let counts = Arc::new(Counts::default());
        let queue = options.queue;
        // The actor takes calls from here at once and keeps the queue itself.
        let (calls, incoming) = mpsc::channel(queue.max(1));
        let (publisher, state) = watch::channel(ModelState::Absent);
        let jobs = thread::start(Box::new(load))?;
        runtime.spawn(ModelActor::new(Arc::clone(&name), options, incoming, jobs, publisher).run());
        Ok(Self { name, queue, calls, state, counts })
    }

    /// Runs a call on the model's thread. A dropped future takes the call out of the queue; a running one learns it by
    /// [`Stop`].
    ///
    /// # Errors
    /// The queue is full, the model cannot be loaded, or the call panicked.
    pub async fn call<R: std::fmt::Debug + Send + 'static>(
        &self,
        run: impl FnOnce(&mut M, Stop<'_>) -> R + Send + 'static,
    ) -> Result<R, ModelError> {
        let (reply, result) = oneshot::channel();
        let call = QueuedCall { run, reply, name: Arc::clone(&self.name), counts: Arc::clone(&self.counts) };
        self.counts.begin();
        if let Err(refused) = self.calls.try_send(Box::new(call)) {
            self.counts.refuse();
            return Err(match refused {
                TrySendError::Full(_) => ModelError::Busy { name: self.name.to_string(), queue: self.queue },
                TrySendError::Closed(_) => self.ended(),
            });
        }
        result.await.unwrap_or_else(|_| Err(self.ended()))
    }

    fn ended(&self) -> ModelError {
        ModelError::Failed { name: self.name.to_string(), why: "its thread ended".to_owned() }
    }

    /// Returns the state and the counts.
    pub fn stats(&self) -> ModelStats {
        ModelStats {
            state: self.state.borrow().clone(),
            calls: self.counts.calls.load(Ordering::Relaxed),
            served: self.counts.served.load(Ordering::Relaxed),
            stopped: self.counts.stopped.load(Ordering::Relaxed),
        }
    }

    /// Returns a receiver of the state.
    pub fn state(&self) -> watch::Receiver<ModelState> {
        self.state.clone()
    }
}
