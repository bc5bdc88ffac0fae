//! The live feed: channels with a gapless order, a history to resume from, and one encoding of each event.

mod actor;
mod event;
mod inbox;
mod messages;
mod options;
mod port;
mod rules;
mod service;
mod shared;
mod snapshot;

pub use event::{Event, Latest, Priority, Publish, Publisher, Recorder, Traits};
pub use messages::{ChannelStats, FeedStats, HistoryError, HistoryPage, Present};
pub use options::{FeedOptions, Limits};
pub use port::{
    ConnId, Delivery, Overflow, Position, Publication, Refused, ShardId, ShardPort, SubscribeAsk, Subscribed, Why,
};
pub use rules::{Audience, ChannelKind, ChannelRule, DISASTER, Keeping, MAX_CHANNEL, Rules, State};
pub use service::Feed;
pub use snapshot::{Denied, SnapshotAsk, SnapshotReply, SnapshotSource, StateItem, Viewer};
