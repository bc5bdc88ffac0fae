//! The state of a channel, asked of the feature that owns it when a subscriber cannot resume.

use serde::Serialize;
use serde_json::value::RawValue;

use muster_core::principal::Viewer;

/// One item of a channel's state, as in the answer to `subscribe`.
#[derive(Debug, Clone, Serialize)]
pub struct StateItem {
    pub id: String,
    pub version: u64,
    pub data: Box<RawValue>,
}

/// Why a channel is not shown. A channel that is not there and one that the viewer must not know of are both `NotFound`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    NotFound,
    /// The feature does not answer now.
    Unavailable,
}

/// What a feature is asked for.
#[derive(Debug)]
pub struct SnapshotAsk {
    pub channel: String,
    pub viewer: Viewer,
    pub reply: SnapshotReply,
}

/// Where the answer goes: into the hub's mailbox, behind every event that the feature published before. So the position
/// that the hub then reads is the state's own, and nothing between the two is lost or told twice.
pub struct SnapshotReply(Box<dyn FnOnce(Result<Vec<StateItem>, Denied>) + Send>);

impl SnapshotReply {
    pub fn new(send: impl FnOnce(Result<Vec<StateItem>, Denied>) + Send + 'static) -> Self {
        Self(Box::new(send))
    }

    /// To be called in the turn in which the state was read.
    pub fn send(self, state: Result<Vec<StateItem>, Denied>) {
        (self.0)(state);
    }
}

impl std::fmt::Debug for SnapshotReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SnapshotReply")
    }
}

/// A feature that owns the state behind channels. It is asked without waiting; a feature that is down answers
/// `Unavailable` at once.
pub trait SnapshotSource: Send + Sync + std::fmt::Debug {
    fn ask(&self, ask: SnapshotAsk);
}
