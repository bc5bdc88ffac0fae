//! Recovery after any end, and orderly shutdown.

use std::sync::Arc;
use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message, ResponseFuture};
use tokio::sync::oneshot;

use super::actor::{DrainState, TaskActor};
use super::record::{Status, TaskError};
use super::state::Event;
use super::transaction::{Transaction, Write, deferred_reply};
use muster_core::Error;
use muster_core::journal::Journalled;

/// Requests an orderly shutdown: no further steps begin, and those in progress may finish within the grace period.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct Shutdown {
    pub(super) grace: Duration,
}

impl TaskActor {
    /// Resumes restored tasks: steps in progress were lost, all others continue to wait.
    pub(super) fn recover(&mut self) {
        let read_only = self.read_only();
        if read_only {
            tracing::error!("the store is read-only: no task runs until it is reopened");
        }
        let ids: Vec<Arc<str>> = self.live.entries.keys().cloned().collect();
        for id in ids {
            if read_only {
                self.count(&id);
                continue;
            }
            // One decision per task: the journal combines them into batches of acceptable size.
            let mut transaction = Transaction::default();
            let ran = self.live.entries.get(&id).is_some_and(|entry| {
                matches!(entry.task.status(), Status::Running | Status::Pausing | Status::Retrying)
            });
            if ran {
                // The task is live: ended ones are not restored.
                let _ = self.apply_event(&id, &mut transaction, Event::Lost);
            }
            self.admit_again(&id, &mut transaction);
            self.settle(&id, &mut transaction);
            self.seal(transaction);
        }
        let mut transaction = Transaction::default();
        self.dispatch(&mut transaction);
        self.seal(transaction);
        self.publish_stats();
    }

    /// Admits a task again that was accepted but not admitted: its agent may have been removed.
    fn admit_again(&mut self, id: &Arc<str>, transaction: &mut Transaction) {
        let Some(entry) = self.live.entries.get(id) else { return };
        let record = &entry.task.record;
        if record.status != Status::Pending {
            return;
        }
        let event = match self.options.executor.admit(&record.agent, &record.task, record.params.clone()) {
            Ok(_) => Event::Admitted,
            Err(refused) => Event::Vetoed(TaskError { error_code: "REJECTED".to_owned(), detail: refused.message }),
        };
        let _ = self.apply_event(id, transaction, event);
    }

    fn count(&mut self, id: &Arc<str>) {
        if let Some(entry) = self.live.entries.get_mut(id) {
            let status = entry.task.status();
            self.rate.status_changed(entry.counted, status);
            entry.counted = Some(status);
        }
    }

    /// Finishes the drain as soon as no step is in progress.
    pub(super) fn finish_drain_if_idle(&mut self) {
        let busy = || self.live.entries.values().any(|entry| entry.task.doing().is_some());
        if self.draining.as_ref().is_some_and(|drain| !drain.over) && !busy() {
            self.end_drain();
        }
    }

    /// Aborts the steps still in progress, and records that this was not a crash.
    fn end_drain(&mut self) {
        let waits = match &mut self.draining {
            Some(drain) if !drain.over => {
                drain.over = true;
                std::mem::take(&mut drain.waits)
            }
            _ => return,
        };
        let running = |status| matches!(status, Status::Running | Status::Pausing | Status::Retrying);
        let ids: Vec<Arc<str>> = self
            .live
            .entries
            .iter()
            .filter(|(_, entry)| running(entry.task.status()))
            .map(|(id, _)| Arc::clone(id))
            .collect();
        for id in ids {
            // Each may include a model's whole answer, so they are not combined into one decision.
            let mut transaction = Transaction::default();
            self.change(&id, &mut transaction, Write::Always, |task, transition| {
                task.apply(Event::Drained, transition).is_ok()
            });
            self.settle(&id, &mut transaction);
            self.seal(transaction);
        }
        self.store_times();
        let mut transaction = Transaction::default();
        transaction.reply(Box::new(move |stored| {
            if stored.is_ok() {
                // The caller may no longer wait.
                waits.into_iter().for_each(|wait| wait.send(()).unwrap_or_default());
            }
        }));
        self.seal(transaction);
    }
}

impl Handler<Shutdown> for TaskActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, end: Shutdown, context: &mut Context<Self>) -> Self::Result {
        if self.draining.as_ref().is_some_and(|drain| drain.over) || self.read_only() {
            let (reply, answered) = deferred_reply(());
            let mut transaction = Transaction::default();
            transaction.reply(reply);
            self.seal(transaction);
            self.flush(context);
            return Box::pin(answered);
        }
        let (done, waits) = oneshot::channel();
        self.draining.get_or_insert_with(DrainState::default).waits.push(done);
        context.run_later(end.grace, |actor, context| {
            actor.end_drain();
            actor.flush(context);
        });
        self.finish_drain_if_idle();
        self.flush(context);
        Box::pin(async move {
            let gone = || Error::new(muster_core::Kind::Unavailable, "tasks could not be shut down in an orderly way");
            waits.await.map_err(|_| gone())
        })
    }
}
