//! A connection's socket.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::ErrorKind;
use std::net::{Shutdown, TcpStream as StdStream};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use actix_web::rt::net::TcpStream;
use bytes::{Buf, Bytes};
use muster_feed::ConnId;

use super::Begin;
use super::flusher::Flusher;
use crate::ws::{Link, Next, Shard};

/// Reads of one connection before others have a turn: who floods its socket holds up only itself.
const READS: usize = 4;

/// What the thread's writer and the connection's task share.
pub(super) struct Peer {
    stream: TcpStream,
    conn: Cell<ConnId>,
    /// What the socket did not take yet; empty almost always.
    left: RefCell<Bytes>,
    /// The socket takes nothing now: its task waits until it does.
    blocked: Cell<bool>,
    /// Nothing comes after what is left.
    ending: Cell<bool>,
    over: Cell<bool>,
    task: RefCell<Option<Waker>>,
}

impl Peer {
    /// Everything that there is for the connection, as far as the socket takes it.
    pub(super) fn write(&self, shard: &Shard) {
        while !self.blocked.get() && !self.over.get() {
            if !self.push() {
                return;
            }
            if self.ending.get() {
                return self.end();
            }
            let collected = shard.collect(self.conn.get());
            self.ending.set(collected.next == Next::End);
            let wait = collected.next == Next::Wait;
            match collected.joined() {
                Some(bytes) => *self.left.borrow_mut() = bytes,
                None if self.ending.get() => return self.end(),
                None => return,
            }
            if wait {
                self.push();
                return;
            }
        }
    }

    /// Writes what is left; `false` where something still is.
    fn push(&self) -> bool {
        let mut left = self.left.borrow_mut();
        while !left.is_empty() {
            match self.stream.try_write(&left) {
                Ok(taken) if taken > 0 => left.advance(taken),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.blocked.set(true);
                    self.wake();
                    return false;
                }
                Ok(_) | Err(_) => {
                    self.end();
                    return false;
                }
            }
        }
        *left = Bytes::new();
        true
    }

    fn end(&self) {
        self.over.set(true);
        self.wake();
    }

    fn wake(&self) {
        if let Some(task) = &*self.task.borrow() {
            task.wake_by_ref();
        }
    }

    /// Takes what came.
    fn read(&self, shard: &Shard, buffer: &mut [u8], task: &mut Context<'_>) {
        for _ in 0..READS {
            match self.stream.poll_read_ready(task) {
                Poll::Pending => return,
                Poll::Ready(Err(_)) => return self.over.set(true),
                Poll::Ready(Ok(())) => {}
            }
            match self.stream.try_read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Half a connection is of no use to either side.
                Ok(0) | Err(_) => return self.over.set(true),
                Ok(got) => shard.received(self.conn.get(), buffer.get(..got).unwrap_or_default()),
            }
        }
        task.waker().wake_by_ref();
    }
}

/// How the shard reaches the socket.
struct Reach {
    peer: Rc<Peer>,
    flusher: Rc<Flusher>,
}

impl Link for Reach {
    fn wake(&self) {
        self.flusher.tell(Rc::clone(&self.peer));
    }

    /// Shuts the socket itself down, so that the other side hears of it whoever still holds it.
    fn cut(&self) {
        if let Ok(fd) = self.peer.stream.as_fd().try_clone_to_owned() {
            // It fails only where the connection is gone.
            let _ = StdStream::from(fd).shutdown(Shutdown::Both);
        }
        self.peer.end();
    }
}

/// A connection, until it ends.
pub(super) struct Connection {
    peer: Rc<Peer>,
    shard: Rc<Shard>,
    flusher: Rc<Flusher>,
}

impl Connection {
    /// Begins on a socket on which the protocols were switched, with what came behind the handshake.
    pub(super) fn begin(stream: TcpStream, came: &[u8], begin: Begin, flusher: Rc<Flusher>) -> Option<Self> {
        let peer = Rc::new(Peer {
            stream,
            conn: Cell::new(ConnId(u64::MAX)),
            left: RefCell::default(),
            blocked: Cell::new(false),
            ending: Cell::new(false),
            over: Cell::new(false),
            task: RefCell::default(),
        });
        let Begin { shard, opening } = begin;
        let link = Box::new(Reach { peer: Rc::clone(&peer), flusher: Rc::clone(&flusher) });
        let opened = shard.open(opening(link));
        let conn = opened.inspect_err(|error| tracing::warn!(%error, "a socket was not opened")).ok()?;
        peer.conn.set(conn);
        if !came.is_empty() {
            shard.received(conn, came);
        }
        Some(Self { peer, shard, flusher })
    }
}

impl Future for Connection {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let Self { peer, shard, flusher } = &*self;
        if !peer.task.borrow().as_ref().is_some_and(|known| known.will_wake(task.waker())) {
            peer.task.replace(Some(task.waker().clone()));
        }
        if !peer.over.get() {
            peer.read(shard, &mut flusher.buffer.borrow_mut(), task);
        }
        while peer.blocked.get() && !peer.over.get() {
            match peer.stream.poll_write_ready(task) {
                Poll::Pending => break,
                Poll::Ready(Ok(())) => {
                    peer.blocked.set(false);
                    peer.write(shard);
                }
                Poll::Ready(Err(_)) => peer.over.set(true),
            }
        }
        if peer.over.get() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.peer.over.set(true);
        self.shard.closed(self.peer.conn.get());
    }
}
