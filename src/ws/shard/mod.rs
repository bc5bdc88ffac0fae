//! The connections of a thread: their subscriptions, what each has to receive, and when each has something to do.

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

use super::protocol::{Endpoint, Peer, ProtocolOptions, Session};
use super::wire::Inbound;
use super::{Admitted, Close, Connected, Sockets, wire};
use channel::Channel;
use conn::{Closing, Conn};
use wheel::Wheel;

pub(crate) use framing::read_positions;
pub use framing::{Framing, Positions};

/// How a shard reaches the transport of a connection. Both methods return at once.
pub trait TransportHandle {
    /// Signals that there is something to [`Shard::collect`]; called once until it was collected.
    fn wake(&self);
    /// Ends the transport now, without writing what is left.
    fn cut(&self);
}

/// What a transport writes.
#[derive(Debug)]
pub struct Collected {
    /// Chunks in order; each is a whole number of frames or events.
    pub frames: Vec<Bytes>,
    pub next: AfterWrite,
}

impl Collected {
    /// Combines all chunks for a single write; a single frame is passed on as it was encoded.
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

/// What a transport does after writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterWrite {
    /// Wait: it is woken when there is more.
    Wait,
    /// Collect again as soon as the transport accepts more.
    More,
    /// Send nothing more, and end the transport when the other side does: its frames cannot be read any more, and so
    /// neither can its answer to the close (RFC 6455, section 7.1.1).
    HalfClose,
    /// End the transport.
    End,
}

/// What a shard needs to know of a new connection.
pub struct Opening {
    pub link: Box<dyn TransportHandle>,
    pub framing: Framing,
    pub endpoint: Endpoint,
    /// The client, if the handshake authenticated it.
    pub admitted: Option<Admitted>,
    /// Its count among unauthenticated connections, if not.
    pub place: Option<Connected>,
    /// URL of the handshake.
    pub url: Rc<str>,
    /// Channels of an event stream, with the client's position in each.
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

/// The state of a shard.
struct Table {
    conns: Slab<Conn>,
    channels: Slab<Channel>,
    names: HashMap<Arc<str>, usize>,
    wheel: Wheel<ConnId>,
    /// Connections that were requested to collect.
    watched: Vec<ConnId>,
    /// Number of connections so far.
    opened: u64,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard").field("id", &self.id.get()).finish_non_exhaustive()
    }
}

impl Shard {
    /// Starts on this thread and runs until the thread's runtime ends.
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
        // Set once, here only.
        let _ = shard.id.set(id);
        actix_rt::spawn(run::run(Rc::clone(&shard), deliveries));
        shard
    }

    /// Returns what all threads share.
    pub fn sockets(&self) -> &Arc<Sockets> {
        &self.sockets
    }

    /// Adds a connection.
    ///
    /// # Errors
    /// A channel of an event stream cannot be subscribed to, or a user has too many connections. The socket of a user
    /// with too many connections is opened and closed with its code.
    pub fn open(&self, opening: Opening) -> Result<ConnId, Error> {
        let now = self.now();
        let protocol = &self.sockets.protocol;
        let peer = match opening.framing {
            Framing::Socket => Peer::Socket,
            Framing::Events(_) => Peer::Listener,
        };
        let client = opening.admitted.as_ref().map(|admitted| admitted.client.clone());
        let jitter = jitter(protocol);
        let mut session = Session::new(
            Arc::clone(protocol),
            (peer, opening.endpoint),
            new_id(IdKind::Connection),
            client.clone(),
            jitter,
            now,
        );
        let place = match &client {
            Some(client) => self.sockets.counts.known(&client.subject),
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

    /// Handles received bytes.
    pub fn received(&self, id: ConnId, bytes: &[u8]) {
        let now = self.now();
        let mut table = self.table.borrow_mut();
        if let Some(conn) = table.conn(id) {
            conn.reader.feed(bytes);
        }
        while let Some(conn) = table.conn(id) {
            let effects = match conn.reader.next_message() {
                Ok(None) => break,
                Ok(Some(Inbound::Closed(_))) => {
                    let effects = conn.session.close(Close::Normal);
                    let since = conn.closing.map_or(now, |closing| closing.since);
                    conn.closing = Some(Closing { since, over: true });
                    effects
                }
                Ok(Some(_)) if conn.session.is_closed() => continue,
                Ok(Some(Inbound::Text(text))) => conn.session.on_text(&text, now),
                Ok(Some(Inbound::Other)) => conn.session.on_frame(now),
                Ok(Some(Inbound::Ping(payload))) => {
                    conn.outbox.push_back(wire::pong(&payload));
                    conn.session.on_frame(now)
                }
                Err(close) => conn.session.close(close),
            };
            self.drive(&mut table, id, effects, now);
        }
        table.wake(id, now);
    }

    /// Handles the end of the transport.
    pub fn closed(&self, id: ConnId) {
        let mut table = self.table.borrow_mut();
        self.forget(&mut table, id);
    }

    /// Returns the number of connections of this thread.
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
    fn insert(&mut self, session: Session, link: Box<dyn TransportHandle>, framing: Framing, limit: usize) -> ConnId {
        self.opened += 1;
        let entry = self.conns.vacant_entry();
        // The index of the connection, and a number that no later connection with this index has.
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

    fn leave(&mut self, place: conn::SubscriptionRef) {
        let Some(channel) = self.channels.get_mut(place.channel) else { return };
        channel.leave(place.member);
        if channel.members.is_empty() {
            let name = Arc::clone(&channel.name);
            self.names.remove(&name);
            self.channels.try_remove(place.channel);
        }
    }

    /// Signals the transport once that there is something to write.
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

/// Random within one interval, so that a burst of connections does not become a burst of heartbeats.
fn jitter(options: &ProtocolOptions) -> Duration {
    let millis = u64::try_from(options.heartbeat.as_millis()).unwrap_or(u64::MAX).max(1);
    // The end of a ULID is random.
    let chance = new_id(IdKind::Connection).bytes().rev().take(6).fold(0_u64, |sum, byte| sum * 31 + u64::from(byte));
    Duration::from_millis(chance % millis + 1)
}
