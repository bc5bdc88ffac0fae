//! A thread's connections: who subscribes to what, what each has still to get, and when each has something to do.

mod channel;
mod collect;
mod conn;
mod effects;
mod fanout;
mod framing;
mod grid;
mod port;
mod run;
mod wheel;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use muster_core::ids::{IdKind, new_id};
use muster_core::{Error, Millis};
use muster_feed::{ConnId, ShardId};
use slab::Slab;

use super::protocol::{Entrance, Peer, ProtocolOptions, Session};
use super::wire::Inbound;
use super::{Admitted, Close, Connected, Sockets, wire};
use channel::Channel;
use conn::{Closing, Conn};
use wheel::Wheel;

pub(crate) use framing::read_positions;
pub use framing::{Framing, Positions};

/// How a shard reaches a connection's lane. Both return at once.
pub trait Link {
    /// There is something to [`Shard::collect`]. Told once until it was collected.
    fn wake(&self);
    /// The transport ends now, whatever was not written.
    fn cut(&self);
}

/// What a lane is to write.
#[derive(Debug)]
pub struct Collected {
    /// In this order; each is a whole number of frames or events.
    pub frames: Vec<Bytes>,
    pub next: Next,
}

impl Collected {
    /// One write for all; a single frame goes out as it was encoded.
    pub fn joined(self) -> Option<Bytes> {
        let mut frames = self.frames.into_iter();
        let (first, others) = (frames.next()?, frames.as_slice());
        if others.is_empty() {
            return Some(first);
        }
        let mut all = BytesMut::with_capacity(first.len() + others.iter().map(Bytes::len).sum::<usize>());
        all.extend_from_slice(&first);
        others.iter().for_each(|frame| all.extend_from_slice(frame));
        Some(all.freeze())
    }
}

/// What a lane does after it has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is woken when there is more.
    Wait,
    /// It collects again as soon as the transport takes more.
    More,
    /// It ends the transport.
    End,
}

/// What a shard is told of a connection that begins.
pub struct Opening {
    pub link: Box<dyn Link>,
    pub framing: Framing,
    pub entrance: Entrance,
    /// Who it is, where the handshake said so.
    pub admitted: Option<Admitted>,
    /// Its place among the unauthenticated, where it did not.
    pub place: Option<Connected>,
    /// The handshake's address.
    pub url: Rc<str>,
    /// Channels of a listener, with where it stands in each.
    pub channels: Vec<(String, Option<muster_feed::Position>)>,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("framing", &self.framing).finish_non_exhaustive()
    }
}

/// One thread's part of the feed.
pub struct Shard {
    me: Weak<Self>,
    id: OnceCell<ShardId>,
    sockets: Arc<Sockets>,
    table: RefCell<Table>,
}

/// What a shard knows.
struct Table {
    conns: Slab<Conn>,
    channels: Slab<Channel>,
    names: HashMap<Arc<str>, usize>,
    wheel: Wheel<ConnId>,
    /// Those that were asked to take something.
    watched: Vec<ConnId>,
    /// Connections that there ever were.
    opened: u64,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard").field("id", &self.id.get()).finish_non_exhaustive()
    }
}

impl Shard {
    /// Begins on this thread, and goes on until the thread's runtime ends.
    pub(super) fn start(sockets: Arc<Sockets>) -> Rc<Self> {
        let (port, deliveries) = port::queue(sockets.options.shard.queue);
        let table = Table {
            conns: Slab::new(),
            channels: Slab::new(),
            names: HashMap::new(),
            wheel: Wheel::new(sockets.options.shard.tick, sockets.clock.now()),
            watched: Vec::new(),
            opened: 0,
        };
        let shard = Rc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            id: OnceCell::new(),
            sockets: Arc::clone(&sockets),
            table: RefCell::new(table),
        });
        let id = sockets.feed.attach(Arc::new(port));
        // Set once: this is the only place.
        let _ = shard.id.set(id);
        actix_rt::spawn(run::run(Rc::clone(&shard), deliveries));
        shard
    }

    /// What all threads share.
    pub fn sockets(&self) -> &Arc<Sockets> {
        &self.sockets
    }

    /// A connection begins.
    ///
    /// # Errors
    /// A listener's channel that cannot be asked for, or a person with too many connections. The socket of a person with
    /// too many is opened, and closed by its code.
    pub fn open(&self, opening: Opening) -> Result<ConnId, Error> {
        let now = self.now();
        let protocol = &self.sockets.protocol;
        let peer = match opening.framing {
            Framing::Socket => Peer::Socket,
            Framing::Events(_) => Peer::Listener,
        };
        let who = opening.admitted.as_ref().map(|admitted| admitted.who.clone());
        let jitter = jitter(protocol);
        let mut session = Session::new(
            Arc::clone(protocol),
            (peer, opening.entrance),
            new_id(IdKind::Connection),
            who.clone(),
            jitter,
            now,
        );
        let place = match &who {
            Some(who) => self.sockets.counts.known(&who.subject),
            None => opening.place,
        };
        if place.is_none() && peer == Peer::Listener {
            let message = "this person has as many live connections as may be: close one first";
            return Err(Error::new(muster_core::Kind::RateLimited, message)
                .coded("connection_limit")
                .retry_in(Duration::from_secs(10)));
        }
        let mut effects = session.on_open(now);
        effects.extend(session.listen(opening.channels, now).map_err(|fault| {
            Error::field(muster_core::Kind::Invalid, &["query", "ch"], fault.message, serde_json::Value::Null)
        })?);
        let mut table = self.table.borrow_mut();
        let id = table.insert(session, opening.link, opening.framing, protocol.max_frame);
        let full = place.is_none();
        if let Some(conn) = table.conn(id) {
            conn.place = place;
            conn.url = opening.url;
            conn.watcher = opening.admitted.map(|admitted| self.watch(id, admitted.watch));
        }
        if full {
            effects = table.conn(id).map(|conn| conn.session.close(Close::ConnectionLimit)).unwrap_or_default();
        }
        self.drive(&mut table, id, effects, now);
        Ok(id)
    }

    /// Bytes came.
    pub fn received(&self, id: ConnId, bytes: &[u8]) {
        let now = self.now();
        let mut table = self.table.borrow_mut();
        if let Some(conn) = table.conn(id) {
            conn.reader.feed(bytes);
        }
        while let Some(conn) = table.conn(id) {
            let effects = match conn.reader.next() {
                Ok(None) => break,
                Ok(Some(Inbound::Closed(_))) => {
                    let effects = conn.session.close(Close::Normal);
                    let since = conn.closing.map_or(now, |closing| closing.since);
                    conn.closing = Some(Closing { since, over: true });
                    effects
                }
                Ok(Some(_)) if conn.session.is_closed() => continue,
                Ok(Some(Inbound::Text(text))) => conn.session.on_text(&text, now),
                Ok(Some(Inbound::Other)) => conn.session.on_noise(now),
                Ok(Some(Inbound::Ping(payload))) => {
                    conn.outbox.push_back(wire::pong(&payload));
                    conn.session.on_noise(now)
                }
                Err(close) => conn.session.close(close),
            };
            self.drive(&mut table, id, effects, now);
        }
        table.wake(id, now);
    }

    /// The transport is gone.
    pub fn closed(&self, id: ConnId) {
        let mut table = self.table.borrow_mut();
        self.forget(&mut table, id);
    }

    /// Connections of this thread.
    pub fn connections(&self) -> usize {
        self.table.borrow().conns.len()
    }

    fn now(&self) -> Millis {
        self.sockets.clock.now()
    }

    fn shard_id(&self) -> ShardId {
        self.id.get().copied().unwrap_or(ShardId(u32::MAX))
    }

    fn forget(&self, table: &mut Table, id: ConnId) {
        if let Some(conn) = table.remove(id) {
            self.sockets.feed.connection_closed(self.shard_id(), conn.id);
        }
    }
}

impl Table {
    fn insert(&mut self, session: Session, link: Box<dyn Link>, framing: Framing, limit: usize) -> ConnId {
        self.opened += 1;
        let entry = self.conns.vacant_entry();
        // Its place, and a number that no later connection of the same place has.
        let id = ConnId(self.opened << 24 | entry.key() as u64);
        entry.insert(Conn::new(id, session, link, framing, limit));
        id
    }

    fn conn(&mut self, id: ConnId) -> Option<&mut Conn> {
        let index = usize::try_from(id.0 & 0xff_ffff).ok()?;
        self.conns.get_mut(index).filter(|conn| conn.id == id)
    }

    fn remove(&mut self, id: ConnId) -> Option<Conn> {
        let index = usize::try_from(id.0 & 0xff_ffff).ok()?;
        self.conns.get(index).filter(|conn| conn.id == id)?;
        let conn = self.conns.try_remove(index)?;
        for place in conn.places.values() {
            self.leave(*place);
        }
        Some(conn)
    }

    fn leave(&mut self, place: conn::Place) {
        let Some(channel) = self.channels.get_mut(place.channel) else { return };
        channel.leave(place.member);
        if channel.members.is_empty() {
            let name = Arc::clone(&channel.name);
            self.names.remove(&name);
            self.channels.try_remove(place.channel);
        }
    }

    /// The lane is told that there is something, once.
    fn wake(&mut self, id: ConnId, now: Millis) {
        let Some(conn) = self.conn(id) else { return };
        if conn.woken.is_some() || !(conn.has_something() || conn.closing.is_some_and(|closing| closing.over)) {
            return;
        }
        conn.woken = Some(now);
        conn.link.wake();
        if !std::mem::replace(&mut conn.watched, true) {
            self.watched.push(id);
        }
    }
}

/// By chance within one interval, so that a storm of connections is no storm of heartbeats.
fn jitter(options: &ProtocolOptions) -> Duration {
    let millis = u64::try_from(options.heartbeat.as_millis()).unwrap_or(u64::MAX).max(1);
    // A ULID's end is random.
    let chance = new_id(IdKind::Connection).bytes().rev().take(6).fold(0_u64, |sum, byte| sum * 31 + u64::from(byte));
    Duration::from_millis(chance % millis + 1)
}
