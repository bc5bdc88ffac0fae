//! The actor that follows the journal, grants holds, and writes changes to the store.
//!
//! It does not wait for the disk: a grant is one append without a sync, and everything else is asynchronous. Posts do
//! not wake it: it reads the journal before it replies, and ten times a second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use muster_store::{Frames, Journal, StoreError, StoreHandle};
use tokio::sync::oneshot;

use super::checkpoint::{self, Loaded};
use super::credit::{Credit, Payers};
use super::line::JournalLine;
use super::messages::{
    Attribution, BudgetRequest, BudgetView, Budgets, BudgetsRequest, DayRequest, Flush, Hold, HoldRequest,
    LedgerStatus, Refusal, Reserve, RowsRequest, StatusRequest,
};
use super::period::{Day, Month};
use super::record::{RecordReader, RowRecord};
use super::row::{Budget, Dimension, RowKey};
use super::service::LedgerOptions;
use super::state::LedgerState;
use crate::published::{BUSY_MILLIS, Published, Term};
use muster_core::supervise::{BuildError, Control};
use muster_core::{Clock, Error, Kind, Millis};

/// Maximum number of open holds: they are stored together in one record.
const MAX_HOLDS: usize = 6_000;
/// Maximum number of payers whose last request is remembered.
const MAX_RECENT: usize = 10_000;
/// A buffer that grew beyond this many bytes is not reused.
const BUFFER: usize = 1 << 20;

type Waiters = Vec<oneshot::Sender<Result<(), Error>>>;

/// Resources passed to every incarnation of the actor.
#[derive(Clone)]
pub(super) struct LedgerResources {
    pub(super) store: StoreHandle,
    pub(super) journal: Arc<Journal>,
    pub(super) clock: Clock,
    pub(super) options: LedgerOptions,
    pub(super) credits: Arc<Published<Credit>>,
}

/// Follows the journal, grants holds and writes checkpoints.
pub(crate) struct LedgerActor {
    resources: LedgerResources,
    ledger: LedgerState,
    follower: u64,
    torn_bytes: u64,
    buffer: Vec<u8>,
    syncing: bool,
    saving: bool,
    flushes: Waiters,
    /// Payers of recent holds, and when the last one was asked for.
    recent: HashMap<Payers, Millis>,
    /// Credits of which something is set aside.
    credits: HashMap<Payers, Arc<Credit>>,
}

impl std::fmt::Debug for LedgerActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerActor").field("applied", &self.ledger.applied()).finish_non_exhaustive()
    }
}

impl LedgerActor {
    pub(super) async fn build(resources: LedgerResources, _: Control) -> Result<Self, BuildError> {
        // Those of an earlier incarnation.
        for credit in resources.credits.take_all() {
            credit.withdraw();
        }
        let (store, journal) = (Arc::clone(&resources.store), Arc::clone(&resources.journal));
        let Loaded { ledger, follower, torn_bytes } =
            tokio::task::spawn_blocking(move || checkpoint::load(store.as_ref(), &journal)).await??;
        Ok(Self {
            resources,
            ledger,
            follower,
            torn_bytes,
            buffer: Vec::new(),
            syncing: false,
            saving: false,
            flushes: Waiters::new(),
            recent: HashMap::new(),
            credits: HashMap::new(),
        })
    }

    /// Applies the journal lines written since the last call. If that fails, the state in memory cannot be trusted: the
    /// actor stops, and its next incarnation restores everything.
    fn catch_up(&mut self, context: &mut Context<Self>) -> Result<(), Error> {
        self.count().map_err(|error| stop_broken(&error, context))
    }

    fn count(&mut self) -> Result<(), StoreError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.resources.journal.take(self.follower, &mut buffer)?;
        for (number, payload) in Frames::new(&buffer) {
            checkpoint::count(&mut self.ledger, number, payload, self.resources.store.as_ref())?;
        }
        if buffer.capacity() <= BUFFER {
            self.buffer = buffer;
        }
        Ok(())
    }

    fn grant(&mut self, request: &Reserve, context: &mut Context<Self>) -> Result<Hold, Refusal> {
        self.catch_up(context).map_err(Refusal::Error)?;
        if self.ledger.holds() >= MAX_HOLDS {
            let error = Error::new(Kind::Unavailable, "too many calls with a budget are in progress: try again");
            return Err(Refusal::Error(error.retry_in(Duration::from_secs(1))));
        }
        let at = self.resources.clock.now();
        let payers = Payers::of(request);
        // Another caller's request may have led to a credit while this one was on its way.
        if let Some(drawn) = draw(&self.resources.credits, &self.resources.journal, request, &payers, at) {
            return drawn;
        }
        let granted = self.decide(request, &payers, at);
        let id = granted.map_err(|error| Refusal::Error(stop_broken(&error, context)))??;
        let hold = Hold::new(&self.resources.journal, id, request.nanos);
        // Applies the hold itself, before the next one is requested.
        self.ledger.expect_own(id);
        self.catch_up(context).map_err(Refusal::Error)?;
        self.extend_credit(request, payers, at).map_err(|error| Refusal::Error(stop_broken(&error, context)))?;
        Ok(hold)
    }

    /// Writes the line of a hold if the budgets are sufficient; returns its number.
    fn decide(&mut self, request: &Reserve, payers: &Payers, at: Millis) -> Result<Result<u64, Refusal>, StoreError> {
        self.withdraw(payers)?;
        let store = Arc::clone(&self.resources.store);
        let mut checked = self.ledger.check(request, at, RecordReader(store.as_ref()))?;
        if checked.is_err() {
            // What is set aside for other payers of the same budgets may be all that is missing.
            self.withdraw_where(|_| true)?;
            checked = self.ledger.check(request, at, RecordReader(store.as_ref()))?;
        }
        if let Err(exhausted) = checked {
            return Ok(Err(Refusal::Exhausted(exhausted)));
        }
        Ok(write_hold(&self.resources.journal, request, at))
    }

    /// Sets money aside for the next calls if the previous one was a moment ago.
    fn extend_credit(&mut self, request: &Reserve, payers: Payers, at: Millis) -> Result<(), StoreError> {
        if self.recent.len() >= MAX_RECENT {
            self.recent.clear();
        }
        let before = self.recent.insert(payers.clone(), at);
        let busy = before.is_some_and(|before| at < Millis(before.0.saturating_add(BUSY_MILLIS)));
        let free = self.resources.credits.is_free_for(&payers, |there| there.payers == payers);
        if !busy || !free || self.ledger.holds() >= MAX_HOLDS / 2 {
            return Ok(());
        }
        let store = Arc::clone(&self.resources.store);
        if let Some(nanos) = self.ledger.set_ahead(request, at, RecordReader(store.as_ref()))? {
            let term = Term::from(at.0).until_at_most(Month::of(at).end().0);
            let credit = Arc::new(Credit::new(request, payers.clone(), nanos, term));
            self.resources.credits.publish(&payers, Arc::clone(&credit));
            self.credits.insert(payers, credit);
        }
        Ok(())
    }

    /// Withdraws the credit of a payer; lines of what was drawn may still be to be applied.
    fn withdraw(&mut self, payers: &Payers) -> Result<(), StoreError> {
        let Some(credit) = self.credits.get(payers) else { return Ok(()) };
        let unused = credit.withdraw();
        self.ledger.release_ahead(payers, unused, RecordReader(self.resources.store.as_ref()))?;
        if !self.ledger.has_ahead(payers) {
            self.credits.remove(payers);
        }
        Ok(())
    }

    /// Withdraws all credits, or those that are over.
    fn withdraw_where(&mut self, over: impl Fn(&Credit) -> bool) -> Result<(), StoreError> {
        let over = self.credits.iter().filter(|(_, credit)| over(credit)).map(|(payers, _)| payers.clone());
        for payers in over.collect::<Vec<_>>() {
            self.withdraw(&payers)?;
            self.resources.credits.remove(&payers, |there| there.payers == payers);
        }
        Ok(())
    }

    fn sync(&mut self, context: &mut Context<Self>) {
        if self.syncing || !self.resources.journal.dirty() {
            return;
        }
        self.syncing = true;
        let journal = Arc::clone(&self.resources.journal);
        let sync = tokio::task::spawn_blocking(move || journal.sync()).into_actor(self);
        context.spawn(sync.map(|synced, actor, _| {
            actor.syncing = false;
            if let Ok(Err(error)) = synced {
                tracing::error!(%error, "could not sync the ledger's journal: a power cut would lose recent entries");
            }
        }));
    }

    fn checkpoint(&mut self, context: &mut Context<Self>) {
        if self.saving || self.catch_up(context).is_err() {
            return;
        }
        let flushes = std::mem::take(&mut self.flushes);
        let Some(changes) = self.ledger.changes() else {
            return reply_to_all(flushes, &Ok(()));
        };
        self.saving = true;
        // So that the file can be removed as a whole once the checkpoint is in the store.
        self.resources.journal.rotate();
        let line = changes.head.line;
        let save = checkpoint::save(Arc::clone(&self.resources.store), Arc::clone(&self.resources.journal), changes);
        context.spawn(save.into_actor(self).map(move |saved, actor, context| {
            actor.saving = false;
            match &saved {
                Ok(()) => {
                    actor.ledger.saved(line);
                    let journal = Arc::clone(&actor.resources.journal);
                    tokio::task::spawn_blocking(move || journal.remove_through(line));
                }
                Err(error) => {
                    tracing::warn!(%error, "could not write the ledger to the store: it remains in its journal")
                }
            }
            reply_to_all(flushes, &saved);
            if !actor.flushes.is_empty() {
                actor.checkpoint(context);
            }
        }));
    }

    fn sweep(&self) {
        let (store, now) = (Arc::clone(&self.resources.store), self.resources.clock.now());
        actix_rt::spawn(async move {
            let reader = Arc::clone(&store);
            let old = tokio::task::spawn_blocking(move || checkpoint::sweep(reader.as_ref(), now)).await;
            let old = old.unwrap_or_else(|_| Err(StoreError::Io("a read of the ledger ended early".to_owned())));
            let swept = async {
                for batch in old? {
                    store.commit(batch).await?;
                }
                Ok::<(), StoreError>(())
            };
            if let Err(error) = swept.await {
                tracing::warn!(%error, "could not remove old rows of the ledger");
            }
        });
    }

    /// Queues what is not in the store. Nobody waits for the result: the journal contains it as well.
    fn write_changes(&mut self) -> Result<(), StoreError> {
        self.count()?;
        let Some(changes) = self.ledger.changes() else { return Ok(()) };
        self.resources.journal.sync()?;
        // A commit is queued by the call; dropping its future does not cancel it.
        checkpoint::batches(changes)?.into_iter().for_each(|batch| drop(self.resources.store.commit(batch)));
        Ok(())
    }
}

fn reply_to_all(waiters: Waiters, outcome: &Result<(), StoreError>) {
    for waiter in waiters {
        // The caller may no longer wait.
        let _ = waiter.send(outcome.clone().map_err(Error::from));
    }
}

fn stop_broken(error: &StoreError, context: &mut Context<LedgerActor>) -> Error {
    tracing::error!(%error, "the ledger must be restored");
    context.stop();
    Error::new(Kind::Unavailable, "the ledger is restarting").retry_in(Duration::from_secs(1))
}

/// Writes the line of a hold; returns its number.
fn write_hold(journal: &Journal, request: &Reserve, at: Millis) -> Result<u64, Refusal> {
    let line = JournalLine::Reserve { at, key: &request.key_id, model: &request.model_id, nanos: request.nanos };
    let attribution = Attribution { owner: &request.owner, team: &request.team, ..Attribution::default() };
    journal.append(&line.encode_for(attribution, 0)).map_err(write_failed)
}

/// Draws a hold from a credit; `None` if the actor must be asked.
pub(super) fn draw(
    credits: &Published<Credit>,
    journal: &Arc<Journal>,
    request: &Reserve,
    payers: &Payers,
    now: Millis,
) -> Option<Result<Hold, Refusal>> {
    let credit = credits.find(payers, |credit| credit.payers == *payers)?;
    if !credit.draw(request, now) {
        return None;
    }
    let written = write_hold(journal, request, now);
    if written.is_err() {
        credit.give_back(request.nanos);
    }
    Some(written.map(|id| Hold::new(journal, id, request.nanos)))
}

/// A hold that is not in the journal is not granted: after a crash nothing would account for it.
fn write_failed(error: StoreError) -> Refusal {
    tracing::warn!(%error, "a hold of the ledger was not written");
    Refusal::Error(error.into())
}

impl Actor for LedgerActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        let options = &self.resources.options;
        context.run_interval(options.sync_every, |actor, context| {
            let now = actor.resources.clock.now();
            // An error stops the actor.
            if actor.catch_up(context).is_ok()
                && let Err(error) = actor.withdraw_where(|credit| credit.has_ended(now))
            {
                stop_broken(&error, context);
            }
            actor.sync(context);
        });
        context.run_interval(options.checkpoint_every, Self::checkpoint);
        context.run_interval(options.sweep_every, |actor, _| actor.sweep());
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        // A panicking actor is stopped as well, and its state cannot be trusted.
        if !std::thread::panicking()
            && let Err(error) = self.write_changes()
        {
            tracing::warn!(%error, "could not write the ledger to the store: it remains in its journal");
        }
    }
}

impl Handler<HoldRequest> for LedgerActor {
    type Result = Result<Hold, Refusal>;

    fn handle(&mut self, request: HoldRequest, context: &mut Context<Self>) -> Self::Result {
        self.grant(&request.0, context)
    }
}

impl Handler<BudgetsRequest> for LedgerActor {
    type Result = Result<Budgets, Error>;

    fn handle(&mut self, request: BudgetsRequest, context: &mut Context<Self>) -> Self::Result {
        self.catch_up(context)?;
        let (now, store) = (self.resources.clock.now(), RecordReader(self.resources.store.as_ref()));
        let key = self.ledger.view(Budget::Key, &request.key_id, request.key_limit, now, store)?;
        let model = self.ledger.view(Budget::Model, &request.model_id, request.model_limit, now, store)?;
        Ok(Budgets { key, model })
    }
}

impl Handler<BudgetRequest> for LedgerActor {
    type Result = Result<BudgetView, Error>;

    fn handle(&mut self, request: BudgetRequest, context: &mut Context<Self>) -> Self::Result {
        self.catch_up(context)?;
        let (now, store) = (self.resources.clock.now(), RecordReader(self.resources.store.as_ref()));
        Ok(self.ledger.view(request.budget, &request.id, request.limit, now, store)?)
    }
}

impl Handler<RowsRequest> for LedgerActor {
    type Result = Result<Vec<(RowKey, RowRecord)>, Error>;

    fn handle(&mut self, RowsRequest(query): RowsRequest, context: &mut Context<Self>) -> Self::Result {
        self.catch_up(context)?;
        Ok(self.ledger.rows(|key| query.matches(key)))
    }
}

impl Handler<DayRequest> for LedgerActor {
    type Result = Result<(Vec<(RowKey, RowRecord)>, Option<Day>), Error>;

    fn handle(&mut self, DayRequest(day): DayRequest, context: &mut Context<Self>) -> Self::Result {
        self.catch_up(context)?;
        let rows = self.ledger.rows(|key| key.day == day && key.dimension == Dimension::Key);
        Ok((rows, self.ledger.oldest_hold()))
    }
}

impl Handler<StatusRequest> for LedgerActor {
    type Result = Result<LedgerStatus, Error>;

    fn handle(&mut self, _: StatusRequest, context: &mut Context<Self>) -> Self::Result {
        self.catch_up(context)?;
        Ok(LedgerStatus {
            cached: self.ledger.cached(),
            open_holds: self.ledger.holds(),
            unsaved: self.ledger.unsaved(),
            torn_bytes: self.torn_bytes,
            journal: self.resources.journal.stats(),
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
            let restarting =
                || Error::new(Kind::Unavailable, "the ledger is restarting").retry_in(Duration::from_secs(1));
            flushed.await.unwrap_or_else(|_| Err(restarting()))
        })
    }
}
