//! What the hub is asked with an answer. What shards and features tell it goes through its inbox.

use std::sync::Arc;

use actix::Message;
use muster_store::JournalStats;
use serde::Serialize;

use super::{Position, Publication, Refused, Why};
use muster_core::principal::Viewer;
use muster_core::{Error, Millis};

/// A part of a channel's history.
#[derive(Debug, Clone)]
pub struct HistoryPage {
    pub channel: Arc<str>,
    /// Where the channel stands.
    pub position: Position,
    /// Whether `publications` begin right behind the position that was asked for; else they begin at the oldest kept.
    pub recovered: Result<(), Why>,
    pub publications: Vec<Arc<Publication>>,
    /// More stand behind them.
    pub more: bool,
}

/// Why there is no history.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryError {
    Refused(Refused),
    /// The hub does not answer now.
    Down(Error),
}

/// Someone who subscribes to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Present {
    /// `usr_…`, `key_…` or `dev_…`.
    pub user: Arc<str>,
    pub connections: usize,
    /// Of the oldest of these connections' subscriptions.
    pub since: Millis,
}

/// A channel in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChannelStats {
    pub channel: Arc<str>,
    pub offset: u64,
    pub history: usize,
    pub bytes: usize,
    pub subscribers: usize,
}

/// Figures for status and metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedStats {
    pub epoch: String,
    pub channels: usize,
    pub shards: usize,
    pub subscriptions: usize,
    /// Publications told since the start, counted once for each channel.
    pub published: u64,
    /// Publications, values and answers handed to shards since the start.
    pub delivered: u64,
    /// Publications in all histories.
    pub history: usize,
    pub history_bytes: usize,
    /// Snapshots asked for and not answered.
    pub asked: usize,
    /// Events told that still stand in the outbox.
    pub unsettled: usize,
    /// Shards that took no more.
    pub overflows: u64,
    /// Newest values that found no room.
    pub values_lost: u64,
    /// Events of channels that keep nothing over a restart that found no room.
    pub told_lost: u64,
    /// Why events wait in the outbox, where they do: the journal takes none.
    pub stuck: Option<String>,
    pub journal: JournalStats,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<HistoryPage, Refused>")]
pub(super) struct AskHistory {
    pub(super) channel: String,
    pub(super) since: Option<Position>,
    pub(super) limit: usize,
    pub(super) viewer: Viewer,
}

#[derive(Debug, Message)]
#[rtype(result = "Vec<Present>")]
pub(super) struct AskPresence(pub(super) String);

#[derive(Debug, Message)]
#[rtype(result = "Vec<ChannelStats>")]
pub(super) struct AskChannels(pub(super) usize);

#[derive(Debug, Message)]
#[rtype(result = "FeedStats")]
pub(super) struct AskStats;
