//! The hub's input queue, in one order: events, replies of features, requests of shards.
//!
//! The single order determines the exact position of a snapshot: a feature's reply is queued behind every event that it
//! published before. Nobody waits to add an input. Nothing is lost if the queue is full: events are in the outbox, a
//! request is rejected immediately, and a latest value is soon followed by the next.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crossbeam_queue::{ArrayQueue, SegQueue};
use tokio::sync::Notify;

use super::{ConnId, Denied, ShardId, StateItem, SubscribeRequest};
use muster_core::event::{ChannelRestriction, DropPolicy, Event, LatestValue, Publish};
use muster_core::principal::Viewer;

/// An input of the hub.
#[derive(Debug)]
pub(super) enum Input {
    Event(Event),
    /// Reply to the request with this number.
    State(u64, Result<Vec<StateItem>, Denied>),
    Subscribe(SubscribeRequest),
    Unsubscribe(ShardId, ConnId, String),
    Gone(ShardId, ConnId),
    Detached(ShardId),
    /// A transient event, which is in no outbox.
    Transient(Event),
    /// Transient events were dropped at this point.
    Lost,
    /// Events were rejected from this point on: they are in the outbox.
    Spilled,
    /// The resource of the channel was deleted.
    Closed(String, &'static str),
    /// Fewer viewers may subscribe to a channel.
    ChannelRestriction(ChannelRestriction),
    /// The permissions of a connection's viewer have changed.
    Viewer(ShardId, ConnId, Viewer),
}

/// The hub's inbox. It survives restarts of the hub.
#[derive(Debug)]
pub(super) struct Inbox {
    inputs: SegQueue<Input>,
    latest: ArrayQueue<LatestValue>,
    /// Copies of the restrictions in `inputs`. They overtake the queue, so that no event read from the outbox precedes
    /// them; at their place among the inputs they also apply to requests made before.
    restrictions: SegQueue<ChannelRestriction>,
    events: AtomicUsize,
    requests: AtomicUsize,
    /// Events were rejected. Until the hub reaches that point all events are rejected, to preserve their order.
    spilled: AtomicBool,
    wake: Notify,
    max_events: usize,
    max_requests: usize,
    values_dropped: AtomicU64,
    transient: AtomicUsize,
    /// [`NONE`], [`MARKED`] or [`AGAIN`].
    lost: AtomicU8,
    transient_lost: AtomicU64,
}

/// No transient event was lost since the hub last handled a loss.
const NONE: u8 = 0;
/// A loss is queued for the hub.
const MARKED: u8 = 1;
/// Further events were lost behind the queued mark.
const AGAIN: u8 = 2;

impl Inbox {
    pub(super) fn new(limits: &super::Limits) -> Self {
        Self {
            inputs: SegQueue::new(),
            latest: ArrayQueue::new(limits.waiting_values.max(1)),
            restrictions: SegQueue::new(),
            events: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            spilled: AtomicBool::new(false),
            wake: Notify::new(),
            max_events: limits.waiting_events,
            max_requests: limits.waiting_requests,
            values_dropped: AtomicU64::new(0),
            transient: AtomicUsize::new(0),
            lost: AtomicU8::new(NONE),
            transient_lost: AtomicU64::new(0),
        }
    }

    /// Adds an input that must not be lost; their number is bounded by that of connections, subscriptions and requests.
    pub(super) fn push(&self, input: Input) {
        self.inputs.push(input);
        self.wake.notify_one();
    }

    /// Adds a subscription request.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the maximum number of requests is queued.
    pub(super) fn push_request(&self, request: SubscribeRequest) -> Result<(), Denied> {
        if self.requests.fetch_add(1, Ordering::AcqRel) >= self.max_requests {
            self.requests.fetch_sub(1, Ordering::AcqRel);
            return Err(Denied::Unavailable);
        }
        self.push(Input::Subscribe(request));
        Ok(())
    }

    /// Resolves once an input was added since the last call. Only one caller may wait.
    pub(super) async fn notified(&self) {
        self.wake.notified().await;
    }

    /// Schedules another round of the hub after other tasks have run.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Removes the oldest input. After `Spilled`, events are accepted again: the rejected ones are in the outbox by
    /// then.
    pub(super) fn pop(&self) -> Option<Input> {
        let input = self.inputs.pop()?;
        match &input {
            Input::Event(_) => drop(self.events.fetch_sub(1, Ordering::AcqRel)),
            Input::Subscribe(_) => drop(self.requests.fetch_sub(1, Ordering::AcqRel)),
            Input::Spilled => self.spilled.store(false, Ordering::Release),
            Input::Transient(_) => drop(self.transient.fetch_sub(1, Ordering::AcqRel)),
            Input::Lost => self.acknowledge_loss(),
            _ => {}
        }
        Some(input)
    }

    /// Removes and returns the queued latest values, oldest first.
    pub(super) fn values(&self) -> Vec<LatestValue> {
        (0..self.latest.len()).map_while(|_| self.latest.pop()).collect()
    }

    pub(super) fn take_restriction(&self) -> Option<ChannelRestriction> {
        self.restrictions.pop()
    }

    pub(super) fn values_dropped(&self) -> u64 {
        self.values_dropped.load(Ordering::Relaxed)
    }

    /// Returns the number of transient events dropped because the queue was full.
    pub(super) fn transient_lost(&self) -> u64 {
        self.transient_lost.load(Ordering::Relaxed)
    }

    /// Records the loss of a transient event; the hub handles it at the event's place in the queue or later.
    fn record_loss(&self) {
        let next = |state| Some(if state == NONE { MARKED } else { AGAIN });
        if self.lost.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(NONE) {
            tracing::warn!("transient events were dropped: their channels begin a new epoch");
            self.push(Input::Lost);
        }
    }

    fn acknowledge_loss(&self) {
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
            // The events are in the outbox, and the hub is about to read it.
        } else if full() {
            self.events.fetch_sub(count, Ordering::AcqRel);
            if !self.spilled.swap(true, Ordering::AcqRel) {
                tracing::warn!("the feed is overloaded: events remain in the outbox");
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
                // Leave capacity for events that must not be lost.
                DropPolicy::Conflated => self.max_events / 2,
            };
            if self.transient.fetch_add(1, Ordering::AcqRel) < most {
                self.inputs.push(Input::Transient(event));
                continue;
            }
            self.transient.fetch_sub(1, Ordering::AcqRel);
            self.transient_lost.fetch_add(1, Ordering::Relaxed);
            if event.loss == DropPolicy::Never {
                self.record_loss();
            }
        }
        self.wake.notify_one();
    }

    fn mark_lost(&self) {
        self.record_loss();
    }

    fn restrict(&self, restriction: ChannelRestriction) {
        self.restrictions.push(restriction.clone());
        self.push(Input::ChannelRestriction(restriction));
    }

    fn publish_latest(&self, value: LatestValue) {
        if self.latest.force_push(value).is_some() {
            self.values_dropped.fetch_add(1, Ordering::Relaxed);
        }
        self.wake.notify_one();
    }
}
