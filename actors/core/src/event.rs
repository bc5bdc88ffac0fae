//! What features hand to the feed: events, committed together with what they tell of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_queue::SegQueue;
use muster_store::{Encoding, Op, Record, StoreError, Tree};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Millis;
use crate::ids::{IdKind, new_id};
use crate::principal::Viewer;

/// What subscriptions filter by. What an event leaves out, no filter on it lets through.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Traits {
    /// West, south, east, north, in degrees; west > east crosses the antimeridian.
    pub bbox: Option<[f64; 4]>,
    /// CAP's severity as a number: 0 Unknown, 1 Minor, 2 Moderate, 3 Severe, 4 Extreme.
    pub severity: Option<u8>,
    /// Whose it is, on channels where one may see only what is one's own.
    #[serde(default)]
    pub owner: Option<Arc<str>>,
}

/// How soon an event has to be seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    #[default]
    Normal,
    /// Before everything that waits, such as an alert of extreme severity.
    Urgent,
}

/// Something that happened, told on one or more channels in one order.
///
/// Its feature commits it ([`Event::op`]) in the batch of the records that it tells of, then, in the turn in which it
/// takes that change over, hands it to [`Publish`]. Should the server die in between, the feed finds it in the outbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    /// `evt_…`, unique over all channels.
    pub id: String,
    pub at: Millis,
    /// Such as `incident.updated`.
    pub name: String,
    /// The channels that tell of it, such as `incidents` and `incidents:inc_01…`.
    pub channels: Vec<String>,
    /// The JSON object of the frame's `data`.
    pub data: Box<RawValue>,
    pub traits: Traits,
    pub priority: Priority,
    #[serde(default)]
    pub loss: Loss,
}

/// What becomes of an event that a reader is too slow for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// It waits; a reader that falls too far behind is closed.
    #[default]
    Never,
    /// It is left out and counted.
    Conflated,
}

impl Event {
    /// # Panics
    /// Never: what serialises to no JSON becomes `null`.
    pub fn new(name: &str, at: Millis, channels: Vec<String>, data: &impl Serialize) -> Self {
        let data = serde_json::value::to_raw_value(data).unwrap_or_else(|error| {
            tracing::error!(name, %error, "an event's data is no JSON");
            RawValue::NULL.to_owned()
        });
        let (traits, priority) = (Traits::default(), Priority::default());
        Self {
            id: new_id(IdKind::Event),
            at,
            name: name.to_owned(),
            channels,
            data,
            traits,
            priority,
            loss: Loss::Never,
        }
    }

    #[must_use]
    pub fn with(mut self, traits: Traits) -> Self {
        self.traits = traits;
        self
    }

    #[must_use]
    pub fn urgent(mut self) -> Self {
        self.priority = Priority::Urgent;
        self
    }

    /// A reader that is too slow for it does without.
    #[must_use]
    pub fn conflated(mut self) -> Self {
        self.loss = Loss::Conflated;
        self
    }

    /// The write that belongs into the batch of the records that the event tells of.
    ///
    /// # Errors
    /// It is too large to be stored.
    pub fn op(&self) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Tree::Outbox, key: self.id.clone().into_bytes(), rec: self.encode()? })
    }
}

impl Record for Event {
    const TREE: Tree = Tree::Outbox;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// The latest value of something that changes too often to be kept: only the newest is delivered.
#[derive(Debug, Clone)]
pub struct Latest {
    /// Such as `devices:dev_01…:telemetry`.
    pub channel: String,
    pub name: String,
    pub at: Millis,
    /// Values of the same key replace one another.
    pub key: String,
    pub data: Box<RawValue>,
}

/// The way into the feed. Takes without waiting and never fails: what the hub cannot take now stays in the outbox.
pub trait Publish: Send + Sync + std::fmt::Debug {
    /// Events that are committed, in the order in which they happened.
    fn publish(&self, events: Vec<Event>);

    /// Events of channels that keep nothing over a restart: they are in no outbox and no journal. What the hub cannot take
    /// now is lost; then such channels have another epoch, and their subscribers begin anew. Of events that may be left
    /// out ([`Loss::Conflated`]) only they themselves are lost, sooner than others, and counted.
    fn tell(&self, events: Vec<Event>);

    /// What was to be told of such channels may be lost with whoever would have told it: they have another epoch.
    fn told_less(&self);

    /// A value that is not stored.
    fn latest(&self, value: Latest);

    /// From now on fewer may follow a channel: the subscriptions of the others end, and they get nothing that is published
    /// after this. Whoever was answered for the channel's state before this counts too.
    fn review(&self, review: Review);
}

/// Who may follow a channel from now on.
#[derive(Clone)]
pub struct Review {
    pub channel: Arc<str>,
    pub reason: &'static str,
    may: Arc<dyn Fn(&Viewer) -> bool + Send + Sync>,
}

impl Review {
    /// The others are told `reason`.
    pub fn new(channel: String, reason: &'static str, may: impl Fn(&Viewer) -> bool + Send + Sync + 'static) -> Self {
        Self { channel: channel.into(), reason, may: Arc::new(may) }
    }

    pub fn lets(&self, viewer: &Viewer) -> bool {
        (self.may)(viewer)
    }
}

impl std::fmt::Debug for Review {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Review").field("channel", &self.channel).field("reason", &self.reason).finish_non_exhaustive()
    }
}

/// The feed as a feature holds it.
pub type Publisher = Arc<dyn Publish>;

/// A publisher that keeps what it is handed, for tests of features.
#[derive(Debug, Default)]
pub struct Recorder {
    events: SegQueue<Event>,
    latest: SegQueue<Latest>,
    reviews: SegQueue<Review>,
    losses: AtomicUsize,
}

impl Recorder {
    /// How often it was said that less was told than happened.
    pub fn losses(&self) -> usize {
        self.losses.load(Ordering::Acquire)
    }

    /// Takes what was published so far.
    pub fn take(&self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.pop()).collect()
    }

    /// Takes the latest values that were handed over so far.
    pub fn take_latest(&self) -> Vec<Latest> {
        std::iter::from_fn(|| self.latest.pop()).collect()
    }

    /// Takes the reviews that were asked for so far.
    pub fn take_reviews(&self) -> Vec<Review> {
        std::iter::from_fn(|| self.reviews.pop()).collect()
    }
}

impl Publish for Recorder {
    fn publish(&self, events: Vec<Event>) {
        events.into_iter().for_each(|event| self.events.push(event));
    }

    fn tell(&self, events: Vec<Event>) {
        self.publish(events);
    }

    fn told_less(&self) {
        self.losses.fetch_add(1, Ordering::AcqRel);
    }

    fn latest(&self, value: Latest) {
        self.latest.push(value);
    }

    fn review(&self, review: Review) {
        self.reviews.push(review);
    }
}
