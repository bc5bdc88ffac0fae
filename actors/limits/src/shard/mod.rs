//! The actor that keeps the buckets of a part of the subjects.
//!
//! One message evaluates all rules of a request, so concurrent requests are evaluated sequentially. Within its lease an
//! admission is acknowledged from memory; waiting for the disk happens outside of the message handler.

mod messages;
mod operations;
mod persist;
mod sweep;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, StreamHandler};
use crossbeam_queue::SegQueue;
use futures::stream;
use muster_store::{Store, StoreError};
use tokio::sync::mpsc;

use super::account::Account;
use super::allowance::Allowances;
use super::recency::Recency;
use super::record::Stored;
use super::subject::BucketKey;
use muster_core::supervise::{Control, Phase};
use muster_core::{Clock, Error};

pub use messages::{Admit, Decision, Reservation};
pub(super) use messages::{Peek, Reply, Report, Settle};

/// Interval at which unused buckets are removed from the store.
const COLLECT_EVERY: Duration = Duration::from_secs(3_600);

/// Interval at which reports are processed and allowances ended if there are no decisions.
const SETTLE_EVERY: Duration = Duration::from_millis(250);

/// Bounds of the limiter.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time after which an unused bucket is written exactly and removed from memory.
    pub idle: Duration,
    /// Interval of looking for unused buckets.
    pub sweep_every: Duration,
    /// Maximum number of anonymous buckets in memory (over all shards); beyond it the least recently used one is
    /// dropped.
    pub max_anonymous: usize,
    /// Maximum number of stored buckets in memory; beyond it the least recently used ones are written and removed.
    pub max_principals: usize,
    /// Maximum number of concurrent calls, per shard.
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

/// What a shard shares with its callers, across its incarnations.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    pub(super) reports: Arc<SegQueue<Report>>,
    pub(super) allowances: Arc<Allowances>,
}

/// Work deferred until a bucket has been read; called with an error if that failed.
type Deferred = Box<dyn FnOnce(Result<&mut RateShard, Error>) + Send>;

/// Entry of a bucket in the shard.
enum Entry {
    /// Being read from the store. The number of waiting operations is bounded by the mailbox.
    Loading(Vec<Deferred>),
    Ready(Box<Account>),
}

/// Result of work outside of the actor. At most one per bucket is in progress, and one per change of phase.
enum Event {
    Loaded(BucketKey, Result<Option<Stored>, StoreError>),
    Written(BucketKey, Result<(), Error>),
    Drain,
}

/// Keeps the buckets of a part of the subjects.
pub(crate) struct RateShard {
    store: Arc<dyn Store>,
    clock: Clock,
    options: Options,
    control: Control,
    /// Start time of the server, in the one shard that removes expired buckets from the store.
    collects_since: Option<u64>,
    entries: HashMap<BucketKey, Entry>,
    /// Anonymous and stored buckets, in the order of use.
    anonymous: Recency<BucketKey>,
    principals: Recency<BucketKey>,
    /// Whether the shard is draining: leases are no longer taken.
    draining: bool,
    /// Buckets to be written exactly as soon as possible.
    flushing: VecDeque<BucketKey>,
    /// Number of `flushing` writes in progress.
    flushes: usize,
    /// Added without waking the shard and processed before each decision. Bounded by the numbers of reservations and of
    /// admissions granted in advance.
    reports: Arc<SegQueue<Report>>,
    /// Admissions granted in advance, where callers take them, and the buckets that have some.
    allowances: Arc<Allowances>,
    granted: HashSet<BucketKey>,
    events: mpsc::UnboundedSender<Event>,
    received: Option<mpsc::UnboundedReceiver<Event>>,
}

impl std::fmt::Debug for RateShard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateShard").field("buckets", &self.entries.len()).finish_non_exhaustive()
    }
}

impl RateShard {
    /// Creates an empty shard; stored buckets are loaded when they are first used. `options` are those of this shard
    /// alone.
    pub(super) fn new(
        store: Arc<dyn Store>,
        clock: Clock,
        options: Options,
        control: Control,
        collects_since: Option<u64>,
        shared: Shared,
    ) -> Self {
        shared.allowances.clear();
        let (events, received) = mpsc::unbounded_channel();
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
            reports: shared.reports,
            allowances: shared.allowances,
            granted: HashSet::new(),
            events,
            received: Some(received),
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
        if let Some(received) = self.received.take() {
            // A single stream for all events, because the context polls each of its streams in every iteration.
            context.add_stream(stream::unfold(received, |mut received| async move {
                Some((received.recv().await?, received))
            }));
        }
        // For buckets without further decisions.
        context.run_interval(SETTLE_EVERY, |shard, _| {
            shard.take_reports();
            shard.end_allowances();
        });
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
                // This incarnation has ended.
                () = events.closed() => {}
            }
        });
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        // A panicking actor is stopped as well, and its state cannot be trusted.
        if !std::thread::panicking() {
            self.withdraw_all();
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
                self.withdraw_all();
                self.drain();
            }
        }
    }
}
