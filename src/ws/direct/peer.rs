//! The socket of a connection.

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
use crate::ws::{AfterWrite, Shard, TransportHandle};

/// Number of reads of one connection before others get their turn, so that a client that floods its socket delays only
/// itself.
const READS: usize = 4;

/// State shared by the writer of the thread and the task of the connection.
pub(super) struct Peer {
    stream: TcpStream,
    conn: Cell<ConnId>,
    /// Bytes that the socket has not accepted yet; almost always empty.
    left: RefCell<Bytes>,
    /// The socket accepts nothing at present: its task waits until it does.
    blocked: Cell<bool>,
    /// Nothing follows the remaining bytes.
    ending: Cell<bool>,
    over: Cell<bool>,
    task: RefCell<Option<Waker>>,
}

impl Peer {
    /// Writes everything that the connection has to send, as far as the socket accepts it.
    pub(super) fn write(&self, shard: &Shard) {
        while !self.blocked.get() && !self.over.get() {
            if !self.push() {
                return;
            }
            if self.ending.get() {
                return self.end();
            }
            let collected = shard.collect(self.conn.get());
            self.ending.set(collected.next == AfterWrite::End);
            let wait = collected.next == AfterWrite::Wait;
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

    /// Writes the remaining bytes; `false` if some are still left.
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

    /// Processes received bytes.
    fn read(&self, shard: &Shard, buffer: &mut [u8], task: &mut Context<'_>) {
        for _ in 0..READS {
            match self.stream.poll_read_ready(task) {
                Poll::Pending => return,
                Poll::Ready(Err(_)) => return self.over.set(true),
                Poll::Ready(Ok(())) => {}
            }
            match self.stream.try_read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // A half-closed connection is of no use to either side.
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

impl TransportHandle for Reach {
    fn wake(&self) {
        self.flusher.schedule(Rc::clone(&self.peer));
    }

    /// Shuts down the socket itself, so that the other side notices even if another handle to it is still open.
    fn cut(&self) {
        if let Ok(fd) = self.peer.stream.as_fd().try_clone_to_owned() {
            // Fails only if the connection is already closed.
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
    /// Starts on a socket after the switch of protocols, with the bytes received after the handshake.
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
