//! Events that features publish to the feed, committed in the same batch as the change they describe.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_queue::SegQueue;
use muster_store::{Encoding, Op, Record, StoreError, Tree};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Millis;
use crate::ids::{IdKind, new_id};
use crate::principal::Viewer;

/// Attributes of an event by which subscriptions filter. A filter on an attribute that an event lacks does not match
/// it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventAttributes {
    /// West, south, east, north in degrees; west > east crosses the antimeridian.
    pub bbox: Option<[f64; 4]>,
    /// CAP severity as a number: 0 Unknown, 1 Minor, 2 Moderate, 3 Severe, 4 Extreme.
    pub severity: Option<u8>,
    /// Owner of the event's subject, on channels where subscribers see only what they own.
    #[serde(default)]
    pub owner: Option<Arc<str>>,
}

/// Delivery priority of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Delivered in order.
    #[default]
    Normal,
    /// Delivered before everything that is queued, such as an alert of extreme severity.
    Urgent,
}

/// An event, published on one or more channels in one order.
///
/// The feature commits it ([`Event::op`]) in the batch of the records that it describes. When it applies that change to
/// its own state, it passes the event to [`Publish`] in the same message handler. If the server terminates in between,
/// the feed finds the event in the outbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    /// `evt_…`, unique across all channels.
    pub id: String,
    /// Time at which the event occurred.
    pub at: Millis,
    /// Name of the event, such as `incident.updated`.
    pub name: String,
    /// Channels on which the event is published, such as `incidents` and `incidents:inc_01…`.
    pub channels: Vec<String>,
    /// JSON object sent as the frame's `data`.
    pub data: Box<RawValue>,
    /// Attributes by which subscriptions filter.
    pub traits: EventAttributes,
    /// Delivery priority.
    pub priority: Priority,
    /// What happens to the event for subscribers that are too slow.
    #[serde(default)]
    pub loss: DropPolicy,
}

/// What happens to an event for which a subscriber is too slow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropPolicy {
    /// It is queued; a subscriber that falls too far behind is disconnected.
    #[default]
    Never,
    /// It is dropped for that subscriber, and counted.
    Conflated,
}

impl Event {
    /// Creates an event. Data that cannot be serialized is logged and replaced by `null`.
    pub fn new(name: &str, at: Millis, channels: Vec<String>, data: &impl Serialize) -> Self {
        let data = serde_json::value::to_raw_value(data).unwrap_or_else(|error| {
            tracing::error!(name, %error, "the data of an event cannot be serialized");
            RawValue::NULL.to_owned()
        });
        let (traits, priority) = (EventAttributes::default(), Priority::default());
        Self {
            id: new_id(IdKind::Event),
            at,
            name: name.to_owned(),
            channels,
            data,
            traits,
            priority,
            loss: DropPolicy::Never,
        }
    }

    /// Sets the attributes.
    #[must_use]
    pub fn with(mut self, traits: EventAttributes) -> Self {
        self.traits = traits;
        self
    }

    /// Sets the priority to urgent.
    #[must_use]
    pub fn urgent(mut self) -> Self {
        self.priority = Priority::Urgent;
        self
    }

    /// Allows the event to be dropped for subscribers that are too slow.
    #[must_use]
    pub fn conflated(mut self) -> Self {
        self.loss = DropPolicy::Conflated;
        self
    }

    /// Returns the write to add to the batch of the records that the event describes.
    ///
    /// # Errors
    ///
    /// Fails if the event is too large to be stored.
    pub fn op(&self) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Tree::Outbox, key: self.id.clone().into_bytes(), rec: self.encode()? })
    }
}

impl Record for Event {
    const TREE: Tree = Tree::Outbox;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// The latest value of something that changes too often to be kept: only the most recent one is delivered.
#[derive(Debug, Clone)]
pub struct LatestValue {
    /// Name of the channel, such as `devices:dev_01…:telemetry`.
    pub channel: String,
    /// Name of the event, such as `device.telemetry`.
    pub name: String,
    /// Time of the value.
    pub at: Millis,
    /// Values with the same key replace one another.
    pub key: String,
    /// JSON object sent as the frame's `data`.
    pub data: Box<RawValue>,
}

/// Interface for publishing to the feed. No method waits or fails: what the hub cannot accept now stays in the outbox.
pub trait Publish: Send + Sync + std::fmt::Debug {
    /// Publishes committed events, in the order in which they occurred.
    fn publish(&self, events: Vec<Event>);

    /// Publishes events of channels without durable history: they are in no outbox and no journal. If the hub cannot
    /// accept them, they are lost; the channels then get a new epoch, and their subscribers start again. Events that
    /// may be dropped ([`DropPolicy::Conflated`]) are dropped earlier, counted, and cause no new epoch.
    fn publish_transient(&self, events: Vec<Event>);

    /// Declares that events of channels without durable history may have been lost before they were published: the
    /// channels get a new epoch.
    fn mark_lost(&self);

    /// Publishes a value that is not stored.
    fn publish_latest(&self, value: LatestValue);

    /// Restricts a channel to fewer subscribers. The subscriptions of the others end, and they receive nothing that is
    /// published later. This includes clients that received the channel's state before this call.
    fn restrict(&self, restriction: ChannelRestriction);
}

/// Restriction of a channel to some subscribers.
#[derive(Clone)]
pub struct ChannelRestriction {
    /// Name of the channel.
    pub channel: Arc<str>,
    /// Reason reported to those whose subscription ends.
    pub reason: &'static str,
    may: Arc<dyn Fn(&Viewer) -> bool + Send + Sync>,
}

impl ChannelRestriction {
    /// Creates a restriction to the viewers for which `may` returns true. The others receive `reason`.
    pub fn new(channel: String, reason: &'static str, may: impl Fn(&Viewer) -> bool + Send + Sync + 'static) -> Self {
        Self { channel: channel.into(), reason, may: Arc::new(may) }
    }

    /// Returns whether the viewer may still subscribe.
    pub fn allows(&self, viewer: &Viewer) -> bool {
        (self.may)(viewer)
    }
}

impl std::fmt::Debug for ChannelRestriction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Review").field("channel", &self.channel).field("reason", &self.reason).finish_non_exhaustive()
    }
}

/// The feed as held by a feature.
pub type Publisher = Arc<dyn Publish>;

/// A publisher for tests that records what it receives.
#[derive(Debug, Default)]
pub struct RecordingPublisher {
    events: SegQueue<Event>,
    latest: SegQueue<LatestValue>,
    restrictions: SegQueue<ChannelRestriction>,
    losses: AtomicUsize,
}

impl RecordingPublisher {
    /// Returns how often `mark_lost` was called.
    pub fn losses(&self) -> usize {
        self.losses.load(Ordering::Acquire)
    }

    /// Removes and returns the events published so far.
    pub fn take(&self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.pop()).collect()
    }

    /// Removes and returns the latest values published so far.
    pub fn take_latest(&self) -> Vec<LatestValue> {
        std::iter::from_fn(|| self.latest.pop()).collect()
    }

    /// Removes and returns the restrictions requested so far.
    pub fn take_restrictions(&self) -> Vec<ChannelRestriction> {
        std::iter::from_fn(|| self.restrictions.pop()).collect()
    }
}

impl Publish for RecordingPublisher {
    fn publish(&self, events: Vec<Event>) {
        events.into_iter().for_each(|event| self.events.push(event));
    }

    fn publish_transient(&self, events: Vec<Event>) {
        self.publish(events);
    }

    fn mark_lost(&self) {
        self.losses.fetch_add(1, Ordering::AcqRel);
    }

    fn publish_latest(&self, value: LatestValue) {
        self.latest.push(value);
    }

    fn restrict(&self, restriction: ChannelRestriction) {
        self.restrictions.push(restriction);
    }
}
