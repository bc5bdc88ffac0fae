//! A connection whose socket the feed owns.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::ErrorKind;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use muster_feed::ConnId;

use super::Takeover;
use super::flusher::Flusher;
use super::io::SocketIo;
use crate::ws::{AfterWrite, Shard, TransportHandle};

/// Number of reads of one connection before others get their turn, so that a client that floods its socket delays only
/// itself.
const READS: usize = 4;

/// State shared by the writer of the thread and the task of the connection.
pub(super) struct Peer {
    io: SocketIo,
    conn: Cell<ConnId>,
    /// Bytes that the socket has not accepted yet; almost always empty.
    unsent: RefCell<Bytes>,
    /// The socket accepts nothing at present: its task waits until it does.
    blocked: Cell<bool>,
    /// What follows the remaining bytes.
    next: Cell<AfterWrite>,
    ended: Cell<bool>,
    task: RefCell<Option<Waker>>,
}

impl Peer {
    /// Writes everything that the connection has to send, as far as the socket accepts it.
    pub(super) fn write(&self, shard: &Shard) {
        while !self.blocked.get() && !self.ended.get() {
            if !self.send_unsent() {
                return;
            }
            match self.next.get() {
                AfterWrite::Wait | AfterWrite::More => {}
                AfterWrite::HalfClose => return self.io.half_close(),
                AfterWrite::End => {
                    self.io.finish();
                    return self.end();
                }
            }
            let collected = shard.collect(self.conn.get());
            let next = collected.next;
            self.next.set(next);
            match collected.joined() {
                Some(bytes) => *self.unsent.borrow_mut() = bytes,
                None if matches!(next, AfterWrite::HalfClose | AfterWrite::End) => continue,
                None => return,
            }
            if next == AfterWrite::Wait {
                self.send_unsent();
                return;
            }
        }
    }

    /// Writes the remaining bytes; `false` if some are still left.
    fn send_unsent(&self) -> bool {
        let mut unsent = self.unsent.borrow_mut();
        loop {
            let written = if unsent.is_empty() {
                self.io.try_flush().map(|()| None)
            } else {
                self.io.try_write(&unsent).map(Some)
            };
            match written {
                Ok(None) => break,
                Ok(Some(accepted)) if accepted > 0 => unsent.advance(accepted),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.blocked.set(true);
                    self.wake();
                    return false;
                }
                Ok(Some(_)) | Err(_) => {
                    self.end();
                    return false;
                }
            }
        }
        *unsent = Bytes::new();
        true
    }

    fn end(&self) {
        self.ended.set(true);
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
            match self.io.poll_read(buffer, task) {
                Poll::Pending => return,
                // A half-closed connection is of no use to either side.
                Poll::Ready(Ok(0) | Err(_)) => return self.ended.set(true),
                Poll::Ready(Ok(length)) => shard.received(self.conn.get(), buffer.get(..length).unwrap_or_default()),
            }
        }
        task.waker().wake_by_ref();
    }
}

/// How the shard reaches the connection.
struct PeerHandle {
    peer: Rc<Peer>,
    flusher: Rc<Flusher>,
}

impl TransportHandle for PeerHandle {
    fn wake(&self) {
        self.flusher.schedule(Rc::clone(&self.peer));
    }

    fn cut(&self) {
        self.peer.io.shut_down();
        self.peer.end();
    }
}

/// The task of a connection: reads, and continues writes that the socket did not accept in full.
pub(super) struct Connection {
    peer: Rc<Peer>,
    shard: Rc<Shard>,
    flusher: Rc<Flusher>,
}

impl Connection {
    /// Opens a connection on a socket after the switch of protocols. `received` are the bytes that followed the
    /// handshake.
    pub(super) fn open(io: SocketIo, received: &[u8], takeover: Takeover, flusher: Rc<Flusher>) -> Option<Self> {
        let peer = Rc::new(Peer {
            io,
            conn: Cell::new(ConnId(u64::MAX)),
            unsent: RefCell::default(),
            blocked: Cell::new(false),
            next: Cell::new(AfterWrite::Wait),
            ended: Cell::new(false),
            task: RefCell::default(),
        });
        let Takeover { shard, opening } = takeover;
        let handle = Box::new(PeerHandle { peer: Rc::clone(&peer), flusher: Rc::clone(&flusher) });
        let opened = shard.open(opening(handle));
        let conn = opened.inspect_err(|error| tracing::warn!(%error, "a socket was not opened")).ok()?;
        peer.conn.set(conn);
        if !received.is_empty() {
            shard.received(conn, received);
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
        if !peer.ended.get() {
            peer.read(shard, &mut flusher.buffer.borrow_mut(), task);
        }
        while peer.blocked.get() && !peer.ended.get() {
            match peer.io.poll_write_ready(task) {
                Poll::Pending => break,
                Poll::Ready(Ok(())) => {
                    peer.blocked.set(false);
                    peer.write(shard);
                }
                Poll::Ready(Err(_)) => peer.ended.set(true),
            }
        }
        if peer.ended.get() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.peer.ended.set(true);
        self.shard.closed(self.peer.conn.get());
    }
}
