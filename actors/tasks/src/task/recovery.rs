//! Recovery after any end, and orderly shutdown.

use std::sync::Arc;
use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message, ResponseFuture};
use tokio::sync::oneshot;

use super::actor::{Drain, TaskActor};
use super::record::{Status, TaskError};
use super::state::Event;
use super::unit::{Unit, Write, answer};
use muster_core::Error;
use muster_core::journal::Journalled;

/// Requests an orderly shutdown: no further steps begin, and those in progress may finish within the grace period.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct EndInOrder {
    pub(super) grace: Duration,
}

impl TaskActor {
    /// Resumes restored tasks: steps in progress were lost, all others continue to wait.
    pub(super) fn recover(&mut self) {
        if self.read_only {
            tracing::error!("the store only reads: no task runs until it is opened anew");
        }
        let ids: Vec<Arc<str>> = self.book.entries.keys().cloned().collect();
        for id in ids {
            if self.read_only {
                self.count(&id);
                continue;
            }
            // One decision per task: the journal combines them into batches of acceptable size.
            let mut unit = Unit::default();
            let ran = self.book.entries.get(&id).is_some_and(|entry| {
                matches!(entry.task.status(), Status::Running | Status::Pausing | Status::Retrying)
            });
            if ran {
                // The task is live: ended ones are not restored.
                let _ = self.happen(&id, &mut unit, Event::Lost);
            }
            self.admit_again(&id, &mut unit);
            self.settle(&id, &mut unit);
            self.seal(unit);
        }
        let mut unit = Unit::default();
        self.dispatch(&mut unit);
        self.seal(unit);
        self.publish_stats();
    }

    /// Admits a task again that was accepted but not admitted: its agent may have been removed.
    fn admit_again(&mut self, id: &Arc<str>, unit: &mut Unit) {
        let Some(entry) = self.book.entries.get(id) else { return };
        let record = &entry.task.record;
        if record.status != Status::Pending {
            return;
        }
        let event = match self.options.work.admit(&record.agent, &record.task, record.params.clone()) {
            Ok(_) => Event::Admitted,
            Err(refused) => Event::Vetoed(TaskError { error_code: "REJECTED".to_owned(), detail: refused.message }),
        };
        let _ = self.happen(id, unit, event);
    }

    fn count(&mut self, id: &Arc<str>) {
        if let Some(entry) = self.book.entries.get_mut(id) {
            let status = entry.task.status();
            self.rate.moved(entry.counted, status);
            entry.counted = Some(status);
        }
    }

    /// Finishes the drain as soon as no step is in progress.
    pub(super) fn drained_by_now(&mut self) {
        let busy = || self.book.entries.values().any(|entry| entry.task.doing().is_some());
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
            .book
            .entries
            .iter()
            .filter(|(_, entry)| running(entry.task.status()))
            .map(|(id, _)| Arc::clone(id))
            .collect();
        for id in ids {
            // Each may include a model's whole answer, so they are not combined into one decision.
            let mut unit = Unit::default();
            self.change(&id, &mut unit, Write::Always, |task, turn| task.apply(Event::Drained, turn).is_ok());
            self.settle(&id, &mut unit);
            self.seal(unit);
        }
        self.store_times();
        let mut unit = Unit::default();
        unit.reply(Box::new(move |stored| {
            if stored.is_ok() {
                // The caller may no longer wait.
                waits.into_iter().for_each(|wait| wait.send(()).unwrap_or_default());
            }
        }));
        self.seal(unit);
    }
}

impl Handler<EndInOrder> for TaskActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, end: EndInOrder, context: &mut Context<Self>) -> Self::Result {
        if self.draining.as_ref().is_some_and(|drain| drain.over) || self.read_only {
            let (reply, answered) = answer(());
            let mut unit = Unit::default();
            unit.reply(reply);
            self.seal(unit);
            self.flush(context);
            return Box::pin(answered);
        }
        let (done, waits) = oneshot::channel();
        self.draining.get_or_insert_with(Drain::default).waits.push(done);
        context.run_later(end.grace, |actor, context| {
            actor.end_drain();
            actor.flush(context);
        });
        self.drained_by_now();
        self.flush(context);
        Box::pin(async move {
            let gone = || Error::new(muster_core::Kind::Unavailable, "tasks could not be brought to an end in order");
            waits.await.map_err(|_| gone())
        })
    }
}
