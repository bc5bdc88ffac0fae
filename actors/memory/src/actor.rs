//! The actor that writes: a thin shell around what a change brings with it, and the order of what was decided.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use futures::FutureExt;
use muster_store::{Batch, StoreError, StoreHandle};

use super::answers::Waiting;
use super::decision::{self, Decision, Reply, Then};
use super::facade::MemoryOptions;
use super::forget::{self, Forgetting};
use super::port::{Applied, Taken};
use super::record::{EntryRecord, Owner, Place};
use super::retell;
use super::state::Turn;
use super::stored;
use super::sweep::Sweep;
use super::tallies::Tallies;
use muster_core::journal::{Committed, Journal, Journalled};
use muster_core::supervise::BuildError;
use muster_core::{Error, Millis};

/// How often it looks at what has expired.
const TICK: Duration = Duration::from_secs(1);
/// How long an answer waits for the indexes.
const INDEXING: Duration = Duration::from_secs(2);
/// How long one waits that is not true before they are done.
const PATIENT: Duration = Duration::from_secs(30);

/// Writes entries.
pub(super) struct MemoryWriter {
    pub(super) options: MemoryOptions,
    journal: Journal<Decision>,
    /// What stands at places of which a decision is not durable yet, and that decision's number.
    overlay: HashMap<Place, (u64, Option<Arc<EntryRecord>>)>,
    pub(super) tallies: Tallies,
    /// First answers that are not durable yet.
    pub(super) answers: HashMap<(String, String), Waiting>,
    /// Of the last change.
    seq: u64,
    /// Of the last change that was handed to the indexes. Outlives the actor.
    told: Arc<AtomicU64>,
    /// What an incarnation before stored, and did not hand over any more.
    untold: Vec<Applied>,
    pub(super) sweep: Sweep,
    pub(super) forgetting: HashMap<Owner, Forgetting>,
}

impl std::fmt::Debug for MemoryWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryWriter").field("seq", &self.seq).finish_non_exhaustive()
    }
}

/// Reads back what it needs to go on.
pub(super) async fn load(options: MemoryOptions, told: Arc<AtomicU64>) -> Result<MemoryWriter, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let (store, known) = (Arc::clone(&options.store), told.load(Ordering::Acquire));
    let (seq, untold, forgetting) = tokio::task::spawn_blocking(move || {
        let seq = stored::last_change(&store)?;
        Ok::<_, StoreError>((seq, retell::changes(&store, known)?, forget::under_way(&store)?))
    })
    .await??;
    Ok(MemoryWriter {
        options,
        journal,
        overlay: HashMap::new(),
        tallies: Tallies::default(),
        answers: HashMap::new(),
        seq,
        told,
        untold,
        sweep: Sweep::default(),
        forgetting,
    })
}

impl Actor for MemoryWriter {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        let untold = std::mem::take(&mut self.untold);
        self.tell(untold, Replies::default());
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
        let (mut all, mut replies) = (Vec::new(), Replies::default());
        for Decision { applied, then, .. } in decisions {
            all.extend(applied);
            then.into_iter().for_each(|each| self.act(each, last, &mut replies, context));
        }
        self.tell(all, replies);
    }

    fn on_failed(&mut self, decisions: Vec<Decision>, error: &Error) {
        for effect in decisions.into_iter().flat_map(|decision| decision.then) {
            if let Then::Reply(reply) | Then::PatientReply(reply) = effect {
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
            self.tallies.ease();
        }
        if self.options.store.writable().is_ok() {
            self.begin_sweep();
            self.resume_forgetting(context);
        }
        self.flush(context);
    }

    /// What stands at a place after everything that was decided, expired or not. Figures of its space are at hand then.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn present(&mut self, place: &Place) -> Result<Option<Arc<EntryRecord>>, StoreError> {
        self.tallies.hold(&self.options.store, &place.space)?;
        match self.overlay.get(place) {
            Some((_, there)) => Ok(there.clone()),
            None => Ok(stored::entry(&self.options.store, place)?.map(Arc::new)),
        }
    }

    pub(super) fn turn(&self) -> Turn {
        Turn::new(self.now(), self.seq)
    }

    /// Takes a turn over: from now on it is what the next one finds.
    pub(super) fn take(&mut self, turn: Turn, into: &mut Decision) {
        for (space, delta) in turn.deltas {
            into.tallies.extend(self.tallies.count(&space, delta));
        }
        (self.seq, into.seq) = (turn.seq, turn.seq);
        into.ops.extend(turn.ops);
        into.applied.extend(turn.applied);
        for (place, there) in turn.there {
            into.then.push(Then::Settled(place.clone()));
            self.overlay.insert(place, (self.journal.next_number(), there));
        }
    }

    /// Hands a decision over to be written.
    pub(super) fn seal(&mut self, mut decision: Decision) {
        let ops = std::mem::take(&mut decision.ops);
        if ops.is_empty() {
            decision.seq = 0;
        }
        self.journal.push(ops, decision);
    }

    /// What is in memory cannot be stored: started again, the actor has what is.
    pub(super) fn fault(&mut self, error: &StoreError) {
        tracing::error!(%error, "a change of memory cannot be written");
        self.journal.fail(error.clone());
    }

    /// Does what waited for a decision to be durable.
    fn act(&mut self, then: Then, last: u64, replies: &mut Replies, context: &mut Context<Self>) {
        match then {
            Then::Reply(reply) => replies.soon.push(reply),
            Then::PatientReply(reply) => replies.patient.push(reply),
            Then::Settled(place) => {
                if self.overlay.get(&place).is_some_and(|(decided, _)| *decided <= last) {
                    self.overlay.remove(&place);
                }
            }
            Then::Answered(key) => drop(self.answers.remove(&key)),
            Then::Swept => self.swept(),
            Then::Forget(owner) => self.forget_next(&owner, context),
        }
    }

    /// Hands durable changes to the indexes, and answers once they have them or that takes too long.
    fn tell(&self, applied: Vec<Applied>, replies: Replies) {
        let Replies { soon, patient } = replies;
        let Some(last) = applied.last().map(|applied| applied.seq) else {
            return soon.into_iter().chain(patient).for_each(|reply| reply(Ok(Taken::All)));
        };
        let taken = self.options.index.apply(applied.into()).shared();
        self.told.fetch_max(last, Ordering::AcqRel);
        for (replies, patience) in [(soon, INDEXING), (patient, PATIENT)] {
            if replies.is_empty() {
                continue;
            }
            let taken = taken.clone();
            // Beside the actor: its end keeps nobody from an answer that is true.
            actix_rt::spawn(async move {
                let taken = tokio::time::timeout(patience, taken).await.unwrap_or(Taken::Partly);
                replies.into_iter().for_each(|reply| reply(Ok(taken)));
            });
        }
    }
}

/// Who waits for the indexes to have what is durable.
#[derive(Default)]
struct Replies {
    soon: Vec<Reply>,
    patient: Vec<Reply>,
}
