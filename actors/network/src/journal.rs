//! Helpers of the durable path ([`muster_core::journal`]) that the actors of this crate share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::{Context, ResponseFuture};
use muster_core::journal::{Journal, Journalled, Reply};
use muster_core::{Error, Kind};
use muster_store::{Op, StoreHandle};

/// Opens the journal of each incarnation of an actor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Incarnations(Arc<AtomicBool>);

impl Incarnations {
    /// Opens a journal. From the second incarnation on it waits until the writes that the previous one handed to the
    /// store are stored or rejected, so that the records can be read.
    pub(crate) async fn open<E>(&self, store: &StoreHandle) -> Journal<E> {
        if !self.0.swap(true, Ordering::AcqRel) {
            return Journal::default();
        }
        Journal::open(store).await.unwrap_or_else(|error| {
            // The store has answered, and it answers in order: earlier writes are settled as well.
            tracing::warn!(%error, "the store does not accept writes: reading what it has");
            Journal::default()
        })
    }
}

/// Records a decision whose only effect is the response to its caller, and hands it to the store.
pub(crate) fn decide<A, T>(
    actor: &mut A,
    ops: Vec<Op>,
    answer: T,
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
    Box::pin(async move { durable.await.map(|()| answer) })
}

/// Responds once all earlier decisions are durable: at once if they are already. Reads and rejections use it, so that
/// they never disclose a decision that could be lost. `Unavailable` is returned at once.
pub(crate) fn answer<A, T>(
    actor: &mut A,
    answer: Result<T, Error>,
    context: &mut Context<A>,
) -> ResponseFuture<Result<T, Error>>
where
    A: Journalled,
    A::Effects: From<Reply<()>>,
    T: 'static,
{
    let unavailable = answer.as_ref().is_err_and(|refused| refused.kind == Kind::Unavailable);
    if unavailable || actor.journal().undurable() == 0 {
        return Box::pin(std::future::ready(answer));
    }
    let answered = decide(actor, Vec::new(), answer, context);
    Box::pin(async move { answered.await? })
}
