//! Supervision of the engine's thread: load, serve, and restart after a panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::load::{LoadError, load};
use super::serve::{Outcome, serve};
use super::shared::Shared;
use crate::chat::ModelStatus;
use crate::restart::{RestartDecision, Restarts};

/// Runs until the model is dropped.
pub(super) fn run(shared: &Arc<Shared>) {
    let begin = Instant::now();
    let mut restarts = Restarts::default();
    let mut epoch = 0;
    loop {
        epoch += 1;
        // A panic keeps the model in memory; only the context is created anew.
        let loaded = catch_unwind(AssertUnwindSafe(|| load(shared, epoch)));
        let why = match loaded {
            Ok(Ok(ready)) => match keep_serving(shared, &Arc::new(ready), &mut restarts, begin) {
                Outcome::Stop => return,
                Outcome::Reload => {
                    shared.unload();
                    continue;
                }
                Outcome::Failed(why) => why,
            },
            Ok(Err(LoadError::Stopped)) => return,
            Ok(Err(LoadError::Wrong(status))) => {
                tracing::info!(?status, "no embedded model");
                shared.set_status(status);
                if !shared.pause(None) {
                    return;
                }
                shared.unload();
                continue;
            }
            Err(panic) => format!("loading the model died: {}", describe(&*panic)),
        };
        if !pause_after_failures(shared, why) {
            return;
        }
    }
}

/// Serves with one loaded model; returns `Failed` if it dies too often.
fn keep_serving(
    shared: &Arc<Shared>,
    ready: &Arc<super::load::Ready>,
    restarts: &mut Restarts,
    begin: Instant,
) -> Outcome {
    loop {
        let why = match catch_unwind(AssertUnwindSafe(|| serve(shared, ready))) {
            Ok(Outcome::Failed(why)) => why,
            Ok(outcome) => return outcome,
            Err(panic) => describe(&*panic),
        };
        let restart = shared.count_restart();
        shared.set_status(ModelStatus::Loading { percent: 99 });
        match restarts.died(begin.elapsed()) {
            RestartDecision::RestartAfter(delay) => {
                tracing::error!(%why, restart, ?delay, "the embedded model's engine died; it is started again");
                if !shared.pause(Some(delay)) {
                    return Outcome::Stop;
                }
            }
            RestartDecision::GiveUpFor(_) => return Outcome::Failed(why),
        }
    }
}

/// Reports the failure and waits. Returns false to stop.
fn pause_after_failures(shared: &Shared, why: String) -> bool {
    tracing::error!(%why, "the embedded model's engine dies too often; it is tried again in a minute");
    shared.unload();
    let mend = "it is tried again in a minute; if it stays so, choose another model and report this".to_owned();
    shared.set_status(ModelStatus::Failed { why, mend });
    shared.pause(Some(std::time::Duration::from_secs(60))) && {
        shared.unload();
        true
    }
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}
