//! The live feed: channels with a gapless order, a history to resume from, and one encoding of each event.

mod actor;
mod asks;
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
mod port;
mod record;
mod review;
mod rules;
mod service;
mod settle;
mod shared;
mod snapshot;
mod subscribe;
mod subscriptions;
mod tell;
#[cfg(test)]
mod tests;
mod turn;

pub use messages::{ChannelStats, FeedStats, HistoryError, HistoryPage, Present};
pub use options::{FeedOptions, Limits};
pub use port::{
    ConnId, Delivery, Overflow, Position, Publication, Refused, ShardId, ShardPort, SubscribeAsk, Subscribed, Why,
};
pub use rules::{AGENTS, Audience, ChannelKind, ChannelRule, DISASTER, Keeping, MAX_CHANNEL, Rules, State};
pub use service::Feed;
pub use snapshot::{Denied, SnapshotAsk, SnapshotReply, SnapshotSource, StateItem};
