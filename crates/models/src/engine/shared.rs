//! What the callers and the engine's thread share: the waiting line, the commands, the status and the figures.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::load::Ready;
use super::sequence::Job;
use crate::chat::{ModelError, ModelInfo, ModelStats, Status};
use crate::local::Options;
use crate::plan;

const LOADING: Status = Status::Loading { percent: 0 };

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: Options,
    state: Mutex<State>,
    /// Signalled at every change that the engine's thread may wait for.
    changed: Condvar,
    /// Changed only under the lock of `state`.
    status: watch::Sender<Status>,
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
    /// The file changed: what runs may end, nothing new begins.
    draining: bool,
    panic: bool,
}

/// What the engine's thread is to do next.
pub(super) enum Next {
    Stop,
    /// Look whether the file is still the same.
    CheckFile,
    /// Load anew; nothing runs any more.
    Reload,
    Panic,
    /// Take these into free slots and compute a step.
    Step(Vec<Job>),
}

impl Shared {
    pub(super) fn new(options: Options) -> Self {
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

    /// A panic elsewhere leaves the state whole: nothing panics between two of its changes.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn info(&self) -> ModelInfo {
        self.lock().info.clone()
    }

    pub(super) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<Status> {
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

    /// The loaded model, or why there is none.
    pub(super) fn ready(&self) -> Result<Arc<Ready>, ModelError> {
        let state = self.lock();
        match (&state.ready, &*self.status.borrow()) {
            (Some(ready), Status::Ready) => Ok(Arc::clone(ready)),
            (_, Status::Absent { mend }) => Err(ModelError::Absent { mend: mend.clone() }),
            (_, Status::Failed { why, .. }) => Err(ModelError::Failed { why: why.clone() }),
            (_, Status::Loading { percent }) => Err(ModelError::Loading { percent: *percent }),
            (None, Status::Ready) => Err(ModelError::Loading { percent: 0 }),
        }
    }

    /// Whether one more request may wait.
    pub(super) fn room(&self) -> Result<(), ModelError> {
        self.check_room(&mut self.lock())
    }

    /// Puts a job in the line.
    pub(super) fn enqueue(&self, job: Job) -> Result<(), ModelError> {
        let mut state = self.lock();
        self.check_room(&mut state)?;
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    fn check_room(&self, state: &mut State) -> Result<(), ModelError> {
        state.waiting.retain(|job| !job.reply.is_cancelled());
        // Jobs for slots that are free are not waiting, only not yet fetched.
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

    pub(super) fn set_status(&self, status: Status) {
        let _state = self.lock();
        self.status.send_replace(status);
    }

    /// Another file is to be loaded: new requests are told so, running ones end first.
    pub(super) fn drain(&self) {
        let mut state = self.lock();
        state.draining = true;
        self.status.send_replace(LOADING);
    }

    /// Loading begins: what waits was tokenized for the model that goes, and fails by being dropped.
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
        self.status.send_replace(Status::Ready);
    }

    /// Waits until something is to be done. `active` requests hold slots.
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

    /// Waits for a reload or the end, at most for `bound` where there is one. `true`: go on; `false`: stop.
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

    /// Folds the length of a finished request into the estimate for those who are refused.
    pub(super) fn count_finished(&self, took: Duration) {
        let mut state = self.lock();
        state.mean_request = (state.mean_request * 7 + took) / 8;
    }
}
