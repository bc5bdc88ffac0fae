//! Message handlers of the firmware actor, a file of their own because of their number. Changes and reads alike are
//! answered once the state that they rest on is durable.

use actix::{Context, Handler, MessageResult, ResponseFuture};
use serde_json::Value;
use tokio::sync::oneshot;

use super::actor::{FirmwareActor, FirmwareEffect};
use super::messages::{ApplyChange, CreateOnce, CreateResponse, FindReplay, ReadState, TakeSnapshot, WaitForJob};
use super::state::FirmwareState;
use super::transaction::FirmwareTransaction;
use muster_core::idempotency::Idempotency;
use muster_core::journal::Journalled;
use muster_core::journal::respond;
use muster_core::{Error, Millis};

impl FirmwareActor {
    /// Returns the first response to the same request, if there is one.
    fn replay(&self, request: Option<&Idempotency>) -> Result<Option<CreateResponse>, Error> {
        let first = request.map(|request| self.responses.replay(request, &self.store, self.now()));
        Ok(first.transpose()?.flatten().map(|data| CreateResponse { data, replayed: true }))
    }
}

impl<R, C> Handler<ApplyChange<R, C>> for FirmwareActor
where
    R: 'static,
    C: FnOnce(&mut FirmwareState, &mut FirmwareTransaction, Millis) -> Result<R, Error> + 'static,
{
    type Result = ResponseFuture<Result<R, Error>>;

    fn handle(&mut self, change: ApplyChange<R, C>, context: &mut Context<Self>) -> Self::Result {
        let changed = self.admit().and_then(|()| self.change(change.0, context));
        respond(self, changed, context)
    }
}

impl<C> Handler<CreateOnce<C>> for FirmwareActor
where
    C: FnOnce(&mut FirmwareState, &mut FirmwareTransaction, Millis) -> Result<Value, Error> + 'static,
{
    type Result = ResponseFuture<Result<CreateResponse, Error>>;

    fn handle(&mut self, create: CreateOnce<C>, context: &mut Context<Self>) -> Self::Result {
        let created = self.replay(create.request.as_ref()).and_then(|first| match first {
            Some(first) => Ok(first),
            None => {
                self.admit()?;
                let data = self.change(create.change, context)?;
                Ok(CreateResponse { data, replayed: false })
            }
        });
        respond(self, created, context)
    }
}

impl Handler<FindReplay> for FirmwareActor {
    type Result = ResponseFuture<Result<Option<CreateResponse>, Error>>;

    fn handle(&mut self, replay: FindReplay, context: &mut Context<Self>) -> Self::Result {
        let first = self.replay(Some(&replay.0));
        respond(self, first, context)
    }
}

impl<R: 'static, F: FnOnce(&FirmwareState) -> R + 'static> Handler<ReadState<R, F>> for FirmwareActor {
    type Result = ResponseFuture<Result<R, Error>>;

    fn handle(&mut self, read: ReadState<R, F>, context: &mut Context<Self>) -> Self::Result {
        let found = (read.0)(&self.state);
        respond(self, Ok(found), context)
    }
}

impl Handler<WaitForJob> for FirmwareActor {
    type Result = MessageResult<WaitForJob>;

    fn handle(&mut self, wait: WaitForJob, _: &mut Context<Self>) -> Self::Result {
        let (to, from) = oneshot::channel();
        if self.state.next(&wait.0).is_some() {
            // The receiver still exists.
            let _ = to.send(());
        } else {
            self.polls.retain(|_, poll| !poll.is_closed());
            self.polls.insert(wait.0, to);
        }
        MessageResult(from)
    }
}

impl Handler<TakeSnapshot> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, TakeSnapshot(request): TakeSnapshot, context: &mut Context<Self>) {
        let items = request.items(&self.state);
        if self.journal.undurable() == 0 {
            return request.answer(items);
        }
        // Sent after the events of what it contains; unavailable if too much waits already.
        if self.journal.admit().is_ok() {
            self.journal.push(Vec::new(), FirmwareEffect::TakeSnapshot(request, items));
            self.flush(context);
        }
    }
}
