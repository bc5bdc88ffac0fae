//! Pure: one session, from its handshake to its close. It is told what happens and says what is to be done.

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
use super::{Entrance, Filter, ProtocolOptions, Since, Subject, inbound, outbound};
use crate::ws::Close;

/// What is to be done, in this order.
#[derive(Debug)]
pub enum Effect {
    /// A frame of this text.
    Send(String),
    /// Publications that were missed, as their frames.
    Missed(Vec<Arc<Publication>>),
    /// The heartbeat, the same for everybody.
    Ping,
    Authenticate {
        tag: u64,
        token: String,
        dpop: Option<String>,
    },
    /// Asks the hub for a subscription.
    Subscribe {
        tag: u64,
        channel: Arc<str>,
        since: Option<Position>,
        snapshot: bool,
    },
    /// From here on publications of the channel are this session's, those that the filter passes.
    Listen {
        channel: Arc<str>,
        filter: Option<Box<Filter>>,
        latest: bool,
        position: Position,
    },
    /// The session has nothing more of the channel, and the hub is to know.
    Leave {
        channel: Arc<str>,
    },
    /// `pos` of these channels is told.
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
        ask: CommandAsk,
    },
    /// Nothing follows it.
    Close(Close),
}

/// A command as it was sent.
#[derive(Debug, Clone)]
pub struct CommandAsk {
    pub name: String,
    pub target: Option<String>,
    pub args: Option<Box<RawValue>>,
    /// Names the command: the same twice is done once.
    pub idem: Option<String>,
}

/// Who was let in, and until when.
#[derive(Debug, Clone)]
pub struct Who {
    pub subject: Subject,
    /// The token's end.
    pub exp: Millis,
}

/// Why a token is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Invalid,
    Forbidden,
    /// Whoever it is has as many connections as may be.
    TooMany,
    /// Whoever would know does not answer.
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

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A socket: it speaks, and answers heartbeats.
    Socket,
    /// A stream of events: it only listens.
    Listener,
}

/// The state of a session.
#[derive(Debug)]
pub struct Session {
    options: Arc<ProtocolOptions>,
    peer: Peer,
    entrance: Entrance,
    /// `con_…`
    conn: String,
    phase: Phase,
    subs: HashMap<Arc<str>, Sub>,
    asks: HashMap<u64, (Ask, Millis)>,
    next_tag: u64,
    /// What `connect` subscribes to, until all of it is answered.
    opening: Option<Opening>,
    commands: Bucket,
    frames: Bucket,
    ping_at: Millis,
    pong_by: Option<Millis>,
    positions_at: Millis,
}

#[derive(Debug)]
enum Phase {
    /// For `connect`.
    Waiting {
        until: Millis,
    },
    /// A `connect` is being checked; what else comes meanwhile is a mistake.
    Checking {
        until: Millis,
        connect: Box<inbound::Connect>,
    },
    Live(Live),
    Closed,
}

#[derive(Debug)]
struct Live {
    who: Who,
    warned: bool,
    /// `connect` came, which may be once.
    greeted: bool,
}

#[derive(Debug)]
struct Sub {
    /// Few have one.
    filter: Option<Box<Filter>>,
    /// The hub said yes.
    stands: bool,
    by: Subscriber,
}

/// Who wanted a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subscriber {
    Client,
    /// The server itself, of the person's or device's own channel or that of its entrance: the client may ask for it
    /// again, from a position.
    Server,
}

#[derive(Debug)]
struct Opening {
    id: Option<u32>,
    waiting: usize,
    subs: Map<String, Value>,
    then: Vec<Effect>,
}

/// What an answer is for.
#[derive(Debug)]
enum Ask {
    Connect(Option<u32>),
    Refresh(Option<u32>),
    Subscribe(Option<u32>, Arc<str>),
    /// As part of `connect`.
    Open(Arc<str>),
    /// By the server itself: `user:{id}` of a person, `devices:{id}` of a device.
    Own(Arc<str>),
    /// By the server itself, and told: the channel of the entrance.
    Entrance(Arc<str>),
    /// Again, where the hub lost its place.
    Resume(Arc<str>),
    Other(Option<u32>),
}

impl Session {
    /// A session after its handshake: of `who` where the handshake said it. The first heartbeat comes after `jitter`.
    pub fn new(
        options: Arc<ProtocolOptions>,
        (peer, entrance): (Peer, Entrance),
        conn: String,
        who: Option<Who>,
        jitter: std::time::Duration,
        now: Millis,
    ) -> Self {
        let phase = match who {
            Some(who) => Phase::Live(Live { who, warned: false, greeted: false }),
            None => Phase::Waiting { until: now.plus(options.connect_within) },
        };
        Self {
            peer,
            entrance,
            conn,
            phase,
            subs: HashMap::new(),
            asks: HashMap::new(),
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

    /// `con_…`
    pub fn conn(&self) -> &str {
        &self.conn
    }

    /// Who it is, once let in.
    pub fn who(&self) -> Option<&Who> {
        match &self.phase {
            Phase::Live(live) => Some(&live.who),
            Phase::Waiting { .. } | Phase::Checking { .. } | Phase::Closed => None,
        }
    }

    /// As whom the hub is asked.
    pub fn viewer(&self) -> Option<Viewer> {
        self.who().map(|who| who.subject.viewer())
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Whether pushes have to wait: the reply to `connect` comes before them.
    pub fn holds(&self) -> bool {
        self.opening.is_some()
    }

    /// The channels that the session listens to.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<str>> {
        self.subs.iter().filter(|(_, sub)| sub.stands).map(|(channel, _)| channel)
    }

    /// The session of that handshake begins: its own channel is subscribed to.
    pub fn on_open(&mut self, now: Millis) -> Vec<Effect> {
        let mut out = Vec::new();
        if let Some(who) = self.who().cloned() {
            if !self.entrance.admits(&who.subject) {
                return self.close(Close::Forbidden);
            }
            self.subscribe_own(&mut out, now);
            self.subscribe_entrance(&mut out, now);
        }
        out
    }

    /// The person's rights changed: subscriptions that they do not cover any more end, the others go on.
    ///
    /// `allowed` is told the channel, and whose events alone the session gets of it.
    pub fn on_grant(
        &mut self,
        person: Arc<Person>,
        allowed: impl Fn(&str, Option<&Arc<str>>, &Viewer) -> bool,
    ) -> Vec<Effect> {
        let Phase::Live(live) = &mut self.phase else { return Vec::new() };
        live.who.subject = Subject::Person(person);
        if !self.entrance.admits(&live.who.subject) {
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

    /// The session was revoked, or the device is not let in any more.
    pub fn on_revoked(&mut self) -> Vec<Effect> {
        self.close(Close::SessionRevoked)
    }

    /// The hub ended a subscription.
    pub fn on_unsubscribed(&mut self, channel: &str, reason: &str) -> Vec<Effect> {
        match self.subs.get_key_value(channel).map(|(channel, _)| Arc::clone(channel)) {
            Some(channel) => self.end(channel, if reason == REVOKED { 2403 } else { 2404 }, reason),
            None => Vec::new(),
        }
    }

    /// The hub lost its place: everything is subscribed to anew, from where the session stands by `position`.
    pub fn on_reset(&mut self, position: impl Fn(&str) -> Option<Position>, now: Millis) -> Vec<Effect> {
        let standing: Vec<_> = self.channels().cloned().collect();
        let mut out: Vec<_> = standing
            .into_iter()
            .map(|channel| {
                let since = position(&channel);
                let tag = self.ask(Ask::Resume(Arc::clone(&channel)), now);
                Effect::Subscribe { tag, channel, since, snapshot: false }
            })
            .collect();
        // What the hub had not answered it does not know of any more.
        let lost: Vec<_> = self.subs.iter().filter(|(_, sub)| !sub.stands).map(|(ch, _)| Arc::clone(ch)).collect();
        for channel in lost {
            let waiting = self.asks.iter().find(|(_, (ask, _))| ask.channel() == Some(&channel)).map(|(tag, _)| *tag);
            if let Some(tag) = waiting {
                let fault = Fault::new(FaultKind::Unavailable, "the feed was restarted: subscribe again");
                out.extend(self.refused(tag, &fault, now));
            }
        }
        out
    }

    /// Ends it for a reason from outside.
    pub fn close(&mut self, close: Close) -> Vec<Effect> {
        if self.is_closed() {
            return Vec::new();
        }
        self.phase = Phase::Closed;
        self.asks.clear();
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

    /// What the answer is for. Thousands of idle sessions hold no table of asks.
    fn answered(&mut self, tag: &u64) -> Option<(Ask, Millis)> {
        let ask = self.asks.remove(tag);
        if self.asks.is_empty() {
            self.asks = HashMap::new();
        }
        ask
    }

    fn ask(&mut self, ask: Ask, now: Millis) -> u64 {
        self.next_tag += 1;
        self.asks.insert(self.next_tag, (ask, now));
        self.next_tag
    }
}

impl Ask {
    fn channel(&self) -> Option<&Arc<str>> {
        match self {
            Self::Subscribe(_, channel)
            | Self::Open(channel)
            | Self::Own(channel)
            | Self::Entrance(channel)
            | Self::Resume(channel) => Some(channel),
            Self::Connect(_) | Self::Refresh(_) | Self::Other(_) => None,
        }
    }
}

/// What is told where somebody's rights do not reach any more.
const REVOKED: &str = "permission_revoked";
