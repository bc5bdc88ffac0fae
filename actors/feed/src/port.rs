//! What goes between the hub and the shards that own connections.
//!
//! A shard is a thread's worth of connections. The hub tells each shard once what all its subscribers are to get; the
//! shard keeps, for each channel that one of its connections subscribes to, a ring of what came, and each connection a
//! cursor into it. Everything for a shard comes through its [`ShardPort`] in one order: so what follows a `Subscribed`
//! of a channel comes behind its position, and nothing between is lost or told twice.

use std::sync::Arc;

use bytes::Bytes;

use super::{Denied, StateItem};
use muster_core::Millis;
use muster_core::event::{DropPolicy, EventAttributes, Priority};
use muster_core::principal::Viewer;

/// Names a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShardId(pub u32);

/// Names a connection within its shard; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// One event on one channel, encoded once for all who get it.
#[derive(Debug)]
pub struct Publication {
    pub channel: Arc<str>,
    /// Gapless within channel and epoch; the first is 1.
    pub offset: u64,
    /// `incident.updated`, and what else filters look at.
    pub name: Arc<str>,
    pub traits: EventAttributes,
    pub priority: Priority,
    /// What becomes of it where a reader is too slow.
    pub loss: DropPolicy,
    pub at: Millis,
    /// The frame's text: `{"ch":…,"off":…,"ev":…,"ts":…,"eid":…,"data":…}`.
    pub json: Bytes,
}

/// A position in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Changes where continuity cannot be proven.
    pub epoch: Arc<str>,
    /// The last offset that was told; 0 before the first.
    pub offset: u64,
}

/// Why a subscriber is not resumed where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The history does not reach back so far, or the offset was never given out.
    Gap,
    /// The channel's epoch is another.
    Epoch,
    /// More was missed than is sent again: 500 publications.
    Limit,
}

impl Why {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Epoch => "epoch",
            Self::Limit => "limit",
        }
    }
}

/// What a connection asks to subscribe to.
#[derive(Debug, Clone)]
pub struct SubscribeAsk {
    pub shard: ShardId,
    pub conn: ConnId,
    /// Given back with the answer.
    pub tag: u64,
    pub channel: String,
    pub since: Option<Position>,
    /// Whether the state is wanted where the subscriber cannot resume.
    pub snapshot: bool,
    pub viewer: Viewer,
}

/// A subscription that stands.
#[derive(Debug, Clone)]
pub struct Subscribed {
    pub channel: Arc<str>,
    /// Where the subscriber stands after `missed` or `state`.
    pub position: Position,
    /// `Ok` where `missed` is everything since the asker's position; without a `since` it is `Ok` and empty.
    pub recovered: Result<(), Why>,
    /// Whether the asker said where it was.
    pub resumed: bool,
    pub missed: Vec<Arc<Publication>>,
    /// The channel's state, where it was wanted and the feature keeps one.
    pub state: Option<Vec<StateItem>>,
    /// Whether only the newest values of the channel are delivered.
    pub latest: bool,
    /// Whose events the subscriber is to be told, where not everybody's: `missed` and what follows may hold others.
    pub only: Option<Arc<str>>,
}

/// Why there is no subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    Denied(Denied),
    /// The permission that the channel needs.
    Forbidden(&'static str),
    /// No channel is named so.
    NoChannel,
}

/// What the hub tells a shard.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// For whoever of the shard subscribes to its channel.
    Publication(Arc<Publication>),
    /// The newest value of a key of a channel that only delivers those.
    Latest { channel: Arc<str>, key: Arc<str>, offset: u64, json: Bytes },
    /// The answer to a [`SubscribeAsk`].
    Subscribed { conn: ConnId, tag: u64, answer: Result<Box<Subscribed>, Refused> },
    /// A subscription that the hub ended, such as where the thing that the channel was about is gone.
    Unsubscribed { conn: ConnId, channel: Arc<str>, reason: &'static str },
    /// The hub lost its place (it died and came back): every connection of the shard subscribes anew.
    Reset,
}

/// A shard takes no more now: it lost its place, and its connections are told to come again (4203).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow;

/// Where a shard is told. Never waits.
pub trait ShardPort: Send + Sync + std::fmt::Debug {
    /// # Errors
    /// `Overflow` where its queue is full.
    fn deliver(&self, what: Vec<Delivery>) -> Result<(), Overflow>;
}
