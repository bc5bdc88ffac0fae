//! The state machine of a session, from handshake to close: events in, effects out. Pure.

mod answers;
mod requests;
#[cfg(test)]
mod tests;
mod times;

pub(crate) use answers::fault_of;

use std::collections::HashMap;
use std::sync::Arc;

use muster_core::Millis;
use muster_core::principal::Viewer;
use muster_feed::{Position, Publication};
use muster_identity::Person;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::bucket::Bucket;
use super::fault::{Fault, FaultKind};
use super::{Endpoint, Filter, ProtocolOptions, Since, Subject, inbound, outbound};
use crate::ws::Close;

/// An effect, to be executed in this order.
#[derive(Debug)]
pub enum Effect {
    /// Sends a frame with this text.
    Send(String),
    /// Sends missed publications, as their frames.
    Missed(Vec<Arc<Publication>>),
    /// Sends the heartbeat.
    Ping,
    Authenticate {
        tag: u64,
        token: String,
        dpop: Option<String>,
    },
    /// Requests a subscription from the hub.
    Subscribe {
        tag: u64,
        channel: Arc<str>,
        since: Option<Position>,
        snapshot: bool,
    },
    /// Delivers publications of the channel that pass the filter to this session from now on.
    Listen {
        channel: Arc<str>,
        filter: Option<Box<Filter>>,
        latest: bool,
        position: Position,
    },
    /// Ends delivery of the channel and unsubscribes from the hub.
    Leave {
        channel: Arc<str>,
    },
    /// Sends the positions of these channels.
    Positions(Vec<Arc<str>>),
    History {
        tag: u64,
        channel: String,
        since: Option<Since>,
        limit: usize,
    },
    Presence {
        tag: u64,
        channel: String,
    },
    Command {
        tag: u64,
        request: CommandRequest,
    },
    /// Closes the connection. No effect follows it.
    Close(Close),
}

/// A command as it was sent.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    pub name: String,
    pub target: Option<String>,
    pub args: Option<Box<RawValue>>,
    /// Identifies the command: sent twice, it is executed once.
    pub idem: Option<String>,
}

/// The authenticated client, and until when its token is valid.
#[derive(Debug, Clone)]
pub struct Authenticated {
    pub subject: Subject,
    /// Expiry time of the token.
    pub exp: Millis,
}

/// Why a token is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Invalid,
    Forbidden,
    /// The user or device has too many connections.
    TooMany,
    /// The authentication service does not answer.
    Unavailable,
}

impl Refusal {
    pub const fn close(self) -> Close {
        match self {
            Self::Invalid => Close::InvalidToken,
            Self::Forbidden => Close::Forbidden,
            Self::TooMany => Close::ConnectionLimit,
            Self::Unavailable => Close::Overloaded,
        }
    }
}

/// The kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A WebSocket client: it sends frames and answers heartbeats.
    Socket,
    /// A client of an event stream: it only receives.
    Listener,
}

/// The state of a session.
#[derive(Debug)]
pub struct Session {
    options: Arc<ProtocolOptions>,
    peer: Peer,
    endpoint: Endpoint,
    /// Connection identifier, `con_…`.
    conn: String,
    phase: Phase,
    subs: HashMap<Arc<str>, Sub>,
    pending: HashMap<u64, (PendingRequest, Millis)>,
    next_tag: u64,
    /// Pending subscriptions of `connect`.
    opening: Option<Opening>,
    commands: Bucket,
    frames: Bucket,
    ping_at: Millis,
    pong_by: Option<Millis>,
    positions_at: Millis,
}

#[derive(Debug)]
enum Phase {
    /// Deadline for `connect`.
    Waiting {
        until: Millis,
    },
    /// A `connect` is being checked; other frames meanwhile are an error.
    Checking {
        until: Millis,
        connect: Box<inbound::Connect>,
    },
    Live(Live),
    Closed,
}

#[derive(Debug)]
struct Live {
    client: Authenticated,
    warned: bool,
    /// `connect` was received; it is permitted once.
    connected: bool,
}

#[derive(Debug)]
struct Sub {
    /// The filter; few subscriptions have one.
    filter: Option<Box<Filter>>,
    /// The hub has confirmed the subscription.
    confirmed: bool,
    by: Subscriber,
}

/// The origin of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subscriber {
    Client,
    /// The server: the channel of the user or device, or that of the endpoint. The client may subscribe to it again,
    /// from a position.
    Server,
}

#[derive(Debug)]
struct Opening {
    id: Option<u32>,
    waiting: usize,
    subs: Map<String, Value>,
    then: Vec<Effect>,
}

/// What a pending request to the server is for.
#[derive(Debug)]
enum PendingRequest {
    Connect(Option<u32>),
    Refresh(Option<u32>),
    Subscribe(Option<u32>, Arc<str>),
    /// Part of `connect`.
    Open(Arc<str>),
    /// Made by the server: `user:{id}` of a user, `devices:{id}` of a device.
    Own(Arc<str>),
    /// Made by the server and announced: the channel of the endpoint.
    Endpoint(Arc<str>),
    /// Repeated, after the hub lost the subscription.
    Resume(Arc<str>),
    Other(Option<u32>),
}

impl Session {
    /// Creates a session after its handshake; `client` is the client if the handshake authenticated it. The first
    /// heartbeat is sent after `jitter`.
    pub fn new(
        options: Arc<ProtocolOptions>,
        (peer, endpoint): (Peer, Endpoint),
        conn: String,
        client: Option<Authenticated>,
        jitter: std::time::Duration,
        now: Millis,
    ) -> Self {
        let phase = match client {
            Some(client) => Phase::Live(Live { client, warned: false, connected: false }),
            None => Phase::Waiting { until: now.plus(options.connect_within) },
        };
        Self {
            peer,
            endpoint,
            conn,
            phase,
            subs: HashMap::new(),
            pending: HashMap::new(),
            next_tag: 0,
            opening: None,
            commands: Bucket::new(options.commands, now),
            frames: Bucket::new(options.frames, now),
            ping_at: now.plus(jitter),
            pong_by: None,
            positions_at: now.plus(options.positions),
            options,
        }
    }

    /// Returns the connection identifier, `con_…`.
    pub fn conn(&self) -> &str {
        &self.conn
    }

    /// Returns the client, once it is authenticated.
    pub fn client(&self) -> Option<&Authenticated> {
        match &self.phase {
            Phase::Live(live) => Some(&live.client),
            Phase::Waiting { .. } | Phase::Checking { .. } | Phase::Closed => None,
        }
    }

    /// Returns the identity under which the hub checks subscriptions.
    pub fn viewer(&self) -> Option<Viewer> {
        self.client().map(|client| client.subject.viewer())
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Returns whether pushes must wait, because the reply to `connect` comes before them.
    pub fn holds(&self) -> bool {
        self.opening.is_some()
    }

    /// Returns the subscribed channels.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<str>> {
        self.subs.iter().filter(|(_, sub)| sub.confirmed).map(|(channel, _)| channel)
    }

    /// Begins a session that the handshake authenticated: subscribes to the client's own channel.
    pub fn on_open(&mut self, now: Millis) -> Vec<Effect> {
        let mut out = Vec::new();
        if let Some(client) = self.client().cloned() {
            if !self.endpoint.admits(&client.subject) {
                return self.close(Close::Forbidden);
            }
            self.subscribe_own(&mut out, now);
            self.subscribe_endpoint(&mut out, now);
        }
        out
    }

    /// Applies changed permissions: subscriptions that are no longer permitted end, the others continue.
    ///
    /// `allowed` is called with the channel and the owner whose events alone the session receives, if it is restricted.
    pub fn on_grant(
        &mut self,
        person: Arc<Person>,
        allowed: impl Fn(&str, Option<&Arc<str>>, &Viewer) -> bool,
    ) -> Vec<Effect> {
        let Phase::Live(live) = &mut self.phase else { return Vec::new() };
        live.client.subject = Subject::Person(person);
        if !self.endpoint.admits(&live.client.subject) {
            return self.close(Close::Forbidden);
        }
        let Some(viewer) = self.viewer() else { return Vec::new() };
        let keeps = |channel: &Arc<str>, sub: &Sub| {
            let owner = sub.filter.as_ref().and_then(|filter| filter.owner.as_ref());
            allowed(channel, owner, &viewer)
        };
        let lost = self.subs.iter().filter(|(channel, sub)| !keeps(channel, sub));
        let lost: Vec<_> = lost.map(|(channel, _)| Arc::clone(channel)).collect();
        lost.into_iter().flat_map(|channel| self.end(channel, 2403, REVOKED)).collect()
    }

    /// Handles the revocation of the session or the device.
    pub fn on_revoked(&mut self) -> Vec<Effect> {
        self.close(Close::SessionRevoked)
    }

    /// Handles a subscription that the hub ended.
    pub fn on_unsubscribed(&mut self, channel: &str, reason: &str) -> Vec<Effect> {
        match self.subs.get_key_value(channel).map(|(channel, _)| Arc::clone(channel)) {
            Some(channel) => self.end(channel, if reason == REVOKED { 2403 } else { 2404 }, reason),
            None => Vec::new(),
        }
    }

    /// Handles the loss of subscriptions in the hub: everything is subscribed again, from the session's `position`.
    pub fn on_reset(&mut self, position: impl Fn(&str) -> Option<Position>, now: Millis) -> Vec<Effect> {
        let subscribed: Vec<_> = self.channels().cloned().collect();
        let mut out: Vec<_> = subscribed
            .into_iter()
            .map(|channel| {
                let since = position(&channel);
                let tag = self.add_pending(PendingRequest::Resume(Arc::clone(&channel)), now);
                Effect::Subscribe { tag, channel, since, snapshot: false }
            })
            .collect();
        // The hub has lost the pending requests.
        let lost: Vec<_> = self.subs.iter().filter(|(_, sub)| !sub.confirmed).map(|(ch, _)| Arc::clone(ch)).collect();
        for channel in lost {
            let waiting =
                self.pending.iter().find(|(_, (pending, _))| pending.channel() == Some(&channel)).map(|(tag, _)| *tag);
            if let Some(tag) = waiting {
                let fault = Fault::new(FaultKind::Unavailable, "the feed was restarted: subscribe again");
                out.extend(self.refused(tag, &fault, now));
            }
        }
        out
    }

    /// Ends the session for an external reason.
    pub fn close(&mut self, close: Close) -> Vec<Effect> {
        if self.is_closed() {
            return Vec::new();
        }
        self.phase = Phase::Closed;
        self.pending.clear();
        self.subs.clear();
        self.opening = None;
        vec![Effect::Close(close)]
    }

    fn end(&mut self, channel: Arc<str>, code: u16, reason: &str) -> Vec<Effect> {
        self.subs.remove(&channel);
        vec![
            Effect::Leave { channel: Arc::clone(&channel) },
            Effect::Send(outbound::unsubscribed(&channel, code, reason)),
        ]
    }

    /// Removes and returns the pending request that an answer is for. The table of pending requests is allocated on
    /// demand, because thousands of sessions are idle.
    fn take_pending(&mut self, tag: &u64) -> Option<(PendingRequest, Millis)> {
        let pending = self.pending.remove(tag);
        if self.pending.is_empty() {
            self.pending = HashMap::new();
        }
        pending
    }

    /// Adds a pending request; returns the tag of its answer.
    fn add_pending(&mut self, pending: PendingRequest, now: Millis) -> u64 {
        self.next_tag += 1;
        self.pending.insert(self.next_tag, (pending, now));
        self.next_tag
    }
}

impl PendingRequest {
    fn channel(&self) -> Option<&Arc<str>> {
        match self {
            Self::Subscribe(_, channel)
            | Self::Open(channel)
            | Self::Own(channel)
            | Self::Endpoint(channel)
            | Self::Resume(channel) => Some(channel),
            Self::Connect(_) | Self::Refresh(_) | Self::Other(_) => None,
        }
    }
}

/// The reason sent to a client whose permissions do not cover a channel any more.
const REVOKED: &str = "permission_revoked";
