//! State shared by callers and the engine's thread: the queue, commands, status and statistics.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::load::Ready;
use super::sequence::Job;
use crate::chat::{ModelError, ModelInfo, ModelStats, ModelStatus};
use crate::local::ModelOptions;
use crate::plan;

const LOADING: ModelStatus = ModelStatus::Loading { percent: 0 };

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: ModelOptions,
    state: Mutex<State>,
    /// Signalled at every change that the engine's thread may wait for.
    changed: Condvar,
    /// Only changed while `state` is locked.
    status: watch::Sender<ModelStatus>,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
    restarts: AtomicU64,
}

#[derive(Debug)]
struct State {
    info: ModelInfo,
    ready: Option<Arc<Ready>>,
    waiting: VecDeque<Job>,
    active: usize,
    mean_request: Duration,
    stop: bool,
    reload: bool,
    /// The file changed: running requests may finish, new ones do not start.
    draining: bool,
    panic: bool,
}

/// What the engine's thread does next.
pub(super) enum Next {
    Stop,
    /// Check whether the file is still the same.
    CheckFile,
    /// Reload; no request is running.
    Reload,
    Panic,
    /// Put these jobs into free slots and compute a step.
    Step(Vec<Job>),
}

impl Shared {
    pub(super) fn new(options: ModelOptions) -> Self {
        let none = ModelInfo { id: "none".to_owned(), name: "none".to_owned(), context: 0, max_tokens: 0 };
        let state = State {
            info: none,
            ready: None,
            waiting: VecDeque::new(),
            active: 0,
            mean_request: Duration::from_secs(5),
            stop: false,
            reload: false,
            draining: false,
            panic: false,
        };
        Self {
            options,
            state: Mutex::new(state),
            changed: Condvar::new(),
            status: watch::Sender::new(LOADING),
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
        }
    }

    /// A poisoned lock is safe to use: nothing panics between two changes of the state.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn info(&self) -> ModelInfo {
        self.lock().info.clone()
    }

    pub(super) fn status(&self) -> ModelStatus {
        self.status.borrow().clone()
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        self.status.subscribe()
    }

    pub(super) fn stats(&self) -> ModelStats {
        let state = self.lock();
        ModelStats {
            active: state.active,
            waiting: state.waiting.len(),
            prompt_tokens: self.prompt_tokens.load(Ordering::Relaxed),
            completion_tokens: self.completion_tokens.load(Ordering::Relaxed),
            restarts: self.restarts.load(Ordering::Relaxed),
        }
    }

    /// Returns the loaded model, or why there is none.
    pub(super) fn ready(&self) -> Result<Arc<Ready>, ModelError> {
        let state = self.lock();
        match (&state.ready, &*self.status.borrow()) {
            (Some(ready), ModelStatus::Ready) => Ok(Arc::clone(ready)),
            (_, ModelStatus::Absent { mend }) => Err(ModelError::Absent { mend: mend.clone() }),
            (_, ModelStatus::Failed { why, .. }) => Err(ModelError::Failed { why: why.clone() }),
            (_, ModelStatus::Loading { percent }) => Err(ModelError::Loading { percent: *percent }),
            (None, ModelStatus::Ready) => Err(ModelError::Loading { percent: 0 }),
        }
    }

    /// Returns an error if the queue is full.
    pub(super) fn check_capacity(&self) -> Result<(), ModelError> {
        self.check_room(&mut self.lock())
    }

    /// Queues a job.
    pub(super) fn enqueue(&self, job: Job) -> Result<(), ModelError> {
        let mut state = self.lock();
        self.check_room(&mut state)?;
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    fn check_room(&self, state: &mut State) -> Result<(), ModelError> {
        state.waiting.retain(|job| !job.reply.is_cancelled());
        // Jobs for free slots do not count as waiting; they have only not been fetched yet.
        let free = self.options.slots.saturating_sub(state.active);
        if state.waiting.len() < self.options.queue + free {
            return Ok(());
        }
        let ahead = state.waiting.len() + state.active;
        Err(ModelError::Busy { retry_after: plan::retry_after(ahead, self.options.slots, state.mean_request) })
    }

    pub(super) fn request_stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    pub(super) fn request_reload(&self) {
        let mut state = self.lock();
        state.reload = true;
        if state.ready.is_none() {
            self.status.send_replace(LOADING);
        }
        self.changed.notify_all();
    }

    pub(super) fn request_panic(&self) {
        self.lock().panic = true;
        self.changed.notify_all();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.lock().stop
    }

    pub(super) fn set_status(&self, status: ModelStatus) {
        let _state = self.lock();
        self.status.send_replace(status);
    }

    /// Prepares for another file: new requests are rejected, running ones finish.
    pub(super) fn drain(&self) {
        let mut state = self.lock();
        state.draining = true;
        self.status.send_replace(LOADING);
    }

    /// Loading begins. Waiting jobs were tokenized for the old model, and fail by being dropped.
    pub(super) fn unload(&self) {
        let orphans = {
            let mut state = self.lock();
            state.reload = false;
            state.draining = false;
            state.ready = None;
            self.status.send_replace(LOADING);
            std::mem::take(&mut state.waiting)
        };
        drop(orphans);
    }

    pub(super) fn set_ready(&self, ready: &Arc<Ready>) {
        let mut state = self.lock();
        state.info = ready.info.clone();
        state.ready = Some(Arc::clone(ready));
        self.status.send_replace(ModelStatus::Ready);
    }

    /// Waits for the next action. `active` requests occupy slots.
    pub(super) fn next(&self, active: usize, epoch: u64) -> Next {
        let mut state = self.lock();
        loop {
            state.active = active;
            if state.stop {
                return Next::Stop;
            }
            if std::mem::take(&mut state.panic) {
                return Next::Panic;
            }
            if std::mem::take(&mut state.reload) && !state.draining {
                return Next::CheckFile;
            }
            if state.draining && active == 0 {
                return Next::Reload;
            }
            state.waiting.retain(|job| !job.reply.is_cancelled() && job.epoch == epoch);
            let free =
                if state.draining { 0 } else { self.options.slots.saturating_sub(active).min(state.waiting.len()) };
            if free > 0 || active > 0 {
                state.active = active + free;
                return Next::Step(state.waiting.drain(..free).collect());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a reload or shutdown, at most for `bound` if it is set. Returns true to continue, false to stop.
    pub(super) fn pause(&self, bound: Option<Duration>) -> bool {
        let until = bound.map(|bound| Instant::now() + bound);
        let mut state = self.lock();
        state.active = 0;
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

    pub(super) fn count_step(&self, prompt: u64, completion: u64) {
        self.prompt_tokens.fetch_add(prompt, Ordering::Relaxed);
        self.completion_tokens.fetch_add(completion, Ordering::Relaxed);
    }

    pub(super) fn count_restart(&self) -> u64 {
        self.restarts.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Updates the mean request duration, from which `Retry-After` is estimated.
    pub(super) fn count_finished(&self, took: Duration) {
        let mut state = self.lock();
        state.mean_request = (state.mean_request * 7 + took) / 8;
    }
}
