//! The live feed: channels with a gapless order, a history to resume from, and one encoding of each event.

mod event;
mod port;
mod snapshot;

pub use event::{Event, Latest, Priority, Publish, Publisher, Recorder, Traits};
pub use port::{
    ConnId, Delivery, Overflow, Position, Publication, Refused, ShardId, ShardPort, SubscribeAsk, Subscribed, Why,
};
pub use snapshot::{Denied, SnapshotAsk, SnapshotReply, SnapshotSource, StateItem, Viewer};
