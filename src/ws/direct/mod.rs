//! The transport of sockets: frames go from the shard directly to the socket, without a task that is woken per
//! connection, without an actor, and without the buffers of HTTP.
//!
//! A handshake passes through the server's ordinary routes with all their checks and limits; only if the response
//! switches protocols is the socket taken out of HTTP, with its TLS session if it has one. The thread's one [`Flusher`]
//! writes to all connections that have something to send, once for each bundle delivered by the hub. The task of a
//! connection reads, and continues writes that the socket did not accept in full.

mod flusher;
mod io;
mod peer;
mod takeover;

use std::cell::RefCell;
use std::rc::Rc;

use super::{Opening, Shard, TransportHandle};

pub use io::ServerStream;
pub use takeover::upgrades;

/// What a handler that admits a socket attaches to its response: how to open the connection.
struct Takeover {
    shard: Rc<Shard>,
    opening: Box<dyn FnOnce(Box<dyn TransportHandle>) -> Opening>,
}

/// Attached to a request whose socket can be taken over.
#[derive(Clone, Default)]
pub(super) struct TakeoverSlot(Rc<RefCell<Option<Takeover>>>);

impl TakeoverSlot {
    /// Requests the takeover. The connection opens once the response is sent.
    pub(super) fn fill(&self, shard: Rc<Shard>, opening: impl FnOnce(Box<dyn TransportHandle>) -> Opening + 'static) {
        self.0.replace(Some(Takeover { shard, opening: Box::new(opening) }));
    }

    fn take(&self) -> Option<Takeover> {
        self.0.take()
    }
}
