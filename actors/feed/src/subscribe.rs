//! Subscribing: who may, what state and what history there is, and the place where all of it fits together.

use std::future::ready;
use std::sync::Arc;

use actix::ResponseFuture;
use tokio::sync::oneshot;

use super::actor::Hub;
use super::asks::{Asked, Waits};
use super::inbox::Input;
use super::messages::AskHistory;
use super::subscriptions::Seat;
use super::{
    Audience, ChannelKind, ChannelRule, Delivery, Denied, HistoryPage, Position, Refused, ShardId, SnapshotAsk,
    SnapshotReply, State, StateItem, SubscribeAsk, Subscribed, Why,
};
use muster_core::principal::Viewer;

/// Who waits for a feature's answer.
#[derive(Debug)]
pub(super) enum Waiting {
    Subscribe(SubscribeAsk),
    History(AskHistory, oneshot::Sender<Result<HistoryPage, Refused>>),
    /// Whether a subscription that stands still may.
    ChannelRestriction {
        seat: Seat,
        channel: Arc<str>,
        viewer: Viewer,
    },
}

impl Waits for Waiting {
    fn seat(&self) -> Option<Seat> {
        match self {
            Self::Subscribe(ask) => Some((ask.shard, ask.conn)),
            Self::History(..) => None,
            Self::ChannelRestriction { seat, .. } => Some(*seat),
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
    /// Whether only the feature knows if there is such a channel.
    pub(super) fn needs_a_word(&self) -> bool {
        self.of_a_thing() && self.audience != Audience::Own
    }
}

impl Hub {
    pub(super) fn subscribe(&mut self, ask: SubscribeAsk) {
        let rule = match self.parts.rules.admit(&ask.channel, &ask.viewer) {
            Ok(rule) => *rule,
            Err(refused) => return self.refuse(&ask, refused),
        };
        if rule.needs_a_word() || (rule.state == State::Kept && ask.snapshot && !self.resumes(&rule, &ask)) {
            let until = self.born.elapsed() + self.limits().snapshot_patience;
            self.ask(Asked::new(Waiting::Subscribe(ask), until));
        } else {
            self.seat(ask, &rule, None);
        }
    }

    pub(super) fn history(&mut self, ask: AskHistory) -> ResponseFuture<Result<HistoryPage, Refused>> {
        let rule = match self.parts.rules.admit(&ask.channel, &ask.viewer) {
            Ok(rule) => *rule,
            Err(refused) => return Box::pin(ready(Err(refused))),
        };
        if !rule.needs_a_word() {
            return Box::pin(ready(self.page(&ask, &rule)));
        }
        let until = self.born.elapsed() + self.limits().snapshot_patience;
        let (answer, answered) = oneshot::channel();
        self.ask(Asked::new(Waiting::History(ask, answer), until));
        Box::pin(async { answered.await.unwrap_or(Err(Refused::Denied(Denied::Unavailable))) })
    }

    /// Asks the feature. Its answer comes through the inbox, behind all that it published before.
    pub(super) fn ask(&mut self, mut asked: Asked<Waiting>) {
        let (channel, viewer) = match &asked.waiting {
            Waiting::Subscribe(ask) => (ask.channel.clone(), ask.viewer.clone()),
            Waiting::History(ask, _) => (ask.channel.clone(), ask.viewer.clone()),
            Waiting::ChannelRestriction { channel, viewer, .. } => (channel.as_ref().to_owned(), viewer.clone()),
        };
        let source = self.parts.shared.source(&channel).filter(|_| self.asks.len() < self.limits().snapshots);
        match source {
            Some(source) if asked.again(self.generation) => {
                let (id, inbox) = (self.asks.put(asked), Arc::clone(&self.parts.inbox));
                let reply = SnapshotReply::new(move |state| inbox.push(Input::State(id, state)));
                source.ask(SnapshotAsk { channel, viewer, reply });
            }
            _ => self.refuse_unavailable(asked.waiting),
        }
    }

    /// A feature's answer.
    pub(super) fn answered(&mut self, id: u64, state: Result<Vec<StateItem>, Denied>) {
        let Some(asked) = self.asks.take(id) else { return };
        if self.stuck.is_some() {
            // The state may have what could not be told, so that no place among what was told is its own.
            return self.refuse_unavailable(asked.waiting);
        }
        if asked.generation != self.generation {
            return self.ask(asked);
        }
        match (asked.waiting, state) {
            (waiting, Err(Denied::Unavailable)) => self.refuse_unavailable(waiting),
            (Waiting::ChannelRestriction { seat, channel, .. }, Err(_)) => self.revoked(seat, &channel),
            (Waiting::ChannelRestriction { .. }, Ok(_)) => {}
            (Waiting::Subscribe(ask), Err(denied)) => self.refuse(&ask, Refused::Denied(denied)),
            (Waiting::Subscribe(ask), Ok(state)) => match self.parts.rules.find(&ask.channel).copied() {
                Some(rule) => self.seat(ask, &rule, Some(state)),
                None => self.refuse(&ask, Refused::NoChannel),
            },
            // An asker that no longer waits is no error.
            (Waiting::History(_, answer), Err(denied)) => drop(answer.send(Err(Refused::Denied(denied)))),
            (Waiting::History(ask, answer), Ok(_)) => {
                let rule = self.parts.rules.find(&ask.channel).copied();
                drop(answer.send(rule.ok_or(Refused::NoChannel).and_then(|rule| self.page(&ask, &rule))));
            }
        }
    }

    pub(super) fn refuse_unavailable(&mut self, waiting: Waiting) {
        match waiting {
            Waiting::Subscribe(ask) => self.refuse(&ask, Refused::Denied(Denied::Unavailable)),
            Waiting::History(_, answer) => drop(answer.send(Err(Refused::Denied(Denied::Unavailable)))),
            Waiting::ChannelRestriction { seat, channel, .. } => self.revoked(seat, &channel),
        }
    }

    fn refuse(&mut self, ask: &SubscribeAsk, refused: Refused) {
        let answer = Delivery::Subscribed { conn: ask.conn, tag: ask.tag, answer: Err(refused) };
        self.out.push(ask.shard, answer);
    }

    fn resumes(&mut self, rule: &ChannelRule, ask: &SubscribeAsk) -> bool {
        let Some(since) = &ask.since else { return false };
        let (epoch, most) = (self.epochs.of(&ask.channel, rule.durable()), self.limits().recover);
        let found = matches!(self.open(&ask.channel), Ok(Some(channel)) if channel.missed(since, &epoch, most).is_ok());
        self.histories.release(&ask.channel);
        found
    }

    /// Makes the subscription: from here on every publication of the channel comes behind its answer.
    fn seat(&mut self, ask: SubscribeAsk, rule: &ChannelRule, state: Option<Vec<StateItem>>) {
        let placed = match rule.kind {
            ChannelKind::Log => self.place(&ask, rule),
            ChannelKind::Latest => Some(self.place_latest(&ask, state.as_ref())),
        };
        let Some(mut subscribed) = placed else {
            return self.refuse(&ask, Refused::Denied(Denied::Unavailable));
        };
        let has_state = rule.state == State::Kept || rule.kind == ChannelKind::Latest;
        if ask.snapshot && has_state && !(subscribed.resumed && subscribed.recovered.is_ok()) {
            subscribed.state = subscribed.state.or(state);
        } else {
            subscribed.state = None;
        }
        let (seat, now) = ((ask.shard, ask.conn), self.now());
        if self.subscriptions.add(&subscribed.channel, seat, &ask.viewer, now) {
            self.pin(&subscribed.channel);
        }
        let answer = Ok(Box::new(subscribed));
        self.out.push(ask.shard, Delivery::Subscribed { conn: ask.conn, tag: ask.tag, answer });
    }

    fn place(&mut self, ask: &SubscribeAsk, rule: &ChannelRule) -> Option<Subscribed> {
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

    fn place_latest(&mut self, ask: &SubscribeAsk, state: Option<&Vec<StateItem>>) -> Subscribed {
        let epoch = self.epochs.of(&ask.channel, false);
        let values = self.latests.open(&ask.channel);
        let recovered = match &ask.since {
            Some(since) if since.epoch != epoch => Err(Why::Epoch),
            Some(since) if since.offset != values.last => Err(Why::Gap),
            _ => Ok(()),
        };
        let newest = values.state();
        Subscribed {
            channel: Arc::clone(&values.name),
            position: Position { epoch, offset: values.last },
            recovered,
            resumed: ask.since.is_some(),
            missed: Vec::new(),
            // What came since the start is newer than what the feature stored.
            state: Some(if newest.is_empty() { state.cloned().unwrap_or_default() } else { newest }),
            latest: true,
            only: None,
        }
    }

    fn page(&mut self, ask: &AskHistory, rule: &ChannelRule) -> Result<HistoryPage, Refused> {
        let (epoch, most) = (self.epochs.of(&ask.channel, rule.durable()), self.limits().recover);
        if rule.kind == ChannelKind::Latest {
            let values = self.latests.open(&ask.channel);
            let (channel, position) = (Arc::clone(&values.name), Position { epoch, offset: values.last });
            self.latests.release(&ask.channel);
            return Ok(HistoryPage { channel, position, recovered: Ok(()), publications: Vec::new(), more: false });
        }
        let channel = self.open(&ask.channel).map_err(|_| Refused::Denied(Denied::Unavailable))?;
        let channel = channel.ok_or(Refused::NoChannel)?;
        let limit = ask.limit.clamp(1, most);
        let page = match rule.only(&ask.viewer) {
            None => channel.page(ask.since.as_ref(), &epoch, limit),
            // Of everything that is kept, so that a page is not short of what stands further on.
            Some(owner) => channel.page(ask.since.as_ref(), &epoch, usize::MAX).of(&owner, limit),
        };
        let (name, position) = (Arc::clone(&channel.name), Position { epoch, offset: channel.last() });
        self.histories.release(&name);
        let (recovered, publications, more) = (page.recovered, page.publications, page.more);
        Ok(HistoryPage { channel: name, position, recovered, publications, more })
    }

    pub(super) fn unsubscribe(&mut self, seat: Seat, channel: &str) {
        self.asks.withdraw(seat, channel);
        if self.subscriptions.remove(channel, seat) {
            self.unpin(channel);
        }
    }

    pub(super) fn gone(&mut self, seat: Seat) {
        self.asks.gone(seat);
        self.subscriptions.gone(seat).iter().for_each(|channel| self.unpin(channel));
    }

    pub(super) fn detached(&mut self, shard: ShardId) {
        self.asks.detached(shard);
        self.subscriptions.detached(shard).iter().for_each(|channel| self.unpin(channel));
    }

    fn pin(&mut self, channel: &str) {
        if let Some(channel) = self.histories.get_mut(channel) {
            channel.pins += 1;
        } else if let Some(values) = self.latests.get_mut(channel) {
            values.pins += 1;
        }
    }

    pub(super) fn unpin(&mut self, channel: &str) {
        if let Some(known) = self.histories.get_mut(channel) {
            known.pins = known.pins.saturating_sub(1);
            self.histories.release(channel);
        } else if let Some(values) = self.latests.get_mut(channel) {
            values.pins = values.pins.saturating_sub(1);
            self.latests.release(channel);
        }
    }
}
