//! The actor that follows the journal, grants holds, and carries what changed into the store.
//!
//! It does not wait for the disk: a grant is one append without a sync, everything else is done beside it. Nobody has to
//! wake it for what is posted: it looks before it answers, and ten times a second.

use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use muster_store::{Frames, Journal, StoreError, StoreHandle};
use tokio::sync::oneshot;

use super::carry::{self, Loaded};
use super::line::Line;
use super::messages::{AskBudgets, AskHold, AskRows, AskStatus, Budgets, Flush, Hold, LedgerStatus, Refusal};
use super::record::{RowRecord, Shelf};
use super::row::{Budget, RowKey};
use super::service::LedgerOptions;
use super::state::Book;
use muster_core::supervise::{BuildError, Control};
use muster_core::{Clock, Error, Kind};

/// Most holds open at a time: they are stored together, in one record.
const MAX_HOLDS: usize = 6_000;
/// A buffer that grew beyond this is not kept.
const BUFFER: usize = 1 << 20;

type Waiters = Vec<oneshot::Sender<Result<(), Error>>>;

/// What every incarnation gets.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) store: StoreHandle,
    pub(super) journal: Arc<Journal>,
    pub(super) clock: Clock,
    pub(super) options: LedgerOptions,
}

/// The actor. See the module.
pub struct LedgerActor {
    parts: Parts,
    book: Book,
    follower: u64,
    torn_bytes: u64,
    buffer: Vec<u8>,
    syncing: bool,
    saving: bool,
    flushes: Waiters,
}

impl std::fmt::Debug for LedgerActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerActor").field("applied", &self.book.applied()).finish_non_exhaustive()
    }
}

impl LedgerActor {
    pub(super) async fn build(parts: Parts, _: Control) -> Result<Self, BuildError> {
        let (store, journal) = (Arc::clone(&parts.store), Arc::clone(&parts.journal));
        let Loaded { book, follower, torn_bytes } =
            tokio::task::spawn_blocking(move || carry::load(store.as_ref(), &journal)).await??;
        let (buffer, flushes) = (Vec::new(), Waiters::new());
        Ok(Self { parts, book, follower, torn_bytes, buffer, syncing: false, saving: false, flushes })
    }

    /// Counts what was written since. Where that fails the book is no longer to be trusted: the actor ends, and its next
    /// incarnation reads everything back.
    fn catch_up(&mut self, context: &mut Context<Self>) -> Result<(), Error> {
        self.count().map_err(|error| broken(&error, context))
    }

    fn count(&mut self) -> Result<(), StoreError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.parts.journal.take(self.follower, &mut buffer)?;
        for (number, payload) in Frames::new(&buffer) {
            carry::count(&mut self.book, number, payload, self.parts.store.as_ref())?;
        }
        if buffer.capacity() <= BUFFER {
            self.buffer = buffer;
        }
        Ok(())
    }

    fn grant(&mut self, AskHold(ask): AskHold, context: &mut Context<Self>) -> Result<Hold, Refusal> {
        self.catch_up(context).map_err(Refusal::Error)?;
        if self.book.holds() >= MAX_HOLDS {
            let error = Error::new(Kind::Unavailable, "too many calls with a budget run at once: try again");
            return Err(Refusal::Error(error.retry_in(Duration::from_secs(1))));
        }
        let at = self.parts.clock.now();
        let checked = self.book.check(&ask, at, Shelf(self.parts.store.as_ref()));
        checked.map_err(|error| Refusal::Error(broken(&error, context)))?.map_err(Refusal::Exhausted)?;
        let line = Line::Reserve { at, key: &ask.key_id, model: &ask.model_id, nanos: ask.nanos };
        let id = self.parts.journal.append(&line.encode()).map_err(|error| Refusal::Error(unwritten(&error)))?;
        let hold = Hold::new(&self.parts.journal, id, ask.nanos);
        // Counts the hold itself, before the next one is asked for.
        self.catch_up(context).map_err(Refusal::Error)?;
        Ok(hold)
    }

    fn sync(&mut self, context: &mut Context<Self>) {
        if self.syncing || !self.parts.journal.dirty() {
            return;
        }
        self.syncing = true;
        let journal = Arc::clone(&self.parts.journal);
        let sync = tokio::task::spawn_blocking(move || journal.sync()).into_actor(self);
        context.spawn(sync.map(|synced, actor, _| {
            actor.syncing = false;
            if let Ok(Err(error)) = synced {
                tracing::error!(%error, "the ledger's journal is not synced: a power cut would lose it");
            }
        }));
    }

    fn checkpoint(&mut self, context: &mut Context<Self>) {
        if self.saving || self.catch_up(context).is_err() {
            return;
        }
        let flushes = std::mem::take(&mut self.flushes);
        let Some(changes) = self.book.changes() else {
            return answer(flushes, &Ok(()));
        };
        self.saving = true;
        // So that it can go as a whole, once this is in the store.
        self.parts.journal.rotate();
        let line = changes.head.line;
        let save = carry::save(Arc::clone(&self.parts.store), Arc::clone(&self.parts.journal), changes);
        context.spawn(save.into_actor(self).map(move |saved, actor, context| {
            actor.saving = false;
            match &saved {
                Ok(()) => {
                    actor.book.saved(line);
                    let journal = Arc::clone(&actor.parts.journal);
                    tokio::task::spawn_blocking(move || journal.remove_through(line));
                }
                Err(error) => tracing::warn!(%error, "the ledger stays in its journal for now"),
            }
            answer(flushes, &saved);
            if !actor.flushes.is_empty() {
                actor.checkpoint(context);
            }
        }));
    }

    fn sweep(&self) {
        let (store, now) = (Arc::clone(&self.parts.store), self.parts.clock.now());
        actix_rt::spawn(async move {
            let reader = Arc::clone(&store);
            let old = tokio::task::spawn_blocking(move || carry::sweep(reader.as_ref(), now)).await;
            let old = old.unwrap_or_else(|_| Err(StoreError::Io("a read of the ledger ended early".to_owned())));
            let swept = async {
                for batch in old? {
                    store.commit(batch).await?;
                }
                Ok::<(), StoreError>(())
            };
            if let Err(error) = swept.await {
                tracing::warn!(%error, "old rows of the ledger not cleared away");
            }
        });
    }

    /// Queues what is not in the store. Nobody is left to hear whether it got there: the journal has it too.
    fn last_words(&mut self) -> Result<(), StoreError> {
        self.count()?;
        let Some(changes) = self.book.changes() else { return Ok(()) };
        self.parts.journal.sync()?;
        // A commit is queued by the call; dropping its future does not undo it.
        carry::batches(changes)?.into_iter().for_each(|batch| drop(self.parts.store.commit(batch)));
        Ok(())
    }
}

fn answer(waiters: Waiters, outcome: &Result<(), StoreError>) {
    for waiter in waiters {
        // One that no longer waits is no error.
        let _ = waiter.send(outcome.clone().map_err(Error::from));
    }
}

fn broken(error: &StoreError, context: &mut Context<LedgerActor>) -> Error {
    tracing::error!(%error, "the ledger must be read back");
    context.stop();
    Error::new(Kind::Unavailable, "the ledger is restarting").retry_in(Duration::from_secs(1))
}

fn unwritten(error: &StoreError) -> Error {
    let why = format!("the ledger cannot be written now ({error}), so nothing may be spent: try again");
    Error::new(Kind::Unavailable, why).retry_in(Duration::from_secs(10))
}

impl Actor for LedgerActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        let options = &self.parts.options;
        context.run_interval(options.sync_every, |actor, context| {
            // An error ends the actor.
            let _ = actor.catch_up(context);
            actor.sync(context);
        });
        context.run_interval(options.checkpoint_every, Self::checkpoint);
        context.run_interval(options.sweep_every, |actor, _| actor.sweep());
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        // A panicking actor is stopped too, and what it holds is not to be trusted.
        if !std::thread::panicking()
            && let Err(error) = self.last_words()
        {
            tracing::warn!(%error, "the ledger stays in its journal");
        }
    }
}

impl Handler<AskHold> for LedgerActor {
    type Result = Result<Hold, Refusal>;

    fn handle(&mut self, ask: AskHold, context: &mut Context<Self>) -> Self::Result {
        self.grant(ask, context)
    }
}

impl Handler<AskBudgets> for LedgerActor {
    type Result = Result<Budgets, Error>;

    fn handle(&mut self, ask: AskBudgets, context: &mut Context<Self>) -> Self::Result {
        self.catch_up(context)?;
        let (now, store) = (self.parts.clock.now(), Shelf(self.parts.store.as_ref()));
        let key = self.book.view(Budget::Key, &ask.key_id, ask.key_limit, now, store)?;
        let model = self.book.view(Budget::Model, &ask.model_id, ask.model_limit, now, store)?;
        Ok(Budgets { key, model })
    }
}

impl Handler<AskRows> for LedgerActor {
    type Result = Result<Vec<(RowKey, RowRecord)>, Error>;

    fn handle(&mut self, AskRows(query): AskRows, context: &mut Context<Self>) -> Self::Result {
        self.catch_up(context)?;
        Ok(self.book.rows(|key| query.takes(key)))
    }
}

impl Handler<AskStatus> for LedgerActor {
    type Result = Result<LedgerStatus, Error>;

    fn handle(&mut self, _: AskStatus, context: &mut Context<Self>) -> Self::Result {
        self.catch_up(context)?;
        Ok(LedgerStatus {
            cached: self.book.cached(),
            open_holds: self.book.holds(),
            unsaved: self.book.unsaved(),
            torn_bytes: self.torn_bytes,
            journal: self.parts.journal.stats(),
        })
    }
}

impl Handler<Flush> for LedgerActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, _: Flush, context: &mut Context<Self>) -> Self::Result {
        let (to, flushed) = oneshot::channel();
        self.flushes.push(to);
        self.checkpoint(context);
        Box::pin(async move {
            let gone = || Error::new(Kind::Unavailable, "the ledger is restarting").retry_in(Duration::from_secs(1));
            flushed.await.unwrap_or_else(|_| Err(gone()))
        })
    }
}
