//! Requests to the hub that have a reply. Other inputs of shards and features go through its inbox.

use std::sync::Arc;

use actix::Message;
use muster_store::JournalStats;
use serde::Serialize;

use super::{Position, Publication, RecoveryFailure, Refused};
use muster_core::principal::Viewer;
use muster_core::{Error, Millis};

/// A page of a channel's history.
#[derive(Debug, Clone)]
pub struct HistoryPage {
    /// Name of the channel.
    pub channel: Arc<str>,
    /// Current position of the channel.
    pub position: Position,
    /// `Ok` if `publications` begins directly after the requested position; otherwise it begins with the oldest one
    /// kept.
    pub recovered: Result<(), RecoveryFailure>,
    /// The publications, oldest first.
    pub publications: Vec<Arc<Publication>>,
    /// Whether further publications follow.
    pub more: bool,
}

/// Why a history cannot be returned.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryError {
    /// The viewer may not read the channel.
    Refused(Refused),
    /// The hub is not available.
    Down(Error),
}

/// A principal that is subscribed to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Present {
    /// `usr_…`, `key_…` or `dev_…`.
    pub user: Arc<str>,
    /// Number of its connections that are subscribed.
    pub connections: usize,
    /// Time of the oldest of these subscriptions.
    pub since: Millis,
}

/// Statistics of a channel in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChannelStats {
    /// Name of the channel.
    pub channel: Arc<str>,
    /// Last published offset.
    pub offset: u64,
    /// Number of publications in the history.
    pub history: usize,
    /// Size of the history, in bytes.
    pub bytes: usize,
    /// Number of subscriptions.
    pub subscribers: usize,
}

/// Figures for status and metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedStats {
    /// Base of the epochs of durable channels.
    pub epoch: String,
    /// Number of channels in memory.
    pub channels: usize,
    /// Number of attached shards.
    pub shards: usize,
    /// Number of subscriptions.
    pub subscriptions: usize,
    /// Publications since the start, counted once per channel.
    pub published: u64,
    /// Publications, values and replies delivered to shards since the start.
    pub delivered: u64,
    /// Publications in all histories.
    pub history: usize,
    /// Size of all histories, in bytes.
    pub history_bytes: usize,
    /// Snapshots requested and not replied to.
    pub pending_snapshots: usize,
    /// Published events that are still in the outbox.
    pub unsettled: usize,
    /// Times at which a shard's queue was full.
    pub overflows: u64,
    /// Latest values dropped because the queue was full.
    pub values_dropped: u64,
    /// Transient events dropped because the queue was full.
    pub transient_lost: u64,
    /// Reason for which nothing is published, if so: the journal or the store fails, and events remain in the outbox.
    pub stuck: Option<String>,
    /// Figures of the feed's journal.
    pub journal: JournalStats,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<HistoryPage, Refused>")]
pub(super) struct HistoryRequest {
    pub(super) channel: String,
    pub(super) since: Option<Position>,
    pub(super) limit: usize,
    pub(super) viewer: Viewer,
}

#[derive(Debug, Message)]
#[rtype(result = "Vec<Present>")]
pub(super) struct PresenceRequest(pub(super) String);

#[derive(Debug, Message)]
#[rtype(result = "Vec<ChannelStats>")]
pub(super) struct ChannelsRequest(pub(super) usize);

#[derive(Debug, Message)]
#[rtype(result = "FeedStats")]
pub(super) struct StatsRequest;
