//! Interface between the hub and the shards that own connections.
//!
//! A shard owns the connections of one thread. The hub delivers to each shard once for all its subscribers; the shard
//! keeps a ring of publications for each subscribed channel, and a cursor into it for each connection. All deliveries
//! to a shard come through its [`ShardPort`] in one order: publications after a `Subscribed` follow its position, so
//! nothing is lost or duplicated in between.

use std::sync::Arc;

use bytes::Bytes;

use super::{Denied, StateItem};
use muster_core::Millis;
use muster_core::event::{DropPolicy, EventAttributes, Priority};
use muster_core::principal::Viewer;

/// Identifies a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShardId(pub u32);

/// Identifies a connection within its shard; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// An event on a channel, encoded once for all subscribers.
#[derive(Debug)]
pub struct Publication {
    /// Name of the channel.
    pub channel: Arc<str>,
    /// Gapless within channel and epoch; the first is 1.
    pub offset: u64,
    /// Name of the event, such as `incident.updated`.
    pub name: Arc<str>,
    /// Attributes by which subscriptions filter.
    pub traits: EventAttributes,
    /// Delivery priority.
    pub priority: Priority,
    /// Whether it may be dropped for subscribers that are too slow.
    pub loss: DropPolicy,
    /// Time of the event.
    pub at: Millis,
    /// The frame: `{"ch":…,"off":…,"ev":…,"ts":…,"eid":…,"data":…}`.
    pub json: Bytes,
}

/// A position in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Changes whenever continuity cannot be proven.
    pub epoch: Arc<str>,
    /// The last published offset; 0 before the first.
    pub offset: u64,
}

/// Why a subscriber cannot resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryFailure {
    /// The history does not reach back far enough, or the offset was never assigned.
    Gap,
    /// The channel has a different epoch.
    Epoch,
    /// More publications were missed than are sent again (500).
    Limit,
}

impl RecoveryFailure {
    /// Returns the name used in the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Epoch => "epoch",
            Self::Limit => "limit",
        }
    }
}

/// A subscription request.
#[derive(Debug, Clone)]
pub struct SubscribeRequest {
    /// Shard of the connection.
    pub shard: ShardId,
    /// The connection.
    pub conn: ConnId,
    /// Returned with the reply.
    pub tag: u64,
    /// Name of the channel.
    pub channel: String,
    /// Position from which to resume.
    pub since: Option<Position>,
    /// Whether the state is requested if the subscriber cannot resume.
    pub snapshot: bool,
    /// The subscriber.
    pub viewer: Viewer,
}

/// A successful subscription.
#[derive(Debug, Clone)]
pub struct Subscribed {
    /// Name of the channel.
    pub channel: Arc<str>,
    /// Position of the subscriber after `missed` or `state`.
    pub position: Position,
    /// `Ok` if `missed` contains everything since the requested position; without a position it is `Ok` and empty.
    pub recovered: Result<(), RecoveryFailure>,
    /// Whether the request contained a position.
    pub resumed: bool,
    /// Publications since the requested position.
    pub missed: Vec<Arc<Publication>>,
    /// State of the channel, if it was requested and the feature provides one.
    pub state: Option<Vec<StateItem>>,
    /// Whether the channel only delivers latest values.
    pub latest: bool,
    /// Owner to whose events the subscriber is restricted, if any; `missed` and later publications may contain others.
    pub only: Option<Arc<str>>,
}

/// Why a subscription was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The channel does not exist for the viewer, or its feature is unavailable.
    Denied(Denied),
    /// The permission required by the channel.
    Forbidden(&'static str),
    /// There is no such channel.
    NoChannel,
}

/// A delivery from the hub to a shard.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A publication for all subscribers of its channel.
    Publication(Arc<Publication>),
    /// The latest value of a key of a channel that only delivers those.
    Latest {
        /// Name of the channel.
        channel: Arc<str>,
        /// Key of the value.
        key: Arc<str>,
        /// Offset of the value.
        offset: u64,
        /// The frame.
        json: Bytes,
    },
    /// Reply to a [`SubscribeRequest`].
    Subscribed {
        /// The connection that subscribed.
        conn: ConnId,
        /// Tag of the request.
        tag: u64,
        /// The subscription, or why there is none.
        answer: Result<Box<Subscribed>, Refused>,
    },
    /// The hub ended a subscription, for example because the channel's resource was deleted.
    Unsubscribed {
        /// The connection.
        conn: ConnId,
        /// Name of the channel.
        channel: Arc<str>,
        /// Reason reported to the client.
        reason: &'static str,
    },
    /// The hub was restarted: all connections of the shard must subscribe again.
    Reset,
}

/// The shard's queue is full: it has lost its position, and its connections are closed with code 4203.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow;

/// Receiver of deliveries. Never waits.
pub trait ShardPort: Send + Sync + std::fmt::Debug {
    /// Accepts deliveries.
    ///
    /// # Errors
    ///
    /// `Overflow` if the queue is full.
    fn deliver(&self, deliveries: Vec<Delivery>) -> Result<(), Overflow>;
}
