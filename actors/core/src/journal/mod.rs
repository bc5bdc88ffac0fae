//! What waits to be durable, in the order in which it was decided, and what follows once it is.
//!
//! An actor decides at once and goes on; nobody is answered, nothing begins and nothing is told before the writes that
//! say so are durable. Many decisions share a batch, and two batches are on their way: one is written while the next is
//! gathered. An actor's turn never waits for the disk.

mod state;

use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, ActorContext, AsyncContext, Context, WrapFuture};
use futures::FutureExt;
use muster_store::{Batch, StoreError, StoreHandle};

pub use state::{Journal, Landed};

/// How long a full store is let alone.
const BUSY: Duration = Duration::from_millis(10);

/// An actor whose decisions go to the store by a journal.
pub trait Journalled: Actor<Context = Context<Self>> {
    /// What follows a decision once it is durable.
    type Then: 'static;

    fn journal(&mut self) -> &mut Journal<Self::Then>;

    fn store(&self) -> &StoreHandle;

    /// A batch has landed and its turn has come: does what follows, or says that nothing was stored.
    fn follow(&mut self, landed: Landed<Self::Then>, context: &mut Context<Self>);

    /// The next batch to be written, if one may go.
    fn depart(&mut self) -> Option<(u64, Batch)> {
        self.journal().depart()
    }

    /// Lets what was decided go to the store.
    fn flush(&mut self, context: &mut Context<Self>) {
        while let Some((number, batch)) = self.depart() {
            send(self, number, batch, context);
        }
        if self.journal().broken {
            // Started again, it has what is stored.
            context.stop();
        }
    }
}

fn send<A: Journalled>(actor: &mut A, number: u64, batch: Batch, context: &mut Context<A>) {
    if batch.ops.is_empty() {
        return arrive(actor, number, Ok(()), context);
    }
    let again = batch.clone();
    let mut commit = actor.store().commit(batch);
    match (&mut commit).now_or_never() {
        Some(Err(StoreError::Busy)) => {
            actor.journal().held_back = Some((number, again));
            context.run_later(BUSY, |actor, context| {
                if let Some((number, batch)) = actor.journal().held_back.take() {
                    send(actor, number, batch, context);
                }
                actor.flush(context);
            });
        }
        Some(outcome) => arrive(actor, number, outcome, context),
        None => {
            let commit = commit.into_actor(actor);
            context.spawn(commit.map(move |outcome, actor: &mut A, context: &mut Context<A>| {
                arrive(actor, number, outcome, context);
                actor.flush(context);
            }));
        }
    }
}

fn arrive<A: Journalled>(actor: &mut A, number: u64, outcome: Result<(), StoreError>, context: &mut Context<A>) {
    for landed in actor.journal().arrive(number, outcome) {
        actor.follow(landed, context);
    }
}
