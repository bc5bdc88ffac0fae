//! Responses that are sent once a decision is durable.

use std::future::ready;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use actix::{Context, ResponseFuture};
use muster_store::Op;
use tokio::sync::oneshot;

use super::Journalled;
use crate::{Error, Kind};

/// The response to a caller, kept among the effects of a decision.
#[derive(Debug)]
pub struct Reply<T> {
    outcome: Result<T, Error>,
    to: oneshot::Sender<Result<T, Error>>,
}

impl<T> Reply<T> {
    /// Creates a response that is still to be sent, and the future that the caller awaits.
    pub fn new(value: T) -> (Self, Answer<T>) {
        Self::of(Ok(value))
    }

    /// Does the same for an outcome: an error that depends on undurable state is also sent only once that is durable.
    pub fn of(outcome: Result<T, Error>) -> (Self, Answer<T>) {
        let (to, from) = oneshot::channel();
        (Self { outcome, to }, Answer(from))
    }

    /// Sends the response. A caller that no longer waits is no error.
    pub fn send(self) {
        let _ = self.to.send(self.outcome);
    }

    /// Sends an error in place of the response: nothing was stored.
    pub fn fail(self, error: &Error) {
        let _ = self.to.send(Err(error.clone()));
    }
}

/// Resolves to the response of a [`Reply`]; `Unavailable` if the actor ended before it was sent.
#[derive(Debug)]
pub struct Answer<T>(oneshot::Receiver<Result<T, Error>>);

impl<T> Future for Answer<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or_else(|_| Err(lost())))
    }
}

/// The error of a caller that cannot know whether its request was stored.
fn lost() -> Error {
    Error::new(Kind::Unavailable, "restarting before the answer was durable: try again")
        .retry_in(Duration::from_secs(1))
}

/// Takes a decision whose only effect is the response to its caller, and hands it to the store.
pub fn decide<A, T>(
    actor: &mut A,
    ops: Vec<Op>,
    response: T,
    context: &mut Context<A>,
) -> ResponseFuture<Result<T, Error>>
where
    A: Journalled,
    A::Effects: From<Reply<()>>,
    T: 'static,
{
    let (reply, durable) = Reply::new(());
    actor.journal().push(ops, reply.into());
    actor.flush(context);
    Box::pin(async move { durable.await.map(|()| response) })
}

/// Hands the decisions so far to the store and responds once they are durable: at once if they are already. A response
/// therefore never contains a decision that could be lost, whether it is one to a write, a read or a rejected request.
/// Only `Unavailable` is returned at once: it depends on no decision.
pub fn respond<A, T>(
    actor: &mut A,
    outcome: Result<T, Error>,
    context: &mut Context<A>,
) -> ResponseFuture<Result<T, Error>>
where
    A: Journalled,
    A::Effects: From<Reply<()>>,
    T: 'static,
{
    let unavailable = outcome.as_ref().is_err_and(|error| error.kind == Kind::Unavailable);
    if unavailable || actor.journal().undurable() == 0 {
        return Box::pin(ready(outcome));
    }
    let responded = decide(actor, Vec::new(), outcome, context);
    Box::pin(async move { responded.await? })
}
