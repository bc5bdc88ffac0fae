//! The event feed: channels with gapless order, a history to resume from, and a single encoding of each event.

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
pub use rules::{AGENTS, Audience, ChannelKind, ChannelRule, DISASTER, MAX_CHANNEL, Retention, Rules, State};
pub use service::Feed;
pub use snapshot::{Denied, SnapshotReply, SnapshotRequest, SnapshotSource, StateItem};
