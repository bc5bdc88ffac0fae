//! The actor that keeps the buckets of its part of the subjects.
//!
//! One message judges all rules of a request, so requests that race are judged one after the other. Within its lease an
//! admission is answered from memory; the disk is only waited for beside the actor, never in it.

mod jobs;
mod messages;
mod persist;
mod sweep;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, StreamHandler};
use crossbeam_queue::SegQueue;
use futures::stream;
use muster_store::{Store, StoreError};
use tokio::sync::mpsc;

use super::account::Account;
use super::recency::Recency;
use super::record::Stored;
use super::subject::BucketKey;
use muster_core::supervise::{Control, Phase};
use muster_core::{Clock, Error};

pub use messages::{Admit, Decision, Reservation};
pub(super) use messages::{Peek, Reply, Settle};

/// How often the store is cleared of buckets that nobody asked for again.
const COLLECT_EVERY: Duration = Duration::from_secs(3_600);

/// How often settlements are taken where no decision does it.
const SETTLE_EVERY: Duration = Duration::from_millis(250);

/// Bounds of the limiter.
#[derive(Debug, Clone)]
pub struct Options {
    /// A bucket not used for so long is written exactly and leaves memory.
    pub idle: Duration,
    /// How often that is looked for.
    pub sweep_every: Duration,
    /// Most anonymous buckets in memory (all shards together); the one not used for longest is forgotten for a new one.
    pub max_anonymous: usize,
    /// Most stored buckets in memory; the ones not used for longest are written and let go.
    pub max_principals: usize,
    /// Most calls that wait, for each shard.
    pub mailbox: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(120),
            sweep_every: Duration::from_secs(30),
            max_anonymous: 10_000,
            max_principals: 50_000,
            mailbox: 4_096,
        }
    }
}

/// Work put off until a bucket has been read; with an error where it could not be.
type Deferred = Box<dyn FnOnce(Result<&mut RateShard, Error>) + Send>;

/// One bucket's place in the shard.
enum Entry {
    /// Being read from the store. As many may wait as the mailbox has places.
    Loading(Vec<Deferred>),
    Ready(Box<Account>),
}

/// What has happened beside the actor. At most one for each bucket is on its way, and one for each change of phase.
enum Event {
    Loaded(BucketKey, Result<Option<Stored>, StoreError>),
    Written(BucketKey, Result<(), Error>),
    Drain,
}

/// A shard. See the module.
pub struct RateShard {
    store: Arc<dyn Store>,
    clock: Clock,
    options: Options,
    control: Control,
    /// When the server started, in the one shard that clears the store of what is over.
    collects_since: Option<u64>,
    entries: HashMap<BucketKey, Entry>,
    /// By use: anonymous buckets, and those that are stored.
    anonymous: Recency<BucketKey>,
    principals: Recency<BucketKey>,
    /// Told to drain: no leases any more.
    draining: bool,
    /// Buckets to be written exactly as soon as there is room.
    flushing: VecDeque<BucketKey>,
    /// Writes of `flushing` on their way.
    flushes: usize,
    /// Told without waking the shard; taken before each decision. At most as many as there are reservations.
    settled: Arc<SegQueue<Settle>>,
    events: mpsc::UnboundedSender<Event>,
    heard: Option<mpsc::UnboundedReceiver<Event>>,
}

impl std::fmt::Debug for RateShard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateShard").field("buckets", &self.entries.len()).finish_non_exhaustive()
    }
}

impl RateShard {
    /// An empty shard; what the store holds comes back bucket by bucket, when first asked for. `options` bound this
    /// shard alone.
    pub(super) fn new(
        store: Arc<dyn Store>,
        clock: Clock,
        options: Options,
        control: Control,
        collects_since: Option<u64>,
        settled: Arc<SegQueue<Settle>>,
    ) -> Self {
        let (events, heard) = mpsc::unbounded_channel();
        Self {
            store,
            clock,
            options,
            control,
            collects_since,
            entries: HashMap::new(),
            anonymous: Recency::default(),
            principals: Recency::default(),
            draining: false,
            flushing: VecDeque::new(),
            flushes: 0,
            settled,
            events,
            heard: Some(heard),
        }
    }

    fn now(&self) -> u64 {
        self.clock.now().0
    }

    fn account(&mut self, key: &BucketKey) -> Option<&mut Account> {
        match self.entries.get_mut(key) {
            Some(Entry::Ready(account)) => Some(account),
            Some(Entry::Loading(_)) | None => None,
        }
    }
}

impl Actor for RateShard {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if let Some(heard) = self.heard.take() {
            // One stream for everything: the context polls each thing it is given on each of its turns.
            context.add_stream(stream::unfold(heard, |mut heard| async move { Some((heard.recv().await?, heard)) }));
        }
        // A bucket that nobody asks again learns of its last calls too.
        context.run_interval(SETTLE_EVERY, |shard, _| shard.take_settled());
        context.run_interval(self.options.sweep_every, |shard, _| shard.sweep());
        if let Some(started) = self.collects_since {
            context.run_interval(COLLECT_EVERY, move |shard, _| shard.collect(started));
        }
        let mut phase = self.control.phase();
        let events = self.events.clone();
        actix_rt::spawn(async move {
            tokio::select! {
                phase = phase.wait_for(|phase| *phase == Phase::Drain) => if phase.is_ok() {
                    let _ = events.send(Event::Drain);
                },
                // This incarnation has died.
                () = events.closed() => {}
            }
        });
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        // A panicking actor is stopped too, and what it holds is not to be trusted.
        if !std::thread::panicking() {
            self.take_settled();
            self.write_all_exactly();
        }
    }
}

impl StreamHandler<Event> for RateShard {
    fn handle(&mut self, event: Event, _: &mut Context<Self>) {
        match event {
            Event::Loaded(key, found) => self.loaded(key, found),
            Event::Written(key, outcome) => self.written(&key, outcome),
            Event::Drain => {
                self.take_settled();
                self.drain();
            }
        }
    }
}
