//! Background embedding: computes missing vectors of entries, round-robin between owners.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, WrapFuture};
use muster_store::StoreHandle;
use tokio::time::{Instant, timeout};

use super::back_off::BackOff;
use super::fair::{interleave, lines};
use super::figures::Counts;
use super::{Backlog, EmbedFault, Embedder, ModelTag, Readiness, lengths, texts};
use crate::port::{NewVector, PutVectors};
use crate::record::{EntryId, EntryRecord, Owner, Space};
use crate::stored;
use muster_core::Clock;

/// Texts per round, which is stored as a whole.
const ROUND: usize = 32;
/// Texts per call of the model: a query waits for at most one call.
const PIECE: usize = 8;
/// Maximum number of times a too long text is halved.
const HALVINGS: u32 = 5;
/// Maximum number of entries that are deferred.
const MOST_SKIPPED: usize = 4_096;
/// First deferral of an entry that the model rejects: it is multiplied by four each time, up to an hour ...
const REFUSED: Duration = Duration::from_secs(30);
const REFUSED_MOST: Duration = Duration::from_secs(3_600);
/// ... and deferral of an entry that has disappeared, or was reported without a vector although it has one.
const PASSING: Duration = Duration::from_secs(30);
/// Interval at which the backlog is polled without a notification.
const LOOK: Duration = Duration::from_secs(60);
/// Longest wait for queries before a call.
const COURTESY: Duration = Duration::from_secs(2);

/// Dependencies of the feeder.
#[derive(Clone)]
pub(super) struct FeederDeps {
    pub(super) store: StoreHandle,
    pub(super) clock: Clock,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) backlog: Arc<dyn Backlog>,
    pub(super) put: Arc<dyn PutVectors>,
    pub(super) counts: Arc<Counts>,
}

/// Actor that runs the feeding loop.
pub struct Feeder(FeederDeps);

impl std::fmt::Debug for Feeder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feeder").finish_non_exhaustive()
    }
}

impl Feeder {
    pub(super) fn new(parts: FeederDeps) -> Self {
        Self(parts)
    }
}

impl Actor for Feeder {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        let rounds = Rounds {
            model: self.0.embedder.model(),
            parts: self.0.clone(),
            skipped: BTreeMap::new(),
            refused: BTreeMap::new(),
            last: None,
        };
        context.spawn(rounds.run().into_actor(self));
    }
}

struct Rounds {
    parts: FeederDeps,
    model: ModelTag,
    /// Deferred entries, and until when.
    skipped: BTreeMap<EntryId, Instant>,
    /// Number of rejections by the model, by entry.
    refused: BTreeMap<EntryId, u32>,
    /// Owner that was served last.
    last: Option<Owner>,
}

/// An entry of a round.
struct Entry {
    record: EntryRecord,
    vectors: Vec<Vec<f32>>,
    refused: Option<String>,
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
        let wake = self.parts.backlog.wake();
        loop {
            let changed = self.parts.embedder.changed();
            if let Readiness::NotReady { why } = self.parts.embedder.ready() {
                self.parts.counts.set_fault(Some(why));
                let _ = timeout(LOOK, changed).await;
                continue;
            }
            match self.round().await {
                Round::Nothing => {
                    self.parts.counts.set_fault(None);
                    let _ = timeout(LOOK, wake.notified()).await;
                }
                Round::Stored => {
                    self.parts.counts.set_fault(None);
                    back_off.succeeded();
                }
                Round::Failed(why) => {
                    let wait = back_off.failed();
                    tracing::warn!(why, wait_ms = wait.as_millis(), "entries have no vectors yet");
                    self.parts.counts.failures.fetch_add(1, Ordering::Relaxed);
                    self.parts.counts.set_fault(Some(why));
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
        for piece in texts.chunks(PIECE) {
            if let Err(fault) = self.piece(piece, &mut entries).await {
                broken = Some(fault.to_string());
                break;
            }
        }
        let (mut vectors, mut refused) = (Vec::new(), Vec::new());
        for entry in if broken.is_some() { Vec::new() } else { entries } {
            let why = entry.refused.map_or(Ok(()), Err);
            match why.and_then(|()| lengths::mean(&entry.vectors, self.model.dimensions)) {
                Ok(vector) => vectors.push(NewVector {
                    id: entry.record.id,
                    version: entry.record.version,
                    place: entry.record.place,
                    model: Arc::clone(&self.model.id),
                    vector,
                }),
                Err(why) => refused.push((entry.record.id, why)),
            }
        }
        // If it rejects everything, the model is at fault rather than a text, unless the text was rejected before.
        let fresh = refused.iter().find(|(id, _)| !self.refused.contains_key(id)).map(|(_, why)| why.clone());
        match (broken, fresh) {
            (Some(why), _) => Round::Failed(why),
            (None, Some(why)) if vectors.is_empty() => Round::Failed(why),
            _ => self.store(vectors, refused).await,
        }
    }

    async fn store(&mut self, vectors: Vec<NewVector>, refused: Vec<(EntryId, String)>) -> Round {
        for (id, why) in refused {
            tracing::warn!(entry = %id, why, "the model makes nothing of an entry: it is found by its words alone");
            self.parts.counts.refused.fetch_add(1, Ordering::Relaxed);
            self.refuse(id);
        }
        if vectors.is_empty() {
            return Round::Stored;
        }
        let ids: Vec<EntryId> = vectors.iter().map(|vector| vector.id).collect();
        match self.parts.put.put_vectors(vectors).await {
            Ok(stored) => {
                self.refused.retain(|id, _| !ids.contains(id));
                self.parts.counts.entries.fetch_add(stored as u64, Ordering::Relaxed);
                if stored < ids.len() {
                    // Replaced or deleted meanwhile: the index will learn of it shortly.
                    ids.into_iter().for_each(|id| self.skip(id, Duration::from_millis(100)));
                }
                Round::Stored
            }
            Err(error) => Round::Failed(error.to_string()),
        }
    }

    /// Selects the entries of the next round.
    async fn pick(&mut self) -> Result<Vec<Entry>, String> {
        let now = Instant::now();
        self.skipped.retain(|_, until| *until > now);
        let lacking = self.parts.backlog.lacking(ROUND + self.skipped.len()).await;
        let open = lacking.into_iter().filter(|(_, id)| !self.skipped.contains_key(id));
        let turns = interleave(lines(open, |(space, _): &(Space, _)| space.owner.clone(), self.last.as_ref()), ROUND);
        let (mut entries, mut count, mut taken) = (Vec::new(), 0, BTreeSet::new());
        for (space, id) in turns {
            if count >= ROUND || !taken.insert(id) {
                continue;
            }
            match self.read(&space.owner, id)? {
                Some(record) => {
                    count += texts::of_entry(&record).len();
                    self.last = Some(space.owner);
                    entries.push(Entry { record, vectors: Vec::new(), refused: None });
                }
                None => self.skip(id, PASSING),
            }
        }
        Ok(entries)
    }

    /// Returns the entry if it still needs a vector.
    fn read(&self, owner: &Owner, id: EntryId) -> Result<Option<EntryRecord>, String> {
        let store = &self.parts.store;
        let record = stored::entry_by_id(store, owner, id).map_err(|error| error.to_string())?;
        let now = self.parts.clock.now();
        let Some(record) = record.filter(|record| !record.expired(now)) else { return Ok(None) };
        let known = stored::vector(store, id).map_err(|error| error.to_string())?;
        let has = known.is_some_and(|known| known.model == self.model.id && record.stands(known.version));
        Ok((!has).then_some(record))
    }

    async fn piece(&self, piece: &[(usize, String)], entries: &mut [Entry]) -> Result<(), EmbedFault> {
        let texts = piece.iter().map(|(_, text)| text.clone()).collect();
        match self.compute(texts).await {
            Ok(vectors) => {
                for ((entry, _), vector) in piece.iter().zip(vectors) {
                    entries.get_mut(*entry).into_iter().for_each(|entry| entry.vectors.push(vector.clone()));
                }
                return Ok(());
            }
            Err(EmbedFault::TooLong { .. } | EmbedFault::Failed { .. }) => {}
            Err(fault) => return Err(fault),
        }
        // At least one text is at fault: they are computed one by one.
        for (entry, text) in piece {
            if let Some(entry) = entries.get_mut(*entry) {
                self.alone(text, entry).await?;
            }
        }
        Ok(())
    }

    async fn alone(&self, text: &str, entry: &mut Entry) -> Result<(), EmbedFault> {
        let mut texts = vec![(text.to_owned(), 0)];
        while let Some((text, halved)) = texts.pop() {
            match self.compute(vec![text.clone()]).await {
                Ok(vectors) => entry.vectors.extend(vectors),
                Err(EmbedFault::TooLong { .. }) if halved < HALVINGS => {
                    texts.extend(texts::halves(&text).map(|half| (half, halved + 1)));
                }
                Err(fault @ (EmbedFault::TooLong { .. } | EmbedFault::Failed { .. })) => {
                    entry.refused = Some(fault.to_string());
                    return Ok(());
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    async fn compute(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedFault> {
        let counts = &self.parts.counts;
        let _ = timeout(COURTESY, counts.no_query()).await;
        let count = texts.len() as u64;
        let vectors = texts::compute(&self.parts.embedder, texts).await?;
        counts.texts.fetch_add(count, Ordering::Relaxed);
        match vectors.iter().find(|vector| vector.len() != self.model.dimensions) {
            None => Ok(vectors),
            Some(wrong) => Err(EmbedFault::Failed {
                why: format!("the model gave a vector of length {} instead of {}", wrong.len(), self.model.dimensions),
            }),
        }
    }

    fn refuse(&mut self, id: EntryId) {
        if self.refused.len() >= MOST_SKIPPED {
            self.refused.clear();
        }
        let times = self.refused.entry(id).or_default();
        let wait = REFUSED.saturating_mul(4_u32.saturating_pow(*times)).min(REFUSED_MOST);
        *times += 1;
        self.skip(id, wait);
    }

    /// Defers an entry; if there are too many, the one that would be next is dropped.
    fn skip(&mut self, id: EntryId, time: Duration) {
        self.skipped.insert(id, Instant::now() + time);
        if self.skipped.len() > MOST_SKIPPED
            && let Some(next) = self.skipped.iter().min_by_key(|(_, until)| **until).map(|(id, _)| *id)
        {
            self.skipped.remove(&next);
        }
    }
}

fn texts_of((number, entry): (usize, &Entry)) -> Vec<(usize, String)> {
    texts::of_entry(&entry.record).into_iter().map(|text| (number, text)).collect()
}
