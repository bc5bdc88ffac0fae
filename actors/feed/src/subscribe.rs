//! Subscribing: permission, state, history, and the position that connects them.

use std::future::ready;
use std::sync::Arc;

use actix::ResponseFuture;
use tokio::sync::oneshot;

use super::actor::Hub;
use super::inbox::Input;
use super::messages::HistoryRequest;
use super::pending::{HasChannel, PendingRequest};
use super::subscriptions::ConnectionKey;
use super::{
    Audience, ChannelKind, ChannelRule, ChannelState, Delivery, Denied, HistoryPage, Position, RecoveryFailure,
    Refused, ShardId, SnapshotReply, SnapshotRequest, StateItem, SubscribeRequest, Subscribed,
};
use muster_core::principal::Viewer;

/// A request that waits for a feature's reply.
#[derive(Debug)]
pub(super) enum WaitingRequest {
    Subscribe(SubscribeRequest),
    History(HistoryRequest, oneshot::Sender<Result<HistoryPage, Refused>>),
    /// Whether an existing subscription is still permitted.
    ChannelRestriction {
        connection: ConnectionKey,
        channel: Arc<str>,
        viewer: Viewer,
    },
}

impl HasChannel for WaitingRequest {
    fn connection(&self) -> Option<ConnectionKey> {
        match self {
            Self::Subscribe(request) => Some((request.shard, request.conn)),
            Self::History(..) => None,
            Self::ChannelRestriction { connection, .. } => Some(*connection),
        }
    }

    fn channel(&self) -> &str {
        match self {
            Self::Subscribe(request) => &request.channel,
            Self::History(request, _) => &request.channel,
            Self::ChannelRestriction { channel, .. } => channel,
        }
    }
}

impl ChannelRule {
    /// Returns whether only the feature knows if the channel exists.
    pub(super) fn needs_feature_decision(&self) -> bool {
        self.is_per_resource() && self.audience != Audience::Own
    }
}

impl Hub {
    pub(super) fn subscribe(&mut self, request: SubscribeRequest) {
        let rule = match self.resources.rules.admit(&request.channel, &request.viewer) {
            Ok(rule) => *rule,
            Err(refused) => return self.refuse(&request, refused),
        };
        if rule.needs_feature_decision()
            || (rule.state == ChannelState::Provided && request.snapshot && !self.resumes(&rule, &request))
        {
            let until = self.started_at.elapsed() + self.limits().snapshot_patience;
            self.request_state(PendingRequest::new(WaitingRequest::Subscribe(request), until));
        } else {
            self.complete(request, &rule, None);
        }
    }

    pub(super) fn history(&mut self, request: HistoryRequest) -> ResponseFuture<Result<HistoryPage, Refused>> {
        let rule = match self.resources.rules.admit(&request.channel, &request.viewer) {
            Ok(rule) => *rule,
            Err(refused) => return Box::pin(ready(Err(refused))),
        };
        if !rule.needs_feature_decision() {
            return Box::pin(ready(self.page(&request, &rule)));
        }
        let until = self.started_at.elapsed() + self.limits().snapshot_patience;
        let (answer, answered) = oneshot::channel();
        self.request_state(PendingRequest::new(WaitingRequest::History(request, answer), until));
        Box::pin(async { answered.await.unwrap_or(Err(Refused::Denied(Denied::Unavailable))) })
    }

    /// Requests the state from the feature. Its reply comes through the inbox, behind everything that it published
    /// before.
    pub(super) fn request_state(&mut self, mut pending: PendingRequest<WaitingRequest>) {
        let (channel, viewer) = match &pending.waiting {
            WaitingRequest::Subscribe(request) => (request.channel.clone(), request.viewer.clone()),
            WaitingRequest::History(request, _) => (request.channel.clone(), request.viewer.clone()),
            WaitingRequest::ChannelRestriction { channel, viewer, .. } => (channel.as_ref().to_owned(), viewer.clone()),
        };
        let source = self.resources.shared.source(&channel).filter(|_| self.pending.len() < self.limits().snapshots);
        match source {
            Some(source) if pending.count_try(self.generation) => {
                let (id, inbox) = (self.pending.put(pending), Arc::clone(&self.resources.inbox));
                let reply = SnapshotReply::new(move |state| inbox.push(Input::State(id, state)));
                source.request(SnapshotRequest { channel, viewer, reply });
            }
            _ => self.refuse_unavailable(pending.waiting),
        }
    }

    /// Processes a feature's reply.
    pub(super) fn handle_reply(&mut self, id: u64, state: Result<Vec<StateItem>, Denied>) {
        let Some(pending) = self.pending.take(id) else { return };
        if self.stuck.is_some() {
            // The state may include events that could not be published, so no position matches it.
            return self.refuse_unavailable(pending.waiting);
        }
        if pending.generation != self.generation {
            return self.request_state(pending);
        }
        match (pending.waiting, state) {
            (waiting, Err(Denied::Unavailable)) => self.refuse_unavailable(waiting),
            (WaitingRequest::ChannelRestriction { connection, channel, .. }, Err(_)) => {
                self.revoked(connection, &channel)
            }
            (WaitingRequest::ChannelRestriction { .. }, Ok(_)) => {}
            (WaitingRequest::Subscribe(request), Err(denied)) => self.refuse(&request, Refused::Denied(denied)),
            (WaitingRequest::Subscribe(request), Ok(state)) => {
                match self.resources.rules.find(&request.channel).copied() {
                    Some(rule) => self.complete(request, &rule, Some(state)),
                    None => self.refuse(&request, Refused::NoChannel),
                }
            }
            // The requester may no longer wait.
            (WaitingRequest::History(_, answer), Err(denied)) => drop(answer.send(Err(Refused::Denied(denied)))),
            (WaitingRequest::History(request, answer), Ok(_)) => {
                let rule = self.resources.rules.find(&request.channel).copied();
                drop(answer.send(rule.ok_or(Refused::NoChannel).and_then(|rule| self.page(&request, &rule))));
            }
        }
    }

    pub(super) fn refuse_unavailable(&mut self, waiting: WaitingRequest) {
        match waiting {
            WaitingRequest::Subscribe(request) => self.refuse(&request, Refused::Denied(Denied::Unavailable)),
            WaitingRequest::History(_, answer) => drop(answer.send(Err(Refused::Denied(Denied::Unavailable)))),
            WaitingRequest::ChannelRestriction { connection, channel, .. } => self.revoked(connection, &channel),
        }
    }

    fn refuse(&mut self, request: &SubscribeRequest, refused: Refused) {
        let answer = Delivery::Subscribed { conn: request.conn, tag: request.tag, answer: Err(refused) };
        self.out.push(request.shard, answer);
    }

    fn resumes(&mut self, rule: &ChannelRule, request: &SubscribeRequest) -> bool {
        let Some(since) = &request.since else { return false };
        let (epoch, most) = (self.epochs.of(&request.channel, rule.durable()), self.limits().recover);
        let found =
            matches!(self.open(&request.channel), Ok(Some(channel)) if channel.missed(since, &epoch, most).is_ok());
        self.histories.release(&request.channel);
        found
    }

    /// Completes the subscription: from here on every publication of the channel follows the reply.
    fn complete(&mut self, request: SubscribeRequest, rule: &ChannelRule, state: Option<Vec<StateItem>>) {
        let positioned = match rule.kind {
            ChannelKind::Log => self.log_position(&request, rule),
            ChannelKind::Latest => Some(self.latest_position(&request, state.as_ref())),
        };
        let Some(mut subscribed) = positioned else {
            return self.refuse(&request, Refused::Denied(Denied::Unavailable));
        };
        let has_state = rule.state == ChannelState::Provided || rule.kind == ChannelKind::Latest;
        if request.snapshot && has_state && !(subscribed.resumed && subscribed.recovered.is_ok()) {
            subscribed.state = subscribed.state.or(state);
        } else {
            subscribed.state = None;
        }
        let (connection, now) = ((request.shard, request.conn), self.now());
        if self.subscriptions.add(&subscribed.channel, connection, &request.viewer, now) {
            self.pin(&subscribed.channel);
        }
        let answer = Ok(Box::new(subscribed));
        self.out.push(request.shard, Delivery::Subscribed { conn: request.conn, tag: request.tag, answer });
    }

    fn log_position(&mut self, request: &SubscribeRequest, rule: &ChannelRule) -> Option<Subscribed> {
        let (epoch, most) = (self.epochs.of(&request.channel, rule.durable()), self.limits().recover);
        let channel = match self.open(&request.channel) {
            Ok(channel) => channel?,
            Err(error) => {
                tracing::error!(channel = %request.channel, %error, "a channel's offset cannot be read");
                return None;
            }
        };
        let found = request.since.as_ref().map_or(Ok(Vec::new()), |since| channel.missed(since, &epoch, most));
        let (recovered, missed) = match found {
            Ok(missed) => (Ok(()), missed),
            Err(why) => (Err(why), Vec::new()),
        };
        Some(Subscribed {
            channel: Arc::clone(&channel.name),
            position: Position { epoch, offset: channel.last() },
            recovered,
            resumed: request.since.is_some(),
            missed,
            state: None,
            latest: false,
            only: rule.only(&request.viewer),
        })
    }

    fn latest_position(&mut self, request: &SubscribeRequest, state: Option<&Vec<StateItem>>) -> Subscribed {
        let epoch = self.epochs.of(&request.channel, false);
        let values = self.latest_channels.open(&request.channel);
        let recovered = match &request.since {
            Some(since) if since.epoch != epoch => Err(RecoveryFailure::Epoch),
            Some(since) if since.offset != values.last => Err(RecoveryFailure::Gap),
            _ => Ok(()),
        };
        let newest = values.state();
        Subscribed {
            channel: Arc::clone(&values.name),
            position: Position { epoch, offset: values.last },
            recovered,
            resumed: request.since.is_some(),
            missed: Vec::new(),
            // Values received since the start are newer than those stored by the feature.
            state: Some(if newest.is_empty() { state.cloned().unwrap_or_default() } else { newest }),
            latest: true,
            only: None,
        }
    }

    fn page(&mut self, request: &HistoryRequest, rule: &ChannelRule) -> Result<HistoryPage, Refused> {
        let (epoch, most) = (self.epochs.of(&request.channel, rule.durable()), self.limits().recover);
        if rule.kind == ChannelKind::Latest {
            let values = self.latest_channels.open(&request.channel);
            let (channel, position) = (Arc::clone(&values.name), Position { epoch, offset: values.last });
            self.latest_channels.release(&request.channel);
            return Ok(HistoryPage { channel, position, recovered: Ok(()), publications: Vec::new(), more: false });
        }
        let channel = self.open(&request.channel).map_err(|_| Refused::Denied(Denied::Unavailable))?;
        let channel = channel.ok_or(Refused::NoChannel)?;
        let limit = request.limit.clamp(1, most);
        let page = match rule.only(&request.viewer) {
            None => channel.page(request.since.as_ref(), &epoch, limit),
            // Filters the whole history, so that a page is not short of later publications.
            Some(owner) => channel.page(request.since.as_ref(), &epoch, usize::MAX).of(&owner, limit),
        };
        let (name, position) = (Arc::clone(&channel.name), Position { epoch, offset: channel.last() });
        self.histories.release(&name);
        let (recovered, publications, more) = (page.recovered, page.publications, page.more);
        Ok(HistoryPage { channel: name, position, recovered, publications, more })
    }

    pub(super) fn unsubscribe(&mut self, connection: ConnectionKey, channel: &str) {
        self.pending.withdraw(connection, channel);
        if self.subscriptions.remove(channel, connection) {
            self.unpin(channel);
        }
    }

    pub(super) fn connection_closed(&mut self, connection: ConnectionKey) {
        self.pending.connection_closed(connection);
        self.subscriptions.connection_closed(connection).iter().for_each(|channel| self.unpin(channel));
    }

    pub(super) fn detached(&mut self, shard: ShardId) {
        self.pending.detached(shard);
        self.subscriptions.detached(shard).iter().for_each(|channel| self.unpin(channel));
    }

    fn pin(&mut self, channel: &str) {
        if let Some(channel) = self.histories.get_mut(channel) {
            channel.pins += 1;
        } else if let Some(values) = self.latest_channels.get_mut(channel) {
            values.pins += 1;
        }
    }

    pub(super) fn unpin(&mut self, channel: &str) {
        if let Some(known) = self.histories.get_mut(channel) {
            known.pins = known.pins.saturating_sub(1);
            self.histories.release(channel);
        } else if let Some(values) = self.latest_channels.get_mut(channel) {
            values.pins = values.pins.saturating_sub(1);
            self.latest_channels.release(channel);
        }
    }
}
