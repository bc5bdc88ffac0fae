//! State shared by callers and engine threads: the batch queue, commands, status and statistics.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use super::batch_queue::{Batch, BatchQueue, QueueWork, Reply};
use crate::chat::ModelStatus;
use crate::embed::{EmbedError, EmbedOptions, EmbedStats, Embeddings};

type Answer = Result<Embeddings, EmbedError>;

impl Reply for oneshot::Sender<Answer> {
    fn is_gone(&self) -> bool {
        self.is_closed()
    }

    fn send(self, answer: Answer) {
        // Fails only when the caller has gone.
        let _ = oneshot::Sender::send(self, answer);
    }
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: EmbedOptions,
    state: Mutex<State>,
    /// Signalled at every change that an engine thread may wait for.
    changed: Condvar,
    /// Only changed while `state` is locked.
    status: watch::Sender<ModelStatus>,
}

#[derive(Debug)]
struct State {
    queue: BatchQueue<oneshot::Sender<Answer>>,
    /// Requests are admitted: the model is loaded.
    open: bool,
    stop: bool,
    reload: bool,
    panic: bool,
    /// Why the threads must exit: one of them died.
    death: Option<String>,
    texts: u64,
    tokens: u64,
    restarts: u64,
}

/// What an engine thread does next.
pub(super) enum Next {
    /// Exit; the supervisor decides.
    Exit,
    QueueWork(QueueWork),
    /// Panic over this batch, for a test.
    Panic(Batch),
}

/// Why all threads exited.
pub(super) enum ExitReason {
    Stop,
    Reload,
    Death(String),
}

impl Shared {
    pub(super) fn new(options: EmbedOptions) -> Self {
        let state = State {
            queue: BatchQueue::new(options.queue, options.threads),
            open: false,
            stop: false,
            reload: false,
            panic: false,
            death: None,
            texts: 0,
            tokens: 0,
            restarts: 0,
        };
        let status = watch::Sender::new(ModelStatus::Loading { percent: 0 });
        Self { options, state: Mutex::new(state), changed: Condvar::new(), status }
    }

    /// A poisoned lock is safe to use: nothing panics between two changes of the state.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> ModelStatus {
        self.status.borrow().clone()
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        self.status.subscribe()
    }

    pub(super) fn stats(&self) -> EmbedStats {
        let state = self.lock();
        EmbedStats { waiting: state.queue.len(), texts: state.texts, tokens: state.tokens, restarts: state.restarts }
    }

    /// Admits a request, or answers it at once if it is rejected.
    pub(super) fn admit(&self, texts: Vec<String>, reply: oneshot::Sender<Answer>) {
        let mut state = self.lock();
        if state.open && !state.stop {
            state.queue.admit(texts, reply);
            self.changed.notify_all();
        } else {
            Reply::send(reply, Err(refusal(&self.status.borrow())));
        }
    }

    pub(super) fn request_stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    pub(super) fn request_reload(&self) {
        self.lock().reload = true;
        self.changed.notify_all();
    }

    pub(super) fn request_panic(&self) {
        self.lock().panic = true;
        self.changed.notify_all();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.lock().stop
    }

    /// Starts loading. Pending reload requests are satisfied by it; waiting requests stay queued.
    pub(super) fn begin_loading(&self) {
        self.lock().reload = false;
        self.set_loading(0);
    }

    pub(super) fn set_loading(&self, percent: u8) {
        let _state = self.lock();
        self.status.send_replace(ModelStatus::Loading { percent });
    }

    /// Starts admitting requests.
    pub(super) fn set_ready(&self) {
        let mut state = self.lock();
        state.open = true;
        self.status.send_replace(ModelStatus::Ready);
    }

    /// Fails all waiting requests: nothing can be served until something changes.
    pub(super) fn set_unable(&self, status: ModelStatus) {
        let mut state = self.lock();
        state.open = false;
        state.queue.fail_all(&refusal(&status));
        self.status.send_replace(status);
    }

    /// Waits for the next piece of work.
    pub(super) fn next(&self) -> Next {
        let mut state = self.lock();
        loop {
            if state.stop || state.reload || state.death.is_some() {
                return Next::Exit;
            }
            match state.queue.next_work() {
                Some(QueueWork::Compute(batch)) if std::mem::take(&mut state.panic) => return Next::Panic(batch),
                Some(next_work) => return Next::QueueWork(next_work),
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    pub(super) fn tokenized(&self, id: u64, read: Result<Vec<Vec<u32>>, EmbedError>) {
        self.lock().queue.tokenized(id, read);
        self.changed.notify_all();
    }

    pub(super) fn computed(&self, batch: &Batch, vectors: Vec<Vec<f32>>, took: Duration) {
        let mut state = self.lock();
        state.texts += batch.tokens.len() as u64;
        state.tokens += batch.tokens.iter().map(|tokens| tokens.len() as u64).sum::<u64>();
        state.queue.computed(batch, vectors, took);
    }

    /// A thread died over a batch: all threads exit and are restarted.
    pub(super) fn died(&self, batch: &Batch, why: String) {
        let mut state = self.lock();
        state.queue.died(batch, &why);
        state.death = Some(why);
        self.changed.notify_all();
    }

    /// Returns why the threads exited; called after all of them have.
    pub(super) fn left(&self) -> ExitReason {
        let mut state = self.lock();
        let death = state.death.take();
        if state.stop {
            return ExitReason::Stop;
        }
        match death {
            Some(why) => {
                state.restarts += 1;
                ExitReason::Death(why)
            }
            None => {
                state.reload = false;
                ExitReason::Reload
            }
        }
    }

    /// Waits for a reload or shutdown, at most for `bound` if it is set. Returns true to continue, false to stop.
    pub(super) fn pause(&self, bound: Option<Duration>) -> bool {
        let until = bound.map(|bound| Instant::now() + bound);
        let mut state = self.lock();
        loop {
            if state.stop {
                return false;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if state.reload || left.is_some_and(|left| left.is_zero()) {
                return true;
            }
            state = match left {
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Returns the error for callers while the model cannot serve.
fn refusal(status: &ModelStatus) -> EmbedError {
    match status {
        ModelStatus::Absent { mend } => EmbedError::Absent { mend: mend.clone() },
        ModelStatus::Loading { percent } => EmbedError::Loading { percent: *percent },
        ModelStatus::Failed { why, mend } => EmbedError::Failed { why: format!("{why} ({mend})") },
        ModelStatus::Ready => EmbedError::Failed { why: "it is being stopped".to_owned() },
    }
}
