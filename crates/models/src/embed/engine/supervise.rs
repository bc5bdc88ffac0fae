//! Supervision of the engine threads: load, serve, and restart after a panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use super::batch_queue::{Batch, QueueWork};
use super::load::{LoadError, Model, load};
use super::shared::{ExitReason, Next, Shared};
use crate::chat::ModelStatus;
use crate::embed::EmbedError;
use crate::restart::{RestartDecision, Restarts};

/// How serving with a loaded model ended.
enum Outcome {
    Stop,
    /// The files changed.
    Reload,
    Failed(String),
}

/// Runs until the model is dropped.
pub(super) fn run(shared: &Shared) {
    let begin = Instant::now();
    let mut restarts = Restarts::default();
    loop {
        shared.begin_loading();
        let why = match catch_unwind(AssertUnwindSafe(|| load(shared))) {
            Ok(Ok(model)) => match keep_serving(shared, &model, &mut restarts, begin) {
                Outcome::Stop => return,
                Outcome::Reload => continue,
                Outcome::Failed(why) => why,
            },
            Ok(Err(LoadError::Stopped)) => return,
            Ok(Err(LoadError::Wrong(status))) => {
                tracing::info!(?status, "no embedding model");
                shared.set_unable(status);
                if shared.pause(None) {
                    continue;
                }
                return;
            }
            Err(panic) => format!("loading the model died: {}", describe(&*panic)),
        };
        tracing::error!(%why, "the embedding model dies too often; it is tried again in a minute");
        let mend = "it is tried again in a minute; if it stays so, report this".to_owned();
        shared.set_unable(ModelStatus::Failed { why, mend });
        if !shared.pause(Some(Duration::from_secs(60))) {
            return;
        }
    }
}

/// Serves with one loaded model; returns `Failed` if it dies too often.
fn keep_serving(shared: &Shared, model: &Model, restarts: &mut Restarts, begin: Instant) -> Outcome {
    loop {
        shared.set_ready();
        serve(shared, model);
        match shared.left() {
            ExitReason::Stop => return Outcome::Stop,
            ExitReason::Reload if model.is_current(shared) => {}
            ExitReason::Reload => return Outcome::Reload,
            ExitReason::Death(why) => {
                shared.set_loading(99);
                match restarts.died(begin.elapsed()) {
                    RestartDecision::RestartAfter(delay) => {
                        tracing::error!(%why, ?delay, "the embedding model's engine died; it is started again");
                        if !shared.pause(Some(delay)) {
                            return Outcome::Stop;
                        }
                    }
                    RestartDecision::GiveUpFor(_) => return Outcome::Failed(why),
                }
            }
        }
    }
}

/// Serves on this thread and any additional ones; returns when all of them have exited.
fn serve(shared: &Shared, model: &Model) {
    thread::scope(|scope| {
        for number in 1..shared.options.threads {
            let named = thread::Builder::new().name(format!("embeddings-{number}"));
            if let Err(error) = named.spawn_scoped(scope, || next_work(shared, model)) {
                tracing::warn!(%error, number, "a thread of the embedding model could not be started");
                break;
            }
        }
        next_work(shared, model);
    });
}

fn next_work(shared: &Shared, model: &Model) {
    loop {
        match shared.next() {
            Next::Exit => return,
            Next::QueueWork(QueueWork::Tokenize(id, texts)) => {
                let read = catch_unwind(AssertUnwindSafe(|| model.tokenize(&texts)));
                shared.tokenized(id, read.unwrap_or_else(|panic| Err(EmbedError::Failed { why: describe(&*panic) })));
            }
            Next::QueueWork(QueueWork::Compute(batch)) => compute(shared, &batch, || model.encode(&batch.tokens)),
            Next::Panic(batch) => compute(shared, &batch, die),
        }
    }
}

/// A panic ends the batch, not the thread: the supervisor restarts serving.
fn compute(shared: &Shared, batch: &Batch, vectors: impl FnOnce() -> Vec<Vec<f32>>) {
    let begin = Instant::now();
    match catch_unwind(AssertUnwindSafe(vectors)) {
        Ok(vectors) => shared.computed(batch, vectors, begin.elapsed()),
        Err(panic) => shared.died(batch, describe(&*panic)),
    }
}

#[expect(clippy::panic, reason = "the fault that tests inject")]
fn die() -> Vec<Vec<f32>> {
    panic!("injected fault")
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}
