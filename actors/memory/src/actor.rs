//! Writer actor: applies changes in memory and hands decisions to the journal in order.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use futures::FutureExt;
use muster_store::{Batch, StoreError, StoreHandle};

use super::decision::{self, Decision, Effect, Reply};
use super::forget::{self, Forgetting};
use super::port::{Applied, ApplyOutcome};
use super::record::{EntryRecord, Owner, Place};
use super::republish;
use super::responses::StoredResponse;
use super::service::MemoryOptions;
use super::state::Transaction;
use super::stored;
use super::sweep::Sweep;
use super::usage_cache::UsageCache;
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled};
use muster_core::supervise::BuildError;
use muster_core::{Error, Millis};

/// Interval at which expired entries are swept.
const TICK: Duration = Duration::from_secs(1);
/// Maximum time that a response waits for the indexes.
const INDEX_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time that a response waits if it is only correct once the indexes are done.
const LONG_INDEX_TIMEOUT: Duration = Duration::from_secs(30);

/// Writes entries. The only writer of semantic memory.
pub(super) struct MemoryWriter {
    pub(super) options: MemoryOptions,
    journal: Journal<Decision>,
    /// Entries at places whose last decision is not durable yet, with that decision's number.
    overlay: HashMap<Place, (u64, Option<Arc<EntryRecord>>)>,
    pub(super) usages: UsageCache,
    /// First responses to idempotent requests that are not durable yet.
    pub(super) responses: PendingResponses<StoredResponse>,
    /// Number of the last change.
    seq: u64,
    /// Number of the last change passed to the indexes. Outlives the actor.
    announced: Arc<AtomicU64>,
    /// Changes that an earlier incarnation stored but did not pass to the indexes.
    unannounced: Vec<Applied>,
    pub(super) sweep: Sweep,
    pub(super) forgetting: HashMap<Owner, Forgetting>,
}

impl std::fmt::Debug for MemoryWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryWriter").field("seq", &self.seq).finish_non_exhaustive()
    }
}

/// Loads the state needed to continue.
pub(super) async fn load(options: MemoryOptions, announced: Arc<AtomicU64>) -> Result<MemoryWriter, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let (store, known) = (Arc::clone(&options.store), announced.load(Ordering::Acquire));
    let (seq, unannounced, forgetting) = tokio::task::spawn_blocking(move || {
        let seq = stored::last_change(&store)?;
        Ok::<_, StoreError>((seq, republish::changes(&store, known)?, forget::in_progress(&store)?))
    })
    .await??;
    Ok(MemoryWriter {
        options,
        journal,
        overlay: HashMap::new(),
        usages: UsageCache::default(),
        responses: PendingResponses::default(),
        seq,
        announced,
        unannounced,
        sweep: Sweep::default(),
        forgetting,
    })
}

impl Actor for MemoryWriter {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        let unannounced = std::mem::take(&mut self.unannounced);
        self.announce(unannounced, Replies::default());
        self.tick(context);
        context.run_interval(TICK, |actor, context| actor.tick(context));
    }
}

impl Journalled for MemoryWriter {
    type Effects = Decision;

    fn journal(&mut self) -> &mut Journal<Decision> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn next_batch(&mut self) -> Option<(u64, Batch)> {
        let (number, mut batch) = self.journal.next_batch()?;
        match decision::totals(self.journal.effects_of(number)) {
            Ok(ops) => batch.ops.extend(ops),
            Err(error) => {
                tracing::error!(%error, "the totals of a batch cannot be encoded");
                self.journal.reject(number, error);
                return None;
            }
        }
        Some((number, batch))
    }

    fn on_committed(&mut self, committed: Committed<Decision>, context: &mut Context<Self>) {
        let Committed { last, effects: decisions } = committed;
        self.responses.settle(last);
        let (mut all, mut replies) = (Vec::new(), Replies::default());
        for Decision { applied, effects, .. } in decisions {
            all.extend(applied);
            effects.into_iter().for_each(|each| self.run_effect(each, last, &mut replies, context));
        }
        self.announce(all, replies);
    }

    fn on_failed(&mut self, decisions: Vec<Decision>, error: &Error) {
        for effect in decisions.into_iter().flat_map(|decision| decision.effects) {
            if let Effect::Reply(reply) | Effect::PatientReply(reply) = effect {
                reply(Err(error.clone()));
            }
        }
    }
}

impl MemoryWriter {
    pub(super) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    fn tick(&mut self, context: &mut Context<Self>) {
        if self.journal.undurable() == 0 {
            self.usages.ease();
        }
        if self.options.store.writable().is_ok() {
            self.begin_sweep();
            self.resume_forgetting(context);
        }
        self.flush(context);
    }

    /// Returns the entry at a place after all decisions so far, expired or not, and loads the usage of its space.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn present(&mut self, place: &Place) -> Result<Option<Arc<EntryRecord>>, StoreError> {
        self.usages.hold(&self.options.store, &place.space)?;
        match self.overlay.get(place) {
            Some((_, entry)) => Ok(entry.clone()),
            None => Ok(stored::entry(&self.options.store, place)?.map(Arc::new)),
        }
    }

    /// Returns the number of the next decision.
    pub(super) fn next_decision(&self) -> u64 {
        self.journal.next_number()
    }

    pub(super) fn transaction(&self) -> Transaction {
        Transaction::new(self.now(), self.seq)
    }

    /// Applies a transaction to the in-memory state, so that the next one sees it, and adds it to a decision.
    pub(super) fn take(&mut self, transaction: Transaction, into: &mut Decision) {
        for (space, delta) in transaction.deltas {
            into.usages.extend(self.usages.count(&space, delta));
        }
        (self.seq, into.seq) = (transaction.seq, transaction.seq);
        into.ops.extend(transaction.ops);
        into.applied.extend(transaction.applied);
        for (place, entry) in transaction.entries {
            into.effects.push(Effect::Settled(place.clone()));
            self.overlay.insert(place, (self.journal.next_number(), entry));
        }
    }

    /// Submits a decision for writing.
    pub(super) fn seal(&mut self, mut decision: Decision) {
        let ops = std::mem::take(&mut decision.ops);
        if ops.is_empty() {
            decision.seq = 0;
        }
        self.journal.push(ops, decision);
    }

    /// Fails the journal because the in-memory state cannot be stored: the restarted actor loads the durable state.
    pub(super) fn fault(&mut self, error: &StoreError) {
        tracing::error!(%error, "a change of memory cannot be written");
        self.journal.fail(error.clone());
    }

    /// Runs an effect of a durable decision.
    fn run_effect(&mut self, effect: Effect, last: u64, replies: &mut Replies, context: &mut Context<Self>) {
        match effect {
            Effect::Reply(reply) => replies.soon.push(reply),
            Effect::PatientReply(reply) => replies.patient.push(reply),
            Effect::Settled(place) => {
                if self.overlay.get(&place).is_some_and(|(decided, _)| *decided <= last) {
                    self.overlay.remove(&place);
                }
            }

            Effect::SweepSlice => self.sweep_slice_stored(),
            Effect::Forget(owner) => self.forget_next(&owner, context),
        }
    }

    /// Passes durable changes to the indexes, and responds once they are indexed or the wait is over.
    fn announce(&self, applied: Vec<Applied>, replies: Replies) {
        let Replies { soon, patient } = replies;
        let Some(last) = applied.last().map(|applied| applied.seq) else {
            return soon.into_iter().chain(patient).for_each(|reply| reply(Ok(ApplyOutcome::Complete)));
        };
        let outcome = self.options.index.apply(applied.into()).shared();
        self.announced.fetch_max(last, Ordering::AcqRel);
        for (replies, patience) in [(soon, INDEX_TIMEOUT), (patient, LONG_INDEX_TIMEOUT)] {
            if replies.is_empty() {
                continue;
            }
            let outcome = outcome.clone();
            // Runs beside the actor: its end must not withhold a correct response.
            actix_rt::spawn(async move {
                let outcome = tokio::time::timeout(patience, outcome).await.unwrap_or(ApplyOutcome::Partial);
                replies.into_iter().for_each(|reply| reply(Ok(outcome)));
            });
        }
    }
}

/// Responses that wait until the indexes have the durable changes.
#[derive(Default)]
struct Replies {
    soon: Vec<Reply>,
    patient: Vec<Reply>,
}
