//! What waits for the hub, in one order: events, the answers of features, the asks of shards.
//!
//! One order is what makes a snapshot's place exact: its answer stands behind every event that the feature published
//! before it. Nobody waits to put something in. What finds no room is not lost: events are in the outbox, an ask is
//! refused at once, and of the newest values the next one comes soon.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::{ConnId, Denied, Event, Latest, Publish, ShardId, StateItem, SubscribeAsk};

/// One thing that waits.
#[derive(Debug)]
pub(super) enum Input {
    Event(Event),
    /// The answer to the ask of that number.
    State(u64, Result<Vec<StateItem>, Denied>),
    Subscribe(SubscribeAsk),
    Unsubscribe(ShardId, ConnId, String),
    Gone(ShardId, ConnId),
    Detached(ShardId),
    /// From here on events were turned away: they are in the outbox.
    Spilled,
    /// The thing that the channel was about is gone.
    Closed(String, &'static str),
}

/// Everything that waited.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) inputs: VecDeque<Input>,
    pub(super) latest: Vec<Latest>,
}

#[derive(Debug, Default)]
struct Inner {
    inputs: VecDeque<Input>,
    events: usize,
    asks: usize,
    latest: HashMap<(String, String), Latest>,
    /// Events were turned away; until the hub takes what waits, all are, so that none overtakes another.
    spilled: bool,
}

/// The hub's inbox. It outlives the hub.
#[derive(Debug)]
pub(super) struct Inbox {
    inner: Mutex<Inner>,
    wake: Notify,
    max_events: usize,
    max_asks: usize,
    max_latest: usize,
    values_lost: AtomicU64,
}

impl Inbox {
    pub(super) fn new(limits: &super::Limits) -> Self {
        Self {
            inner: Mutex::default(),
            wake: Notify::new(),
            max_events: limits.waiting_events,
            max_asks: limits.waiting_asks,
            max_latest: limits.latest,
            values_lost: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts in what must not be lost: there are no more of these than connections, subscriptions and asks.
    pub(super) fn push(&self, input: Input) {
        self.lock().inputs.push_back(input);
        self.wake.notify_one();
    }

    /// # Errors
    /// As many asks wait as may.
    pub(super) fn ask(&self, ask: SubscribeAsk) -> Result<(), Denied> {
        let mut inner = self.lock();
        if inner.asks >= self.max_asks {
            return Err(Denied::Unavailable);
        }
        inner.asks += 1;
        inner.inputs.push_back(Input::Subscribe(ask));
        drop(inner);
        self.wake.notify_one();
        Ok(())
    }

    /// Resolves once something was put in since the last call. One may wait at a time.
    pub(super) async fn heard(&self) {
        self.wake.notified().await;
    }

    /// The hub has more to do, and lets others go first.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Takes everything. From now on events are let in again.
    pub(super) fn take(&self) -> Taken {
        let mut inner = self.lock();
        let taken = std::mem::take(&mut *inner);
        drop(inner);
        Taken { inputs: taken.inputs, latest: taken.latest.into_values().collect() }
    }

    pub(super) fn values_lost(&self) -> u64 {
        self.values_lost.load(Ordering::Relaxed)
    }
}

impl Publish for Inbox {
    fn publish(&self, events: Vec<Event>) {
        let mut inner = self.lock();
        if inner.spilled || inner.events + events.len() > self.max_events {
            if !std::mem::replace(&mut inner.spilled, true) {
                tracing::warn!(waiting = inner.events, "the feed lags: events wait in the outbox");
                inner.inputs.push_back(Input::Spilled);
            }
        } else {
            inner.events += events.len();
            inner.inputs.extend(events.into_iter().map(Input::Event));
        }
        drop(inner);
        self.wake.notify_one();
    }

    fn latest(&self, value: Latest) {
        let mut inner = self.lock();
        let key = (value.channel.clone(), value.key.clone());
        if inner.latest.len() < self.max_latest || inner.latest.contains_key(&key) {
            inner.latest.insert(key, value);
            drop(inner);
            self.wake.notify_one();
        } else {
            self.values_lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
