//! The hub.

use std::sync::Arc;

use actix::{Actor, Context, Handler, MessageResult, ResponseFuture};
use muster_store::Journal;

use super::inbox::Inbox;
use super::messages::{AskChannels, AskHistory, AskPresence, AskStats};
use super::shared::Shared;
use super::{Denied, FeedOptions, FeedStats, HistoryPage, Refused, Rules};
use crate::supervise::BuildError;

/// What every incarnation gets.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) options: Arc<FeedOptions>,
    pub(super) journal: Arc<Journal>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) shared: Arc<Shared>,
    pub(super) rules: Arc<Rules>,
}

pub struct Hub {
    parts: Parts,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl Hub {
    pub(super) async fn build(parts: Parts) -> Result<Self, BuildError> {
        Ok(Self { parts })
    }
}

impl Actor for Hub {
    type Context = Context<Self>;
}

impl Handler<AskHistory> for Hub {
    type Result = ResponseFuture<Result<HistoryPage, Refused>>;

    fn handle(&mut self, _: AskHistory, _: &mut Context<Self>) -> Self::Result {
        Box::pin(async { Err(Refused::Denied(Denied::Unavailable)) })
    }
}

impl Handler<AskPresence> for Hub {
    type Result = MessageResult<AskPresence>;

    fn handle(&mut self, _: AskPresence, _: &mut Context<Self>) -> Self::Result {
        MessageResult(Vec::new())
    }
}

impl Handler<AskChannels> for Hub {
    type Result = MessageResult<AskChannels>;

    fn handle(&mut self, _: AskChannels, _: &mut Context<Self>) -> Self::Result {
        MessageResult(Vec::new())
    }
}

impl Handler<AskStats> for Hub {
    type Result = MessageResult<AskStats>;

    fn handle(&mut self, _: AskStats, _: &mut Context<Self>) -> Self::Result {
        MessageResult(FeedStats { journal: self.parts.journal.stats(), ..FeedStats::default() })
    }
}
