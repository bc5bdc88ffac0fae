//! Handlers of the firmware actor. Changes and reads alike are answered once what they rest on is durable.

use actix::{Context, Handler, MessageResult, ResponseFuture};
use serde_json::Value;
use tokio::sync::oneshot;

use super::actor::{FirmwareActor, FirmwareEffect};
use super::messages::{Change, Create, Read, Replay, Snapshot, View, Wait};
use super::state::State;
use super::turn::Turn;
use crate::journal::answer;
use muster_core::idempotency::Idempotency;
use muster_core::journal::Journalled;
use muster_core::{Error, Millis};

impl FirmwareActor {
    /// The first answer to the same request.
    fn replay(&self, request: Option<&Idempotency>) -> Result<Option<View>, Error> {
        let first = request.map(|request| self.answers.replay(request, &self.store, self.now()));
        Ok(first.transpose()?.flatten().map(|data| View { data, replayed: true }))
    }
}

impl<R, C> Handler<Change<R, C>> for FirmwareActor
where
    R: 'static,
    C: FnOnce(&mut State, &mut Turn, Millis) -> Result<R, Error> + 'static,
{
    type Result = ResponseFuture<Result<R, Error>>;

    fn handle(&mut self, change: Change<R, C>, context: &mut Context<Self>) -> Self::Result {
        let changed = self.admit().and_then(|()| self.change(change.0, context));
        answer(self, changed, context)
    }
}

impl<C> Handler<Create<C>> for FirmwareActor
where
    C: FnOnce(&mut State, &mut Turn, Millis) -> Result<Value, Error> + 'static,
{
    type Result = ResponseFuture<Result<View, Error>>;

    fn handle(&mut self, create: Create<C>, context: &mut Context<Self>) -> Self::Result {
        let created = self.replay(create.request.as_ref()).and_then(|first| match first {
            Some(first) => Ok(first),
            None => {
                self.admit()?;
                let data = self.change(create.change, context)?;
                Ok(View { data, replayed: false })
            }
        });
        answer(self, created, context)
    }
}

impl Handler<Replay> for FirmwareActor {
    type Result = ResponseFuture<Result<Option<View>, Error>>;

    fn handle(&mut self, replay: Replay, context: &mut Context<Self>) -> Self::Result {
        let first = self.replay(Some(&replay.0));
        answer(self, first, context)
    }
}

impl<R: 'static, F: FnOnce(&State) -> R + 'static> Handler<Read<R, F>> for FirmwareActor {
    type Result = ResponseFuture<Result<R, Error>>;

    fn handle(&mut self, read: Read<R, F>, context: &mut Context<Self>) -> Self::Result {
        let found = (read.0)(&self.state);
        answer(self, Ok(found), context)
    }
}

impl Handler<Wait> for FirmwareActor {
    type Result = MessageResult<Wait>;

    fn handle(&mut self, wait: Wait, _: &mut Context<Self>) -> Self::Result {
        let (to, from) = oneshot::channel();
        if self.state.next(&wait.0).is_some() {
            // The receiver is still here.
            let _ = to.send(());
        } else {
            self.polls.retain(|_, poll| !poll.is_closed());
            self.polls.insert(wait.0, to);
        }
        MessageResult(from)
    }
}

impl Handler<Snapshot> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, Snapshot(ask): Snapshot, context: &mut Context<Self>) {
        let items = ask.items(&self.state);
        if self.journal.undurable() == 0 {
            return ask.answer(items);
        }
        // Behind the events of what it shows; unavailable where too much waits already.
        if self.journal.admit().is_ok() {
            self.journal.push(Vec::new(), FirmwareEffect::State(ask, items));
            self.flush(context);
        }
    }
}
