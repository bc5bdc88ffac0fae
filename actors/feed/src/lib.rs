//! The event feed: channels with gapless order, a history to resume from, and a single encoding of each event.
//!
//! [`Feed`] is the public interface. Features commit events to the outbox and pass them to [`Feed::publisher`]; the
//! hub, an actor, assigns offsets, appends them to its journal and delivers them to the attached shards
//! ([`ShardPort`]). A subscriber that reconnects names its [`Position`] and receives exactly what it missed, or the
//! reason why it cannot ([`RecoveryFailure`]). While the store or the journal rejects writes, events wait in the outbox
//! and are published, once, when writing succeeds again.

#![warn(missing_docs)]

mod actor;
mod channel;
mod epoch;
mod frame;
mod histories;
mod inbox;
mod latest;
mod load;
mod log;
mod messages;
mod options;
mod outbox;
mod outgoing;
mod pending;
mod port;
mod publish;
mod record;
mod review;
mod rounds;
mod rules;
mod service;
mod settle;
mod shared;
mod snapshot;
mod subscribe;
mod subscriptions;
#[cfg(test)]
mod tests;

pub use messages::{ChannelStats, FeedStats, HistoryError, HistoryPage, Present};
pub use options::{FeedOptions, Limits};
pub use port::{
    ConnId, Delivery, Overflow, Position, Publication, RecoveryFailure, Refused, ShardId, ShardPort, SubscribeRequest,
    Subscribed,
};
pub use rules::{AGENTS, Audience, ChannelKind, ChannelRule, ChannelState, DISASTER, Retention, Rules};
pub use service::Feed;
pub use snapshot::{Denied, SnapshotReply, SnapshotRequest, SnapshotSource, StateItem};
