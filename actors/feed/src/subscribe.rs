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
    Audience, ChannelKind, ChannelRule, Delivery, Denied, HistoryPage, Position, RecoveryFailure, Refused, ShardId,
    SnapshotReply, SnapshotRequest, State, StateItem, SubscribeRequest, Subscribed,
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
            Self::Subscribe(ask) => Some((ask.shard, ask.conn)),
            Self::History(..) => None,
            Self::ChannelRestriction { connection, .. } => Some(*connection),
        }
    }

    fn channel(&self) -> &str {
        match self {
            Self::Subscribe(ask) => &ask.channel,
            Self::History(ask, _) => &ask.channel,
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
    pub(super) fn subscribe(&mut self, ask: SubscribeRequest) {
        let rule = match self.resources.rules.admit(&ask.channel, &ask.viewer) {
            Ok(rule) => *rule,
            Err(refused) => return self.refuse(&ask, refused),
        };
        if rule.needs_feature_decision()
            || (rule.state == State::Provided && ask.snapshot && !self.resumes(&rule, &ask))
        {
            let until = self.started_at.elapsed() + self.limits().snapshot_patience;
            self.ask(PendingRequest::new(WaitingRequest::Subscribe(ask), until));
        } else {
            self.complete(ask, &rule, None);
        }
    }

    pub(super) fn history(&mut self, ask: HistoryRequest) -> ResponseFuture<Result<HistoryPage, Refused>> {
        let rule = match self.resources.rules.admit(&ask.channel, &ask.viewer) {
            Ok(rule) => *rule,
            Err(refused) => return Box::pin(ready(Err(refused))),
        };
        if !rule.needs_feature_decision() {
            return Box::pin(ready(self.page(&ask, &rule)));
        }
        let until = self.started_at.elapsed() + self.limits().snapshot_patience;
        let (answer, answered) = oneshot::channel();
        self.ask(PendingRequest::new(WaitingRequest::History(ask, answer), until));
        Box::pin(async { answered.await.unwrap_or(Err(Refused::Denied(Denied::Unavailable))) })
    }

    /// Requests the state from the feature. Its reply comes through the inbox, behind everything that it published
    /// before.
    pub(super) fn ask(&mut self, mut asked: PendingRequest<WaitingRequest>) {
        let (channel, viewer) = match &asked.waiting {
            WaitingRequest::Subscribe(ask) => (ask.channel.clone(), ask.viewer.clone()),
            WaitingRequest::History(ask, _) => (ask.channel.clone(), ask.viewer.clone()),
            WaitingRequest::ChannelRestriction { channel, viewer, .. } => (channel.as_ref().to_owned(), viewer.clone()),
        };
        let source = self.resources.shared.source(&channel).filter(|_| self.pending.len() < self.limits().snapshots);
        match source {
            Some(source) if asked.again(self.generation) => {
                let (id, inbox) = (self.pending.put(asked), Arc::clone(&self.resources.inbox));
                let reply = SnapshotReply::new(move |state| inbox.push(Input::State(id, state)));
                source.ask(SnapshotRequest { channel, viewer, reply });
            }
            _ => self.refuse_unavailable(asked.waiting),
        }
    }

    /// Processes a feature's reply.
    pub(super) fn answered(&mut self, id: u64, state: Result<Vec<StateItem>, Denied>) {
        let Some(asked) = self.pending.take(id) else { return };
        if self.stuck.is_some() {
            // The state may include events that could not be published, so no position matches it.
            return self.refuse_unavailable(asked.waiting);
        }
        if asked.generation != self.generation {
            return self.ask(asked);
        }
        match (asked.waiting, state) {
            (waiting, Err(Denied::Unavailable)) => self.refuse_unavailable(waiting),
            (WaitingRequest::ChannelRestriction { connection, channel, .. }, Err(_)) => {
                self.revoked(connection, &channel)
            }
            (WaitingRequest::ChannelRestriction { .. }, Ok(_)) => {}
            (WaitingRequest::Subscribe(ask), Err(denied)) => self.refuse(&ask, Refused::Denied(denied)),
            (WaitingRequest::Subscribe(ask), Ok(state)) => match self.resources.rules.find(&ask.channel).copied() {
                Some(rule) => self.complete(ask, &rule, Some(state)),
                None => self.refuse(&ask, Refused::NoChannel),
            },
            // The requester may no longer wait.
            (WaitingRequest::History(_, answer), Err(denied)) => drop(answer.send(Err(Refused::Denied(denied)))),
            (WaitingRequest::History(ask, answer), Ok(_)) => {
                let rule = self.resources.rules.find(&ask.channel).copied();
                drop(answer.send(rule.ok_or(Refused::NoChannel).and_then(|rule| self.page(&ask, &rule))));
            }
        }
    }

    pub(super) fn refuse_unavailable(&mut self, waiting: WaitingRequest) {
        match waiting {
            WaitingRequest::Subscribe(ask) => self.refuse(&ask, Refused::Denied(Denied::Unavailable)),
            WaitingRequest::History(_, answer) => drop(answer.send(Err(Refused::Denied(Denied::Unavailable)))),
            WaitingRequest::ChannelRestriction { connection, channel, .. } => self.revoked(connection, &channel),
        }
    }

    fn refuse(&mut self, ask: &SubscribeRequest, refused: Refused) {
        let answer = Delivery::Subscribed { conn: ask.conn, tag: ask.tag, answer: Err(refused) };
        self.out.push(ask.shard, answer);
    }

    fn resumes(&mut self, rule: &ChannelRule, ask: &SubscribeRequest) -> bool {
        let Some(since) = &ask.since else { return false };
        let (epoch, most) = (self.epochs.of(&ask.channel, rule.durable()), self.limits().recover);
        let found = matches!(self.open(&ask.channel), Ok(Some(channel)) if channel.missed(since, &epoch, most).is_ok());
        self.histories.release(&ask.channel);
        found
    }

    /// Completes the subscription: from here on every publication of the channel follows the reply.
    fn complete(&mut self, ask: SubscribeRequest, rule: &ChannelRule, state: Option<Vec<StateItem>>) {
        let positioned = match rule.kind {
            ChannelKind::Log => self.log_position(&ask, rule),
            ChannelKind::Latest => Some(self.latest_position(&ask, state.as_ref())),
        };
        let Some(mut subscribed) = positioned else {
            return self.refuse(&ask, Refused::Denied(Denied::Unavailable));
        };
        let has_state = rule.state == State::Provided || rule.kind == ChannelKind::Latest;
        if ask.snapshot && has_state && !(subscribed.resumed && subscribed.recovered.is_ok()) {
            subscribed.state = subscribed.state.or(state);
        } else {
            subscribed.state = None;
        }
        let (connection, now) = ((ask.shard, ask.conn), self.now());
        if self.subscriptions.add(&subscribed.channel, connection, &ask.viewer, now) {
            self.pin(&subscribed.channel);
        }
        let answer = Ok(Box::new(subscribed));
        self.out.push(ask.shard, Delivery::Subscribed { conn: ask.conn, tag: ask.tag, answer });
    }

    fn log_position(&mut self, ask: &SubscribeRequest, rule: &ChannelRule) -> Option<Subscribed> {
        let (epoch, most) = (self.epochs.of(&ask.channel, rule.durable()), self.limits().recover);
        let channel = match self.open(&ask.channel) {
            Ok(channel) => channel?,
            Err(error) => {
                tracing::error!(channel = %ask.channel, %error, "a channel's offset cannot be read");
                return None;
            }
        };
        let found = ask.since.as_ref().map_or(Ok(Vec::new()), |since| channel.missed(since, &epoch, most));
        let (recovered, missed) = match found {
            Ok(missed) => (Ok(()), missed),
            Err(why) => (Err(why), Vec::new()),
        };
        Some(Subscribed {
            channel: Arc::clone(&channel.name),
            position: Position { epoch, offset: channel.last() },
            recovered,
            resumed: ask.since.is_some(),
            missed,
            state: None,
            latest: false,
            only: rule.only(&ask.viewer),
        })
    }

    fn latest_position(&mut self, ask: &SubscribeRequest, state: Option<&Vec<StateItem>>) -> Subscribed {
        let epoch = self.epochs.of(&ask.channel, false);
        let values = self.latest_channels.open(&ask.channel);
        let recovered = match &ask.since {
            Some(since) if since.epoch != epoch => Err(RecoveryFailure::Epoch),
            Some(since) if since.offset != values.last => Err(RecoveryFailure::Gap),
            _ => Ok(()),
        };
        let newest = values.state();
        Subscribed {
            channel: Arc::clone(&values.name),
            position: Position { epoch, offset: values.last },
            recovered,
            resumed: ask.since.is_some(),
            missed: Vec::new(),
            // Values received since the start are newer than those stored by the feature.
            state: Some(if newest.is_empty() { state.cloned().unwrap_or_default() } else { newest }),
            latest: true,
            only: None,
        }
    }

    fn page(&mut self, ask: &HistoryRequest, rule: &ChannelRule) -> Result<HistoryPage, Refused> {
        let (epoch, most) = (self.epochs.of(&ask.channel, rule.durable()), self.limits().recover);
        if rule.kind == ChannelKind::Latest {
            let values = self.latest_channels.open(&ask.channel);
            let (channel, position) = (Arc::clone(&values.name), Position { epoch, offset: values.last });
            self.latest_channels.release(&ask.channel);
            return Ok(HistoryPage { channel, position, recovered: Ok(()), publications: Vec::new(), more: false });
        }
        let channel = self.open(&ask.channel).map_err(|_| Refused::Denied(Denied::Unavailable))?;
        let channel = channel.ok_or(Refused::NoChannel)?;
        let limit = ask.limit.clamp(1, most);
        let page = match rule.only(&ask.viewer) {
            None => channel.page(ask.since.as_ref(), &epoch, limit),
            // Filters the whole history, so that a page is not short of later publications.
            Some(owner) => channel.page(ask.since.as_ref(), &epoch, usize::MAX).of(&owner, limit),
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
