//! What the callers and the engine's threads share: the line, the commands, the status and the figures.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use super::line::{Line, Reply, Step, Work};
use crate::chat::Status;
use crate::embed::{EmbedError, EmbedOptions, EmbedStats, Embeddings};

type Answer = Result<Embeddings, EmbedError>;

impl Reply for oneshot::Sender<Answer> {
    fn is_gone(&self) -> bool {
        self.is_closed()
    }

    fn send(self, answer: Answer) {
        // A caller who has gone in between wants no answer.
        let _ = oneshot::Sender::send(self, answer);
    }
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: EmbedOptions,
    state: Mutex<State>,
    /// Signalled at every change that an engine's thread may wait for.
    changed: Condvar,
    /// Changed only under the lock of `state`.
    status: watch::Sender<Status>,
}

#[derive(Debug)]
struct State {
    line: Line<oneshot::Sender<Answer>>,
    /// Requests are let in: the model is in memory.
    open: bool,
    stop: bool,
    reload: bool,
    panic: bool,
    /// Why the threads are to leave: one of them died.
    death: Option<String>,
    texts: u64,
    tokens: u64,
    restarts: u64,
}

/// What a thread is to do next.
pub(super) enum Next {
    /// The supervisor is to decide.
    Leave,
    Work(Work),
    /// Die over this step, for a test.
    Panic(Step),
}

/// Why all threads left.
pub(super) enum Left {
    Stop,
    Reload,
    Death(String),
}

impl Shared {
    pub(super) fn new(options: EmbedOptions) -> Self {
        let state = State {
            line: Line::new(options.queue, options.threads),
            open: false,
            stop: false,
            reload: false,
            panic: false,
            death: None,
            texts: 0,
            tokens: 0,
            restarts: 0,
        };
        let status = watch::Sender::new(Status::Loading { percent: 0 });
        Self { options, state: Mutex::new(state), changed: Condvar::new(), status }
    }

    /// A panic elsewhere leaves the state whole: nothing panics between two of its changes.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(super) fn stats(&self) -> EmbedStats {
        let state = self.lock();
        EmbedStats { waiting: state.line.len(), texts: state.texts, tokens: state.tokens, restarts: state.restarts }
    }

    /// Lets a request in, or answers it at once.
    pub(super) fn admit(&self, texts: Vec<String>, reply: oneshot::Sender<Answer>) {
        let mut state = self.lock();
        if state.open && !state.stop {
            state.line.admit(texts, reply);
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

    /// Whatever asked for it, the files are looked at now. Whoever waits keeps waiting.
    pub(super) fn begin_loading(&self) {
        self.lock().reload = false;
        self.set_loading(0);
    }

    pub(super) fn set_loading(&self, percent: u8) {
        let _state = self.lock();
        self.status.send_replace(Status::Loading { percent });
    }

    /// Requests are let in.
    pub(super) fn set_ready(&self) {
        let mut state = self.lock();
        state.open = true;
        self.status.send_replace(Status::Ready);
    }

    /// Nothing can be served until something changes: those who wait are told so.
    pub(super) fn set_unable(&self, status: Status) {
        let mut state = self.lock();
        state.open = false;
        state.line.fail_all(&refusal(&status));
        self.status.send_replace(status);
    }

    /// Waits until something is to be done.
    pub(super) fn next(&self) -> Next {
        let mut state = self.lock();
        loop {
            if state.stop || state.reload || state.death.is_some() {
                return Next::Leave;
            }
            match state.line.work() {
                Some(Work::Compute(step)) if std::mem::take(&mut state.panic) => return Next::Panic(step),
                Some(work) => return Next::Work(work),
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    pub(super) fn tokenized(&self, id: u64, read: Result<Vec<Vec<u32>>, EmbedError>) {
        self.lock().line.tokenized(id, read);
        self.changed.notify_all();
    }

    pub(super) fn computed(&self, step: &Step, vectors: Vec<Vec<f32>>, took: Duration) {
        let mut state = self.lock();
        state.texts += step.tokens.len() as u64;
        state.tokens += step.tokens.iter().map(|tokens| tokens.len() as u64).sum::<u64>();
        state.line.computed(step, vectors, took);
    }

    /// A thread died over a step: all leave, and begin anew.
    pub(super) fn died(&self, step: &Step, why: String) {
        let mut state = self.lock();
        state.line.died(step, &why);
        state.death = Some(why);
        self.changed.notify_all();
    }

    /// Why the threads left; asked once all of them have.
    pub(super) fn left(&self) -> Left {
        let mut state = self.lock();
        let death = state.death.take();
        if state.stop {
            return Left::Stop;
        }
        match death {
            Some(why) => {
                state.restarts += 1;
                Left::Death(why)
            }
            None => {
                state.reload = false;
                Left::Reload
            }
        }
    }

    /// Waits for a reload or the end, at most for `bound` where there is one. `true`: go on; `false`: stop.
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

/// What a caller is told while the model cannot serve.
fn refusal(status: &Status) -> EmbedError {
    match status {
        Status::Absent { mend } => EmbedError::Absent { mend: mend.clone() },
        Status::Loading { percent } => EmbedError::Loading { percent: *percent },
        Status::Failed { why, mend } => EmbedError::Failed { why: format!("{why} ({mend})") },
        Status::Ready => EmbedError::Failed { why: "it is being stopped".to_owned() },
    }
}
