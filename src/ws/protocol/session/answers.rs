//! Handles answers of other parts of the server. Pure.

use std::sync::Arc;

use muster_core::Millis;
use muster_feed::{Denied, Publication, Refused, Subscribed};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::requests::fault_to;
use super::{Authenticated, Effect, Live, PendingRequest, Phase, Refusal, Session, outbound};
use crate::ws::Close;
use crate::ws::protocol::fault::{Fault, FaultKind};

impl Session {
    /// Handles the result of a token check.
    pub fn on_authenticated(&mut self, tag: u64, answer: Result<Authenticated, Refusal>, now: Millis) -> Vec<Effect> {
        let Some((request, _)) = self.take_pending(&tag) else { return Vec::new() };
        let client = match answer {
            Ok(client) if self.endpoint.admits(&client.subject) => client,
            Ok(_) => return self.close(Close::Forbidden),
            Err(refusal) => return self.close(refusal.close()),
        };
        match (request, std::mem::replace(&mut self.phase, Phase::Closed)) {
            (PendingRequest::Connect(id), Phase::Checking { connect, .. }) => {
                self.phase = Phase::Live(Live { client, warned: false, connected: true });
                self.open_connect(id, *connect, now)
            }
            (PendingRequest::Refresh(id), Phase::Live(live)) => {
                let is_same = client.subject.continues(&live.client.subject);
                let connected = live.connected;
                self.phase = Phase::Live(live);
                if !is_same {
                    return self.close(Close::InvalidToken);
                }
                let body = json!({ "exp": client.exp.seconds(), "server_time": now.rfc3339() });
                self.phase = Phase::Live(Live { client, warned: false, connected });
                id.map(|id| Effect::Send(outbound::ok(id, &body))).into_iter().collect()
            }
            (_, before) => {
                self.phase = before;
                Vec::new()
            }
        }
    }

    /// Handles the hub's answer to a subscription. Effects of later events follow those of this one.
    pub fn on_subscribed(&mut self, tag: u64, answer: Result<Box<Subscribed>, Refused>, now: Millis) -> Vec<Effect> {
        // The hub already knows that the connection has ended.
        if self.is_closed() {
            return Vec::new();
        }
        let subscribed = match answer {
            Ok(subscribed) => subscribed,
            Err(refused) => return self.refused(tag, &fault_of(&refused), now),
        };
        let Some((request, _)) = self.take_pending(&tag) else { return self.discard(subscribed.channel) };
        let Some(sub) = request.channel().cloned().and_then(|channel| self.subs.get_mut(&channel)) else {
            // The subscription was ended while it was pending; the client still gets its reply.
            let mut out = self.discard(subscribed.channel);
            if !matches!(request, PendingRequest::Resume(_) | PendingRequest::Own(_) | PendingRequest::Endpoint(_)) {
                self.pending.insert(tag, (request, now));
                out.extend(self.refused(tag, &Fault::new(FaultKind::Conflict, "ended before it was confirmed"), now));
            }
            return out;
        };
        let resumed = matches!(request, PendingRequest::Resume(_));
        if resumed && subscribed.recovered.is_err() {
            return self.close(Close::InsufficientState);
        }
        sub.confirmed = true;
        if let Some(owner) = &subscribed.only {
            sub.filter.get_or_insert_default().owner = Some(Arc::clone(owner));
        }
        let filter = sub.filter.clone();
        let passes = |publication: &Arc<Publication>| {
            filter.as_ref().is_none_or(|filter| filter.passes(&publication.name, &publication.traits))
        };
        let missed: Vec<_> = subscribed.missed.iter().filter(|publication| passes(publication)).cloned().collect();
        let body = outbound::subscription(&subscribed, missed.len());
        let filtered = filter.is_some();
        let channel = Arc::clone(&subscribed.channel);
        let listen = Effect::Listen {
            channel: Arc::clone(&channel),
            filter,
            latest: subscribed.latest,
            position: subscribed.position,
        };
        let mut effects_after = Vec::new();
        if !missed.is_empty() {
            effects_after.push(Effect::Missed(missed));
        }
        if filtered {
            effects_after.push(Effect::Positions(vec![Arc::clone(&channel)]));
        }
        let mut out = vec![listen];
        match request {
            PendingRequest::Open(_) => {
                if let Some(opening) = &mut self.opening {
                    opening.subs.insert(channel.as_ref().to_owned(), Value::Object(body));
                    opening.waiting = opening.waiting.saturating_sub(1);
                    opening.then.extend(effects_after);
                }
                out.extend(self.opened(now));
            }
            PendingRequest::Subscribe(Some(id), _) => {
                let mut whole = serde_json::Map::new();
                whole.insert("ch".to_owned(), json!(&*channel));
                whole.extend(body);
                out.push(Effect::Send(outbound::ok(id, &Value::Object(whole))));
                out.extend(effects_after);
            }
            PendingRequest::Endpoint(_) => {
                out.push(Effect::Send(outbound::subscribed(&channel, body)));
                out.extend(effects_after);
            }
            _ => out.extend(effects_after),
        }
        out
    }

    /// Handles a part of the history, a list of subscribers, or the result of a command.
    pub fn on_answer(&mut self, tag: u64, answer: Result<Box<RawValue>, Fault>, now: Millis) -> Vec<Effect> {
        match answer {
            Err(fault) => self.refused(tag, &fault, now),
            Ok(body) => match self.take_pending(&tag) {
                Some((PendingRequest::Other(Some(id)), _)) => vec![Effect::Send(outbound::done(id, &body))],
                _ => Vec::new(),
            },
        }
    }

    /// Handles an error in answer to a request.
    pub(super) fn refused(&mut self, tag: u64, fault: &Fault, now: Millis) -> Vec<Effect> {
        let Some((request, _)) = self.take_pending(&tag) else { return Vec::new() };
        // The failed request may have replaced an existing subscription.
        let left = request.channel().cloned().filter(|channel| self.subs.remove(channel).is_some());
        let mut out = match request {
            PendingRequest::Connect(_) | PendingRequest::Refresh(_) => self.close(Close::Overloaded),
            PendingRequest::Resume(_) => self.close(Close::InsufficientState),
            PendingRequest::Own(channel) => {
                tracing::warn!(conn = self.conn, %channel, why = fault.message, "the client has no channel of its own");
                Vec::new()
            }
            // The session is restored and will send the request again.
            PendingRequest::Endpoint(_) => self.close(Close::Overloaded),
            PendingRequest::Open(channel) => {
                if let Some(opening) = &mut self.opening {
                    opening.subs.insert(channel.as_ref().to_owned(), json!({ "error": fault.json() }));
                    opening.waiting = opening.waiting.saturating_sub(1);
                }
                self.opened(now)
            }
            PendingRequest::Subscribe(id, _) | PendingRequest::Other(id) => fault_to(id, fault),
        };
        if let Some(channel) = left.filter(|_| !self.is_closed()) {
            out.insert(0, Effect::Leave { channel });
        }
        out
    }

    /// Replies to `connect` once nothing is pending any more.
    pub(super) fn opened(&mut self, now: Millis) -> Vec<Effect> {
        if self.opening.as_ref().is_none_or(|opening| opening.waiting > 0) {
            return Vec::new();
        }
        let (Some(opening), Some(client)) = (self.opening.take(), self.client().cloned()) else { return Vec::new() };
        let welcome = outbound::Welcome {
            conn: &self.conn,
            user: client.subject.id(),
            exp: client.exp,
            ping_seconds: self.options.heartbeat.as_secs(),
            now,
            max_subscriptions: self.options.max_subscriptions,
            max_frame: self.options.max_frame,
            subs: opening.subs,
        };
        let reply = opening.id.map(|id| Effect::Send(outbound::ok(id, &welcome.json())));
        reply.into_iter().chain(opening.then).collect()
    }

    /// Handles the answer to a request that is no longer pending: unsubscribes from the hub, unless a newer request for
    /// the channel is pending.
    fn discard(&self, channel: Arc<str>) -> Vec<Effect> {
        if self.subs.contains_key(&channel) { Vec::new() } else { vec![Effect::Leave { channel }] }
    }
}

/// A missing channel, an unknown name and a channel that the client may not see cannot be distinguished.
pub(crate) fn fault_of(refused: &Refused) -> Fault {
    match refused {
        Refused::Forbidden(permission) => {
            Fault::new(FaultKind::PermissionDenied, format!("this needs the permission `{permission}`"))
        }
        Refused::NoChannel | Refused::Denied(Denied::NotFound) => {
            Fault::new(FaultKind::NotFound, "the channel does not exist or is not visible to you")
        }
        Refused::Denied(Denied::Unavailable) => {
            Fault::new(FaultKind::Unavailable, "the service behind the channel does not respond: try again")
        }
    }
}
