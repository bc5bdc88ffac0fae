//! Beginning after whatever was, and ending in order.

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

/// Ends in order: no step begins any more, those in flight may end within the grace.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct EndInOrder {
    pub(super) grace: Duration,
}

impl TaskActor {
    /// Takes up what was read back: steps in flight were lost with whoever did them, everyone else goes on waiting.
    pub(super) fn recover(&mut self) {
        let read_only = self.read_only();
        if read_only {
            tracing::error!("the store only reads: no task runs until it is opened anew");
        }
        let ids: Vec<Arc<str>> = self.book.entries.keys().cloned().collect();
        for id in ids {
            if read_only {
                self.count(&id);
                continue;
            }
            // A decision for each: the journal gathers them into batches that the store takes.
            let mut unit = Unit::default();
            let ran = self.book.entries.get(&id).is_some_and(|entry| {
                matches!(entry.task.status(), Status::Running | Status::Pausing | Status::Retrying)
            });
            if ran {
                // It lives: what ended is not read back.
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

    /// One that was accepted and not admitted is asked about once more: its agent may be gone.
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

    /// Ends the drain as soon as no step is in flight.
    pub(super) fn drained_by_now(&mut self) {
        let busy = || self.book.entries.values().any(|entry| entry.task.doing().is_some());
        if self.draining.as_ref().is_some_and(|drain| !drain.over) && !busy() {
            self.end_drain();
        }
    }

    /// Aborts what is still in flight, and notes that it was no crash.
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
            // As much as a model's answer may be with each: not one decision for all of them.
            let mut unit = Unit::default();
            self.change(&id, &mut unit, Write::Always, |task, turn| task.apply(Event::Drained, turn).is_ok());
            self.settle(&id, &mut unit);
            self.seal(unit);
        }
        self.store_times();
        let mut unit = Unit::default();
        unit.reply(Box::new(move |stored| {
            if stored.is_ok() {
                // Who asked may have lost patience.
                waits.into_iter().for_each(|wait| wait.send(()).unwrap_or_default());
            }
        }));
        self.seal(unit);
    }
}

impl Handler<EndInOrder> for TaskActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, end: EndInOrder, context: &mut Context<Self>) -> Self::Result {
        if self.draining.as_ref().is_some_and(|drain| drain.over) || self.read_only() {
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
