//! A model with its thread: loaded at its first use, unloaded when idle, one call at a time, a bounded queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

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
#[derive(Debug, Clone, Copy)]
pub struct ModelOptions {
    /// Number of calls that may wait.
    pub queue: usize,
    /// Time without a call after which the model is unloaded.
    pub idle: Duration,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self { queue: 32, idle: Duration::from_secs(600) }
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

/// Tells a running call whether its client has left.
#[derive(Debug, Clone, Copy)]
pub struct Stop<'a>(&'a dyn IsStopped);

trait IsStopped: std::fmt::Debug {
    fn is_stopped(&self) -> bool;
}

impl<R: std::fmt::Debug> IsStopped for oneshot::Sender<R> {
    fn is_stopped(&self) -> bool {
        self.is_closed()
    }
}

impl Stop<'_> {
    /// Returns whether nobody waits for the result any more.
    pub fn is_set(&self) -> bool {
        self.0.is_stopped()
    }
}

type Load<M> = Box<dyn Fn() -> Result<M, String> + Send>;
type Call<M> = Box<dyn FnOnce(Result<&mut M, ModelError>) -> CallEnd + Send>;

/// How a call ended.
enum CallEnd {
    Served,
    Stopped,
    Panicked,
}

#[derive(Debug, Default)]
struct Counts {
    calls: AtomicUsize,
    served: AtomicU64,
    stopped: AtomicU64,
}

/// The handle of a model's thread. The thread ends when the last handle is dropped.
pub struct ModelThread<M> {
    name: Arc<str>,
    queue: usize,
    calls: SyncSender<Call<M>>,
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
    /// Starts the thread of a model, which is loaded at the first call.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        name: &str,
        options: ModelOptions,
        load: impl Fn() -> Result<M, String> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (calls, waiting) = sync_channel(options.queue);
        let (told, state) = watch::channel(ModelState::Absent);
        let name: Arc<str> = name.into();
        let counts = Arc::new(Counts::default());
        let own = Thread {
            name: Arc::clone(&name),
            load: Box::new(load),
            idle: options.idle,
            state: told,
            counts: Arc::clone(&counts),
        };
        thread::Builder::new().name("media-model".to_owned()).spawn(move || own.serve(&waiting))?;
        Ok(Self { name, queue: options.queue, calls, state, counts })
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
        let (reply, result) = oneshot::channel::<Result<R, ModelError>>();
        let name = self.name.to_string();
        let call: Call<M> = Box::new(move |model| {
            if reply.is_closed() {
                return CallEnd::Stopped;
            }
            let model = match model {
                Ok(model) => model,
                Err(failed) => {
                    drop(reply.send(Err(failed)));
                    return CallEnd::Served;
                }
            };
            let ran = catch_unwind(AssertUnwindSafe(|| run(model, Stop(&reply))));
            let panicked = ran.is_err();
            let stopped = reply.is_closed();
            drop(reply.send(ran.map_err(|_| ModelError::Failed { name, why: "it panicked".to_owned() })));
            match (panicked, stopped) {
                (true, _) => CallEnd::Panicked,
                (_, true) => CallEnd::Stopped,
                _ => CallEnd::Served,
            }
        });
        self.counts.calls.fetch_add(1, Ordering::Relaxed);
        if let Err(full) = self.calls.try_send(call) {
            self.counts.calls.fetch_sub(1, Ordering::Relaxed);
            let name = self.name.to_string();
            return Err(match full {
                TrySendError::Full(_) => ModelError::Busy { name, queue: self.queue },
                TrySendError::Disconnected(_) => ModelError::Failed { name, why: "its thread ended".to_owned() },
            });
        }
        let ended = || Err(ModelError::Failed { name: self.name.to_string(), why: "its thread ended".to_owned() });
        result.await.unwrap_or_else(|_| ended())
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

struct Thread<M> {
    name: Arc<str>,
    load: Load<M>,
    idle: Duration,
    state: watch::Sender<ModelState>,
    counts: Arc<Counts>,
}

impl<M> Thread<M> {
    fn serve(&self, calls: &Receiver<Call<M>>) {
        let mut model: Option<M> = None;
        loop {
            let call = if model.is_some() {
                calls.recv_timeout(self.idle)
            } else {
                calls.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match call {
                Ok(call) => self.run(call, &mut model),
                Err(RecvTimeoutError::Timeout) => {
                    model = None;
                    self.state.send_replace(ModelState::Absent);
                    tracing::debug!(model = %self.name, "a model was unloaded");
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn run(&self, call: Call<M>, model: &mut Option<M>) {
        let loaded = match model {
            Some(model) => Ok(model),
            None => self.loaded().map(|loaded| model.insert(loaded)),
        };
        let end = call(loaded);
        self.counts.calls.fetch_sub(1, Ordering::Relaxed);
        let counted = if matches!(end, CallEnd::Stopped) { &self.counts.stopped } else { &self.counts.served };
        counted.fetch_add(1, Ordering::Relaxed);
        if matches!(end, CallEnd::Panicked) {
            // What a panic left behind is not used again.
            *model = None;
            self.state.send_replace(ModelState::Failed("it panicked".to_owned()));
        }
    }

    fn loaded(&self) -> Result<M, ModelError> {
        self.state.send_replace(ModelState::Loading);
        let loaded = catch_unwind(AssertUnwindSafe(|| (self.load)()));
        match loaded.unwrap_or_else(|_| Err("it panicked while it was loaded".to_owned())) {
            Ok(model) => {
                self.state.send_replace(ModelState::Ready);
                Ok(model)
            }
            Err(why) => {
                tracing::warn!(model = %self.name, %why, "a model cannot be loaded");
                self.state.send_replace(ModelState::Failed(why.clone()));
                Err(ModelError::Failed { name: self.name.to_string(), why })
            }
        }
    }
}
