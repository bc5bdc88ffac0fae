//! Background embedding: computes missing vectors of entries, round-robin between owners.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, WrapFuture};
use muster_store::StoreHandle;
use tokio::time::{Instant, timeout};

use super::back_off::BackOff;
use super::counters::Counters;
use super::round_robin::{group_by_owner, interleave};
use super::{Backlog, EmbedFault, Embedder, ModelTag, Readiness, normalize, texts};
use crate::port::{NewVector, PutVectors};
use crate::record::{EntryId, EntryRecord, Owner, Space};
use crate::stored;
use muster_core::Clock;

/// Texts per round, which is stored as a whole.
const ROUND: usize = 32;
/// Texts per call of the model: a query waits for at most one call.
const BATCH: usize = 8;
/// Maximum number of times a too long text is halved.
const HALVINGS: u32 = 5;
/// Maximum number of entries that are deferred.
const MAX_DEFERRED: usize = 4_096;
/// First deferral of an entry that the model rejects: it is multiplied by four each time, up to an hour ...
const REJECTION_WAIT: Duration = Duration::from_secs(30);
const MAX_REJECTION_WAIT: Duration = Duration::from_secs(3_600);
/// ... and deferral of an entry that has disappeared, or was reported without a vector although it has one.
const SHORT_WAIT: Duration = Duration::from_secs(30);
/// Interval at which the backlog is polled without a notification.
const POLL_EVERY: Duration = Duration::from_secs(60);
/// Longest wait for queries before a call.
const QUERY_WAIT: Duration = Duration::from_secs(2);

/// Dependencies of the feeder.
#[derive(Clone)]
pub(super) struct FeederDeps {
    pub(super) store: StoreHandle,
    pub(super) clock: Clock,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) backlog: Arc<dyn Backlog>,
    pub(super) put: Arc<dyn PutVectors>,
    pub(super) counts: Arc<Counters>,
}

/// Actor that runs the feeding loop.
pub struct Feeder(FeederDeps);

impl std::fmt::Debug for Feeder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feeder").finish_non_exhaustive()
    }
}

impl Feeder {
    pub(super) fn new(dependencies: FeederDeps) -> Self {
        Self(dependencies)
    }
}

impl Actor for Feeder {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        let rounds = Rounds {
            model: self.0.embedder.model(),
            dependencies: self.0.clone(),
            deferred: BTreeMap::new(),
            rejected: BTreeMap::new(),
            last: None,
        };
        context.spawn(rounds.run().into_actor(self));
    }
}

struct Rounds {
    dependencies: FeederDeps,
    model: ModelTag,
    /// Deferred entries, and until when.
    deferred: BTreeMap<EntryId, Instant>,
    /// Number of rejections by the model, by entry.
    rejected: BTreeMap<EntryId, u32>,
    /// Owner that was served last.
    last: Option<Owner>,
}

/// An entry of a round.
struct Entry {
    record: EntryRecord,
    vectors: Vec<Vec<f32>>,
    rejected: Option<String>,
}

/// Outcome of a round.
enum Round {
    Nothing,
    Stored,
    Failed(String),
}

impl Rounds {
    async fn run(mut self) {
        let mut back_off = BackOff::default();
        let wake = self.dependencies.backlog.wake();
        loop {
            let changed = self.dependencies.embedder.changed();
            if let Readiness::NotReady { why } = self.dependencies.embedder.ready() {
                self.dependencies.counts.set_fault(Some(why));
                let _ = timeout(POLL_EVERY, changed).await;
                continue;
            }
            match self.round().await {
                Round::Nothing => {
                    self.dependencies.counts.set_fault(None);
                    let _ = timeout(POLL_EVERY, wake.notified()).await;
                }
                Round::Stored => {
                    self.dependencies.counts.set_fault(None);
                    back_off.succeeded();
                }
                Round::Failed(why) => {
                    let wait = back_off.failed();
                    tracing::warn!(why, wait_ms = wait.as_millis(), "entries have no vectors yet");
                    self.dependencies.counts.failures.fetch_add(1, Ordering::Relaxed);
                    self.dependencies.counts.set_fault(Some(why));
                    // A changed model is tried at once.
                    let _ = timeout(wait, changed).await;
                }
            }
        }
    }

    /// Runs one round: all of it is stored, or nothing if the model fails as a whole.
    async fn round(&mut self) -> Round {
        let mut entries = match self.pick().await {
            Ok(entries) if entries.is_empty() => return Round::Nothing,
            Ok(entries) => entries,
            Err(why) => return Round::Failed(why),
        };
        let texts: Vec<(usize, String)> = entries.iter().enumerate().flat_map(texts_of).collect();
        let mut broken = None;
        for batch in texts.chunks(BATCH) {
            if let Err(fault) = self.batch(batch, &mut entries).await {
                broken = Some(fault.to_string());
                break;
            }
        }
        let (mut vectors, mut rejected) = (Vec::new(), Vec::new());
        for entry in if broken.is_some() { Vec::new() } else { entries } {
            let why = entry.rejected.map_or(Ok(()), Err);
            match why.and_then(|()| normalize::mean(&entry.vectors, self.model.dimensions)) {
                Ok(vector) => vectors.push(NewVector {
                    id: entry.record.id,
                    version: entry.record.version,
                    place: entry.record.place,
                    model: Arc::clone(&self.model.id),
                    vector,
                }),
                Err(why) => rejected.push((entry.record.id, why)),
            }
        }
        // If it rejects everything, the model is at fault rather than a text, unless the text was rejected before.
        let fresh = rejected.iter().find(|(id, _)| !self.rejected.contains_key(id)).map(|(_, why)| why.clone());
        match (broken, fresh) {
            (Some(why), _) => Round::Failed(why),
            (None, Some(why)) if vectors.is_empty() => Round::Failed(why),
            _ => self.store(vectors, rejected).await,
        }
    }

    async fn store(&mut self, vectors: Vec<NewVector>, rejected: Vec<(EntryId, String)>) -> Round {
        for (id, why) in rejected {
            tracing::warn!(entry = %id, why, "the model rejects an entry: it is found by its words only");
            self.dependencies.counts.rejected.fetch_add(1, Ordering::Relaxed);
            self.defer_rejected(id);
        }
        if vectors.is_empty() {
            return Round::Stored;
        }
        let ids: Vec<EntryId> = vectors.iter().map(|vector| vector.id).collect();
        match self.dependencies.put.put_vectors(vectors).await {
            Ok(stored) => {
                self.rejected.retain(|id, _| !ids.contains(id));
                self.dependencies.counts.entries.fetch_add(stored as u64, Ordering::Relaxed);
                if stored < ids.len() {
                    // Replaced or deleted meanwhile: the index will learn of it shortly.
                    ids.into_iter().for_each(|id| self.defer(id, Duration::from_millis(100)));
                }
                Round::Stored
            }
            Err(error) => Round::Failed(error.to_string()),
        }
    }

    /// Selects the entries of the next round.
    async fn pick(&mut self) -> Result<Vec<Entry>, String> {
        let now = Instant::now();
        self.deferred.retain(|_, until| *until > now);
        let missing_vectors = self.dependencies.backlog.missing_vectors(ROUND + self.deferred.len()).await;
        let open = missing_vectors.into_iter().filter(|(_, id)| !self.deferred.contains_key(id));
        let next =
            interleave(group_by_owner(open, |(space, _): &(Space, _)| space.owner.clone(), self.last.as_ref()), ROUND);
        let (mut entries, mut count, mut taken) = (Vec::new(), 0, BTreeSet::new());
        for (space, id) in next {
            if count >= ROUND || !taken.insert(id) {
                continue;
            }
            match self.read(&space.owner, id)? {
                Some(record) => {
                    count += texts::of_entry(&record).len();
                    self.last = Some(space.owner);
                    entries.push(Entry { record, vectors: Vec::new(), rejected: None });
                }
                None => self.defer(id, SHORT_WAIT),
            }
        }
        Ok(entries)
    }

    /// Returns the entry if it still needs a vector.
    fn read(&self, owner: &Owner, id: EntryId) -> Result<Option<EntryRecord>, String> {
        let store = &self.dependencies.store;
        let record = stored::entry_by_id(store, owner, id).map_err(|error| error.to_string())?;
        let now = self.dependencies.clock.now();
        let Some(record) = record.filter(|record| !record.expired(now)) else { return Ok(None) };
        let known = stored::vector(store, id).map_err(|error| error.to_string())?;
        let is_current =
            known.is_some_and(|known| known.model == self.model.id && record.is_vector_valid(known.version));
        Ok((!is_current).then_some(record))
    }

    async fn batch(&self, batch: &[(usize, String)], entries: &mut [Entry]) -> Result<(), EmbedFault> {
        let texts = batch.iter().map(|(_, text)| text.clone()).collect();
        match self.compute(texts).await {
            Ok(vectors) => {
                for ((entry, _), vector) in batch.iter().zip(vectors) {
                    entries.get_mut(*entry).into_iter().for_each(|entry| entry.vectors.push(vector.clone()));
                }
                return Ok(());
            }
            Err(EmbedFault::TooLong { .. } | EmbedFault::Failed { .. }) => {}
            Err(fault) => return Err(fault),
        }
        // At least one text is at fault: they are computed one by one.
        for (entry, text) in batch {
            if let Some(entry) = entries.get_mut(*entry) {
                self.compute_one(text, entry).await?;
            }
        }
        Ok(())
    }

    async fn compute_one(&self, text: &str, entry: &mut Entry) -> Result<(), EmbedFault> {
        let mut texts = vec![(text.to_owned(), 0)];
        while let Some((text, halved)) = texts.pop() {
            match self.compute(vec![text.clone()]).await {
                Ok(vectors) => entry.vectors.extend(vectors),
                Err(EmbedFault::TooLong { .. }) if halved < HALVINGS => {
                    texts.extend(texts::halves(&text).map(|half| (half, halved + 1)));
                }
                Err(fault @ (EmbedFault::TooLong { .. } | EmbedFault::Failed { .. })) => {
                    entry.rejected = Some(fault.to_string());
                    return Ok(());
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    async fn compute(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedFault> {
        let counts = &self.dependencies.counts;
        let _ = timeout(QUERY_WAIT, counts.no_query()).await;
        let count = texts.len() as u64;
        let vectors = texts::compute(&self.dependencies.embedder, texts).await?;
        counts.texts.fetch_add(count, Ordering::Relaxed);
        match vectors.iter().find(|vector| vector.len() != self.model.dimensions) {
            None => Ok(vectors),
            Some(wrong) => Err(EmbedFault::Failed {
                why: format!(
                    "the model returned a vector of length {} instead of {}",
                    wrong.len(),
                    self.model.dimensions
                ),
            }),
        }
    }

    fn defer_rejected(&mut self, id: EntryId) {
        if self.rejected.len() >= MAX_DEFERRED {
            self.rejected.clear();
        }
        let times = self.rejected.entry(id).or_default();
        let wait = REJECTION_WAIT.saturating_mul(4_u32.saturating_pow(*times)).min(MAX_REJECTION_WAIT);
        *times += 1;
        self.defer(id, wait);
    }

    /// Defers an entry; if there are too many, the one that would be next is dropped.
    fn defer(&mut self, id: EntryId, time: Duration) {
        self.deferred.insert(id, Instant::now() + time);
        if self.deferred.len() > MAX_DEFERRED
            && let Some(next) = self.deferred.iter().min_by_key(|(_, until)| **until).map(|(id, _)| *id)
        {
            self.deferred.remove(&next);
        }
    }
}

fn texts_of((number, entry): (usize, &Entry)) -> Vec<(usize, String)> {
    texts::of_entry(&entry.record).into_iter().map(|text| (number, text)).collect()
}
