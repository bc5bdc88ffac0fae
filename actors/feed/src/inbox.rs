//! What waits for the hub, in one order: events, the answers of features, the asks of shards.
//!
//! One order is what makes a snapshot's place exact: its answer stands behind every event that the feature published
//! before it. Nobody waits to put something in. What finds no room is not lost: events are in the outbox, an ask is
//! refused at once, and of the newest values the next one comes soon.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crossbeam_queue::{ArrayQueue, SegQueue};
use tokio::sync::Notify;

use super::{ConnId, Denied, ShardId, StateItem, SubscribeAsk};
use muster_core::event::{ChannelRestriction, DropPolicy, Event, LatestValue, Publish};
use muster_core::principal::Viewer;

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
    /// An event that is in no outbox.
    Told(Event),
    /// Such events were turned away here: nobody has them any more.
    Lost,
    /// From here on events were turned away: they are in the outbox.
    Spilled,
    /// The thing that the channel was about is gone.
    Closed(String, &'static str),
    /// Fewer may follow a channel.
    ChannelRestriction(ChannelRestriction),
    /// What the one behind a connection may has changed.
    Viewer(ShardId, ConnId, Viewer),
}

/// The hub's inbox. It outlives the hub.
#[derive(Debug)]
pub(super) struct Inbox {
    inputs: SegQueue<Input>,
    latest: ArrayQueue<LatestValue>,
    /// Those of `inputs` once more: they overtake what waits, so that no event which comes from the outbox, however early,
    /// overtakes them. In their place among the inputs they end what was asked for before.
    reviews: SegQueue<ChannelRestriction>,
    events: AtomicUsize,
    asks: AtomicUsize,
    /// Events were turned away; until the hub comes to that place all are, so that none overtakes another.
    spilled: AtomicBool,
    wake: Notify,
    max_events: usize,
    max_asks: usize,
    values_lost: AtomicU64,
    told: AtomicUsize,
    /// [`NONE`], [`MARKED`] or [`AGAIN`].
    lost: AtomicU8,
    told_lost: AtomicU64,
}

/// Nothing that was told was lost since the hub heard of it.
const NONE: u8 = 0;
/// The hub will hear of it.
const MARKED: u8 = 1;
/// And of what was lost behind that mark.
const AGAIN: u8 = 2;

impl Inbox {
    pub(super) fn new(limits: &super::Limits) -> Self {
        Self {
            inputs: SegQueue::new(),
            latest: ArrayQueue::new(limits.waiting_values.max(1)),
            reviews: SegQueue::new(),
            events: AtomicUsize::new(0),
            asks: AtomicUsize::new(0),
            spilled: AtomicBool::new(false),
            wake: Notify::new(),
            max_events: limits.waiting_events,
            max_asks: limits.waiting_asks,
            values_lost: AtomicU64::new(0),
            told: AtomicUsize::new(0),
            lost: AtomicU8::new(NONE),
            told_lost: AtomicU64::new(0),
        }
    }

    /// Puts in what must not be lost: there are no more of these than connections, subscriptions and asks.
    pub(super) fn push(&self, input: Input) {
        self.inputs.push(input);
        self.wake.notify_one();
    }

    /// # Errors
    /// As many asks wait as may.
    pub(super) fn ask(&self, ask: SubscribeAsk) -> Result<(), Denied> {
        if self.asks.fetch_add(1, Ordering::AcqRel) >= self.max_asks {
            self.asks.fetch_sub(1, Ordering::AcqRel);
            return Err(Denied::Unavailable);
        }
        self.push(Input::Subscribe(ask));
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

    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Takes what waits longest. Behind `Spilled` events are let in again: whatever was turned away is in the outbox by
    /// then.
    pub(super) fn pop(&self) -> Option<Input> {
        let input = self.inputs.pop()?;
        match &input {
            Input::Event(_) => drop(self.events.fetch_sub(1, Ordering::AcqRel)),
            Input::Subscribe(_) => drop(self.asks.fetch_sub(1, Ordering::AcqRel)),
            Input::Spilled => self.spilled.store(false, Ordering::Release),
            Input::Told(_) => drop(self.told.fetch_sub(1, Ordering::AcqRel)),
            Input::Lost => self.heard_of_loss(),
            _ => {}
        }
        Some(input)
    }

    /// Takes the newest values that wait, oldest first.
    pub(super) fn values(&self) -> Vec<LatestValue> {
        (0..self.latest.len()).map_while(|_| self.latest.pop()).collect()
    }

    pub(super) fn review(&self) -> Option<ChannelRestriction> {
        self.reviews.pop()
    }

    pub(super) fn values_lost(&self) -> u64 {
        self.values_lost.load(Ordering::Relaxed)
    }

    /// Told events that found no room.
    pub(super) fn told_lost(&self) -> u64 {
        self.told_lost.load(Ordering::Relaxed)
    }

    /// An event was lost: the hub hears of it where it would have stood, or behind that.
    fn lose(&self) {
        let next = |state| Some(if state == NONE { MARKED } else { AGAIN });
        if self.lost.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(NONE) {
            tracing::warn!("what was told of agents is lost: who follows it begins anew");
            self.push(Input::Lost);
        }
    }

    fn heard_of_loss(&self) {
        let next = |state| Some(if state == AGAIN { MARKED } else { NONE });
        if self.lost.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(AGAIN) {
            self.push(Input::Lost);
        }
    }
}

impl Publish for Inbox {
    fn publish(&self, events: Vec<Event>) {
        let count = events.len();
        let full = || self.events.fetch_add(count, Ordering::AcqRel).saturating_add(count) > self.max_events;
        if self.spilled.load(Ordering::Acquire) {
            // They are in the outbox, and the hub is on its way there.
        } else if full() {
            self.events.fetch_sub(count, Ordering::AcqRel);
            if !self.spilled.swap(true, Ordering::AcqRel) {
                tracing::warn!("the feed lags: events wait in the outbox");
                self.inputs.push(Input::Spilled);
            }
        } else {
            events.into_iter().for_each(|event| self.inputs.push(Input::Event(event)));
        }
        self.wake.notify_one();
    }

    fn publish_transient(&self, events: Vec<Event>) {
        for event in events {
            let most = match event.loss {
                DropPolicy::Never => self.max_events,
                // They leave room for those that must not be lost.
                DropPolicy::Conflated => self.max_events / 2,
            };
            if self.told.fetch_add(1, Ordering::AcqRel) < most {
                self.inputs.push(Input::Told(event));
                continue;
            }
            self.told.fetch_sub(1, Ordering::AcqRel);
            self.told_lost.fetch_add(1, Ordering::Relaxed);
            if event.loss == DropPolicy::Never {
                self.lose();
            }
        }
        self.wake.notify_one();
    }

    fn mark_lost(&self) {
        self.lose();
    }

    fn restrict(&self, review: ChannelRestriction) {
        self.reviews.push(review.clone());
        self.push(Input::ChannelRestriction(review));
    }

    fn publish_latest(&self, value: LatestValue) {
        if self.latest.force_push(value).is_some() {
            self.values_lost.fetch_add(1, Ordering::Relaxed);
        }
        self.wake.notify_one();
    }
}
