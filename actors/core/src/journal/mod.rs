//! Durable decisions: the one way in which a stateful actor changes what is stored.
//!
//! # The order of a change
//! 1. **Admit.** [`Journalled::admit`] rejects a new request while nothing can be stored: `Kind::Unavailable`, one
//!    message, `Retry-After` 1 s while the store is full or too many decisions wait for it, 30 s while it is read-only.
//!    Reads need no admission.
//! 2. **Decide.** The actor changes its state in memory, within one message handler, without waiting.
//! 3. **Push.** [`Journal::push`] takes the writes of the decision and its *effects*: what is performed once they are
//!    durable, as a type of the actor's own.
//! 4. **Flush.** [`Journalled::flush`] hands batches to the store. Decisions share a batch; two batches are in flight at a
//!    time, so that one is written while the next is collected. A batch that a full store did not accept is handed over
//!    again after 10 ms.
//! 5. **Committed.** [`Journalled::on_committed`] receives the effects in the order of the decisions. Only then does it
//!    respond to callers, publish (directories, events) and start work.
//!
//! Thus nothing is acknowledged, published or started that could be lost, and no handler waits for a sync.
//!
//! # Reads
//! A response, to a write or to a read, depends on durable decisions only. An actor that keeps undurable decisions apart
//! from the durable records, as the device actor does, reads those records and responds at once. An actor whose state
//! contains both responds by [`respond`], which waits until the decisions so far are durable. In both cases an
//! acknowledged write is visible to the next read, and a state that is sent to the feed follows every event of its
//! content. An error is a response too; only `Unavailable` is returned at once.
//!
//! # When a commit fails
//! The state in memory is no longer the stored one. The journal accepts nothing more; [`Journalled::on_failed`] receives
//! the effects of every decision that was not acknowledged, in flight or waiting, and fails their callers with one error;
//! the actor stops and its supervisor restarts it from the store. A failed write may still be found there (see
//! [`StoreError::Poisoned`]), as after any lost response. A store that stays read-only is detected by `admit`, so the
//! restarted actor writes nothing and there is no restart loop: periodic work calls `admit` as well.
//!
//! # Start
//! [`Journal::open`] waits for the writes of an earlier incarnation of the actor: call it before the state is read.

mod reply;
mod state;

use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, ActorContext, AsyncContext, Context, WrapFuture};
use futures::FutureExt;
use muster_store::{Batch, StoreError, StoreHandle};

pub use reply::{Answer, Reply, decide, respond};
use state::Completed;
pub use state::{Committed, Journal, Precondition};

use crate::Error;

/// Time between two attempts to hand a batch to a full store.
const BUSY: Duration = Duration::from_millis(10);

/// An actor whose decisions are stored through a journal.
pub trait Journalled: Actor<Context = Context<Self>> {
    /// The effects of one decision, performed once it is durable.
    type Effects: 'static;

    /// Returns the actor's journal.
    fn journal(&mut self) -> &mut Journal<Self::Effects>;

    /// Returns the store that the journal is written to.
    fn store(&self) -> &StoreHandle;

    /// Performs the effects of decisions that are durable now.
    fn on_committed(&mut self, committed: Committed<Self::Effects>, context: &mut Context<Self>);

    /// Receives the effects of a decision of [`Journal::push_if`] whose preconditions did not hold. An actor with such
    /// decisions overrides this; otherwise the actor fails.
    fn on_conflict(&mut self, _: Self::Effects, _: &mut Context<Self>) {
        self.journal().fail(StoreError::Conflict);
    }

    /// Fails the callers of decisions that were not acknowledged. The actor stops after this.
    fn on_failed(&mut self, effects: Vec<Self::Effects>, error: &Error);

    /// Returns the number and the writes of the next batch, if one may be handed over. Overridden by actors that add writes
    /// of their own to each batch.
    fn next_batch(&mut self) -> Option<(u64, Batch)> {
        self.journal().next_batch()
    }

    /// Checks that a new decision could be stored. Called before deciding.
    ///
    /// # Errors
    /// `Unavailable` if the store is read-only, or if it is full and the largest amount waits for it.
    fn admit(&mut self) -> Result<(), Error> {
        self.store().writable()?;
        self.journal().admit()
    }

    /// Hands decisions to the store.
    fn flush(&mut self, context: &mut Context<Self>) {
        while let Some((number, batch)) = self.next_batch() {
            commit(self, number, batch, context);
        }
        if let Some((effects, error)) = self.journal().take_failed() {
            tracing::error!(actor = std::any::type_name::<Self>(), %error, undurable = effects.len(), "decisions were not stored: restarting from the store");
            self.on_failed(effects, &Error::from(error));
            context.stop();
        }
    }
}

fn commit<A: Journalled>(actor: &mut A, number: u64, batch: Batch, context: &mut Context<A>) {
    if batch.ops.is_empty() && batch.expect.is_empty() {
        return complete(actor, number, Ok(()), context);
    }
    let again = batch.clone();
    let mut written = actor.store().commit(batch);
    match (&mut written).now_or_never() {
        Some(Err(StoreError::Busy)) => {
            actor.journal().hold_back(number, again);
            context.run_later(BUSY, |actor, context| {
                if let Some((number, batch)) = actor.journal().take_held_back() {
                    commit(actor, number, batch, context);
                }
                actor.flush(context);
            });
        }
        Some(outcome) => complete(actor, number, outcome, context),
        None => {
            let written = written.into_actor(actor);
            context.spawn(written.map(move |outcome, actor: &mut A, context: &mut Context<A>| {
                complete(actor, number, outcome, context);
                actor.flush(context);
            }));
        }
    }
}

fn complete<A: Journalled>(actor: &mut A, number: u64, outcome: Result<(), StoreError>, context: &mut Context<A>) {
    for completed in actor.journal().complete(number, outcome) {
        match completed {
            Completed::Committed(committed) => actor.on_committed(committed, context),
            Completed::Conflict(effects) => actor.on_conflict(effects, context),
        }
    }
}

impl<E> Journal<E> {
    /// Opens the journal of an actor that starts. Resolves once everything that was handed to the store before is durable
    /// or rejected, so that what is read next is complete.
    ///
    /// # Errors
    /// The error of a store that failed. A read-only store is no error, as it can be read.
    pub async fn open(store: &StoreHandle) -> Result<Self, StoreError> {
        loop {
            match store.commit(Batch::default()).await {
                Ok(()) | Err(StoreError::Poisoned(_)) => return Ok(Self::default()),
                Err(StoreError::Busy) => tokio::time::sleep(BUSY).await,
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
