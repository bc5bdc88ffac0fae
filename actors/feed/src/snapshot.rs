//! The state of a channel, requested from its feature when a subscriber cannot resume.

use serde::Serialize;
use serde_json::value::RawValue;

use muster_core::principal::Viewer;

/// An item of a channel's state, as in the reply to `subscribe`.
#[derive(Debug, Clone, Serialize)]
pub struct StateItem {
    /// Identifier of the item.
    pub id: String,
    /// Version of the item.
    pub version: u64,
    /// The item as JSON.
    pub data: Box<RawValue>,
}

/// Why a channel is not available. Both a missing channel and one that the viewer must not know of are `NotFound`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The channel does not exist, or the viewer must not know of it.
    NotFound,
    /// The feature is not available.
    Unavailable,
}

/// A request for a channel's state.
#[derive(Debug)]
pub struct SnapshotRequest {
    /// Name of the channel.
    pub channel: String,
    /// The viewer.
    pub viewer: Viewer,
    /// Receiver of the reply.
    pub reply: SnapshotReply,
}

/// Reply channel: into the hub's inbox, behind every event that the feature published before. The position that the hub
/// then reads is therefore that of the state, and nothing in between is lost or duplicated.
pub struct SnapshotReply(Box<dyn FnOnce(Result<Vec<StateItem>, Denied>) + Send>);

impl SnapshotReply {
    /// Creates a reply channel.
    pub fn new(send: impl FnOnce(Result<Vec<StateItem>, Denied>) + Send + 'static) -> Self {
        Self(Box::new(send))
    }

    /// Sends the reply. Must be called in the same message handler in which the state was read.
    pub fn send(self, state: Result<Vec<StateItem>, Denied>) {
        (self.0)(state);
    }
}

impl std::fmt::Debug for SnapshotReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SnapshotReply")
    }
}

/// A feature that provides the state of channels. Requests do not wait; a feature that is down replies `Unavailable`
/// immediately.
pub trait SnapshotSource: Send + Sync + std::fmt::Debug {
    /// Requests the state of a channel. Must not wait.
    fn request(&self, request: SnapshotRequest);
}
