//! The life of the engine's threads: load, serve, and start again after a death.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use super::line::{Step, Work};
use super::load::{LoadError, Model, load};
use super::shared::{Left, Next, Shared};
use crate::chat::Status;
use crate::embed::EmbedError;
use crate::restart::{Restarts, Verdict};

/// How serving with a model ended.
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
                tracing::warn!(?status, "no embedding model");
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
        shared.set_unable(Status::Failed { why, mend });
        if !shared.pause(Some(Duration::from_secs(60))) {
            return;
        }
    }
}

/// Serves with one loaded model; `Failed` where it dies too often.
fn keep_serving(shared: &Shared, model: &Model, restarts: &mut Restarts, begin: Instant) -> Outcome {
    loop {
        shared.set_ready();
        serve(shared, model);
        match shared.left() {
            Left::Stop => return Outcome::Stop,
            Left::Reload if model.is_current(shared) => {}
            Left::Reload => return Outcome::Reload,
            Left::Death(why) => {
                shared.set_loading(99);
                match restarts.died(begin.elapsed()) {
                    Verdict::RestartAfter(delay) => {
                        tracing::error!(%why, ?delay, "the embedding model's engine died; it is started again");
                        if !shared.pause(Some(delay)) {
                            return Outcome::Stop;
                        }
                    }
                    Verdict::GiveUpFor(_) => return Outcome::Failed(why),
                }
            }
        }
    }
}

/// Serves on this thread and, where there is more than one, on others. Comes back when all of them have left.
fn serve(shared: &Shared, model: &Model) {
    thread::scope(|scope| {
        for number in 1..shared.options.threads {
            let named = thread::Builder::new().name(format!("embeddings-{number}"));
            if let Err(error) = named.spawn_scoped(scope, || work(shared, model)) {
                tracing::warn!(%error, number, "a thread of the embedding model could not be started");
                break;
            }
        }
        work(shared, model);
    });
}

fn work(shared: &Shared, model: &Model) {
    loop {
        match shared.next() {
            Next::Leave => return,
            Next::Work(Work::Tokenize(id, texts)) => {
                let read = catch_unwind(AssertUnwindSafe(|| model.tokenize(&texts)));
                shared.tokenized(id, read.unwrap_or_else(|panic| Err(EmbedError::Failed { why: describe(&*panic) })));
            }
            Next::Work(Work::Compute(step)) => compute(shared, &step, || model.encode(&step.tokens)),
            Next::Panic(step) => compute(shared, &step, die),
        }
    }
}

/// A panic ends the step, not the thread: the supervisor begins anew.
fn compute(shared: &Shared, step: &Step, vectors: impl FnOnce() -> Vec<Vec<f32>>) {
    let begin = Instant::now();
    match catch_unwind(AssertUnwindSafe(vectors)) {
        Ok(vectors) => shared.computed(step, vectors, begin.elapsed()),
        Err(panic) => shared.died(step, describe(&*panic)),
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
