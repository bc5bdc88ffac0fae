//! Handles what the client sends. Pure.

use std::sync::Arc;

use muster_core::Millis;
use muster_core::principal::Permission;
use muster_feed::{Position, Refused};

use super::inbound::{self, ClientRequest};
use super::{
    CommandRequest, Effect, Opening, Peer, PendingRequest, Phase, Session, Sub, Subscriber, fault_of, outbound,
};
use crate::ws::Close;
use crate::ws::protocol::Endpoint;
use crate::ws::protocol::fault::{Fault, FaultKind};
use crate::ws::protocol::filter::{Filter, FilterRequest};

const MAX_HISTORY: usize = 500;
const HISTORY: usize = 50;

impl Session {
    /// Handles a frame without an answer, such as a pong.
    pub fn on_frame(&mut self, now: Millis) -> Vec<Effect> {
        self.pong_by = None;
        if self.is_closed() || self.frames.take(now) { Vec::new() } else { self.close(Close::RateLimited) }
    }

    /// Handles a text message.
    pub fn on_text(&mut self, text: &str, now: Millis) -> Vec<Effect> {
        let limited = self.on_frame(now);
        if self.is_closed() {
            return limited;
        }
        if self.endpoint == Endpoint::Echo {
            return vec![Effect::Send(text.to_owned())];
        }
        // An empty message is not an error, but it is counted.
        if text.is_empty() {
            return Vec::new();
        }
        let Ok(request) = inbound::read(text) else { return self.close(Close::ProtocolError) };
        let id = request.id;
        match request.body {
            Ok(ClientRequest::Heartbeat) => Vec::new(),
            Ok(ClientRequest::Connect(connect)) => self.connect(id, connect, now),
            Err(fault) => {
                let mut out = fault_to(id, &fault);
                if self.client().is_none() {
                    out.extend(self.close(Close::ProtocolError));
                }
                out
            }
            _ if self.client().is_none() => self.close(Close::ProtocolError),
            Ok(_) if self.pending.len() >= self.options.max_waiting => {
                fault_to(id, &Fault::new(FaultKind::TooManyRequests, "wait for the replies to earlier requests"))
            }
            Ok(ClientRequest::Subscribe(body)) => {
                let checked = self.subscribable(&body.ch, body.filter);
                match checked {
                    Ok((channel, filter)) => {
                        self.claim(&channel, filter);
                        let tag = self.add_pending(PendingRequest::Subscribe(id, Arc::clone(&channel)), now);
                        let since = body.since.map(Position::from);
                        vec![Effect::Subscribe { tag, channel, since, snapshot: body.snapshot }]
                    }
                    Err(fault) => fault_to(id, &fault),
                }
            }
            Ok(ClientRequest::Unsubscribe(body)) => self.unsubscribe(id, &body.ch, now),
            Ok(ClientRequest::Refresh(body)) => {
                let tag = self.add_pending(PendingRequest::Refresh(id), now);
                vec![Effect::Authenticate { tag, token: body.token, dpop: body.dpop }]
            }
            Ok(ClientRequest::History(body)) => match (inbound::is_channel(&body.ch), body.limit.unwrap_or(HISTORY)) {
                (false, _) => fault_to(id, &bad_channel()),
                (true, limit @ 1..=MAX_HISTORY) => {
                    let tag = self.add_pending(PendingRequest::Other(id), now);
                    vec![Effect::History { tag, channel: body.ch, since: body.since, limit }]
                }
                (true, _) => fault_to(id, &bad(format!("history.limit must be 1 to {MAX_HISTORY}"))),
            },
            Ok(ClientRequest::Presence(_)) if !self.client().is_some_and(|client| client.subject.may_see_others()) => {
                fault_to(id, &fault_of(&Refused::Forbidden(Permission::RealtimeSubscribe.name())))
            }
            Ok(ClientRequest::Presence(body)) if inbound::is_channel(&body.ch) => {
                let tag = self.add_pending(PendingRequest::Other(id), now);
                vec![Effect::Presence { tag, channel: body.ch }]
            }
            Ok(ClientRequest::Presence(_)) => fault_to(id, &bad_channel()),
            Ok(ClientRequest::Command(body)) => self.command(id, body, now),
        }
    }

    /// Subscribes the client of an event stream to its channels.
    ///
    /// # Errors
    /// A channel that cannot be subscribed to.
    pub fn listen(&mut self, channels: Vec<(String, Option<Position>)>, now: Millis) -> Result<Vec<Effect>, Fault> {
        let mut out = Vec::new();
        for (channel, since) in channels {
            let (channel, filter) = self.subscribable(&channel, None)?;
            self.claim(&channel, filter);
            let tag = self.add_pending(PendingRequest::Subscribe(Some(1), Arc::clone(&channel)), now);
            out.push(Effect::Subscribe { tag, channel, since, snapshot: true });
        }
        Ok(out)
    }

    fn connect(&mut self, id: Option<u32>, connect: inbound::Connect, now: Millis) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Live(live) if !live.connected && connect.token.is_none() => {
                live.connected = true;
                self.open_connect(id, connect, now)
            }
            // A token in addition to that of the handshake must belong to the same session, which `refresh` checks.
            Phase::Waiting { until } => match connect.token.clone() {
                Some(token) => {
                    let (until, dpop) = (*until, connect.dpop.clone());
                    self.phase = Phase::Checking { until, connect: Box::new(connect) };
                    let tag = self.add_pending(PendingRequest::Connect(id), now);
                    vec![Effect::Authenticate { tag, token, dpop }]
                }
                None => self.close(Close::InvalidToken),
            },
            Phase::Live(_) | Phase::Checking { .. } => self.close(Close::ProtocolError),
            Phase::Closed => Vec::new(),
        }
    }

    /// Replies to `connect`, once all its subscriptions are answered.
    pub(super) fn open_connect(&mut self, id: Option<u32>, connect: inbound::Connect, now: Millis) -> Vec<Effect> {
        let mut opening = Opening { id, waiting: 0, subs: serde_json::Map::new(), then: Vec::new() };
        let mut out = Vec::new();
        for (name, options) in connect.subs {
            match self.subscribable(&name, options.filter) {
                Ok((channel, filter)) => {
                    self.claim(&channel, filter);
                    opening.waiting += 1;
                    let tag = self.add_pending(PendingRequest::Open(Arc::clone(&channel)), now);
                    let since = options.since.map(Position::from);
                    out.push(Effect::Subscribe { tag, channel, since, snapshot: options.snapshot });
                }
                Err(fault) => {
                    let name: String = name.chars().take(255).collect();
                    opening.subs.insert(name, serde_json::json!({ "error": fault.json() }));
                }
            }
        }
        // If the handshake authenticated the client, this subscription was made then and is announced in a frame of its
        // own.
        if let Some(channel) = self.endpoint.channel().filter(|name| !self.subs.contains_key(*name)) {
            let channel: Arc<str> = channel.into();
            self.subs.insert(Arc::clone(&channel), Sub { filter: None, confirmed: false, by: Subscriber::Server });
            opening.waiting += 1;
            let tag = self.add_pending(PendingRequest::Open(Arc::clone(&channel)), now);
            out.push(Effect::Subscribe { tag, channel, since: None, snapshot: true });
        }
        self.opening = Some(opening);
        self.subscribe_own(&mut out, now);
        out.extend(self.opened(now));
        out
    }

    /// Subscribes to the channel of the user or device, unless the client did.
    pub(super) fn subscribe_own(&mut self, out: &mut Vec<Effect>, now: Millis) {
        let Some(client) = self.client().filter(|_| self.peer == Peer::Socket) else { return };
        let Some(channel) = client.subject.own_channel() else { return };
        if !self.subs.contains_key(&channel) {
            self.subs.insert(Arc::clone(&channel), Sub { filter: None, confirmed: false, by: Subscriber::Server });
            let tag = self.add_pending(PendingRequest::Own(Arc::clone(&channel)), now);
            out.push(Effect::Subscribe { tag, channel, since: None, snapshot: false });
        }
    }

    /// Subscribes to the channel of the endpoint, with a snapshot.
    pub(super) fn subscribe_endpoint(&mut self, out: &mut Vec<Effect>, now: Millis) {
        if let Some(channel) = self.endpoint.channel().filter(|_| self.peer == Peer::Socket) {
            let channel: Arc<str> = channel.into();
            self.subs.insert(Arc::clone(&channel), Sub { filter: None, confirmed: false, by: Subscriber::Server });
            let tag = self.add_pending(PendingRequest::Endpoint(Arc::clone(&channel)), now);
            out.push(Effect::Subscribe { tag, channel, since: None, snapshot: true });
        }
    }

    fn subscribable(&self, name: &str, filter: Option<FilterRequest>) -> Result<(Arc<str>, Option<Filter>), Fault> {
        if !inbound::is_channel(name) {
            return Err(bad_channel());
        }
        if self.subs.get(name).is_some_and(|sub| sub.by == Subscriber::Client) {
            return Err(Fault::new(FaultKind::AlreadySubscribed, "unsubscribe first to change a filter or a position"));
        }
        let counted = self.subs.values().filter(|sub| sub.by == Subscriber::Client).count();
        if counted >= self.options.max_subscriptions {
            let most = format!("a connection has {} subscriptions at most", self.options.max_subscriptions);
            return Err(Fault::new(FaultKind::TooManySubscriptions, most));
        }
        let filter = filter.map(FilterRequest::checked).transpose().map_err(bad)?;
        Ok((name.into(), filter.filter(|filter| !filter.is_open())))
    }

    /// The client subscribes to the channel itself, which replaces the server's subscription.
    fn claim(&mut self, channel: &Arc<str>, filter: Option<Filter>) {
        let own = |pending: &PendingRequest| matches!(pending, PendingRequest::Own(name) | PendingRequest::Endpoint(name) | PendingRequest::Resume(name) if name == channel);
        self.pending.retain(|_, (pending, _)| !own(pending));
        self.subs.insert(
            Arc::clone(channel),
            Sub { filter: filter.map(Box::new), confirmed: false, by: Subscriber::Client },
        );
    }

    fn unsubscribe(&mut self, id: Option<u32>, name: &str, now: Millis) -> Vec<Effect> {
        let Some((channel, _)) = self.subs.remove_entry(name) else {
            return fault_to(id, &Fault::new(FaultKind::NotFound, "this connection does not subscribe to it"));
        };
        let mut out = vec![Effect::Leave { channel: Arc::clone(&channel) }];
        let of_it = |pending: &PendingRequest| pending.channel() == Some(&channel);
        let waiting: Vec<_> =
            self.pending.iter().filter(|(_, (pending, _))| of_it(pending)).map(|(tag, _)| *tag).collect();
        for tag in waiting {
            // The server's own subscriptions have no reply.
            if matches!(
                self.pending.get(&tag),
                Some((PendingRequest::Resume(_) | PendingRequest::Own(_) | PendingRequest::Endpoint(_), _))
            ) {
                self.pending.remove(&tag);
            } else {
                out.extend(self.refused(
                    tag,
                    &Fault::new(FaultKind::Conflict, "unsubscribed before it was confirmed"),
                    now,
                ));
            }
        }
        if let Some(id) = id {
            out.push(Effect::Send(outbound::ok(id, &serde_json::json!({ "ch": &*channel }))));
        }
        out
    }

    fn command(&mut self, id: Option<u32>, body: inbound::Command, now: Millis) -> Vec<Effect> {
        if !self.commands.take(now) {
            return self.close(Close::RateLimited);
        }
        let has_name = (1..=100).contains(&body.name.len());
        let visible =
            |text: &String| (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !has_name || !body.idem.as_ref().is_none_or(visible) {
            return fault_to(
                id,
                &bad("command.name has 1 to 100 bytes, command.idem 1 to 255 visible ASCII characters"),
            );
        }
        let tag = self.add_pending(PendingRequest::Other(id), now);
        let request = CommandRequest { name: body.name, target: body.target, args: body.args, idem: body.idem };
        vec![Effect::Command { tag, request }]
    }
}

pub(super) fn fault_to(id: Option<u32>, fault: &Fault) -> Vec<Effect> {
    id.map(|id| Effect::Send(outbound::error(id, fault))).into_iter().collect()
}

fn bad(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::BadRequest, message)
}

fn bad_channel() -> Fault {
    bad("a channel's name has 1 to 255 letters, digits, `_`, `-`, `.` and `:`; there are no wildcards")
}
