//! The implementation that owns its sockets: frames go from the shard directly to the socket, without a task that is
//! woken per connection, without an actor, and without the buffers of HTTP.
//!
//! A handshake passes through the server's ordinary routes with all their checks and limits; only if the response
//! switches protocols is the socket taken out of HTTP. The thread's one [`Flusher`] writes to all connections that have
//! something to send, once for each bundle delivered by the hub. The task of a connection reads, and continues writes
//! that the socket did not accept in full.

mod flusher;
mod peer;
mod takeover;

use std::cell::RefCell;
use std::rc::Rc;

use super::{Opening, Shard, TransportHandle};

pub(crate) use takeover::upgrades;

/// Attached to a response by a handler that admits a socket: whom it belongs to.
struct Begin {
    shard: Rc<Shard>,
    opening: Box<dyn FnOnce(Box<dyn TransportHandle>) -> Opening>,
}

/// Attached to a request whose socket can be taken over.
#[derive(Clone, Default)]
pub(super) struct TakeoverSlot(Rc<RefCell<Option<Begin>>>);

impl TakeoverSlot {
    /// The socket begins once the response is sent.
    pub(super) fn take(&self, shard: Rc<Shard>, opening: impl FnOnce(Box<dyn TransportHandle>) -> Opening + 'static) {
        self.0.replace(Some(Begin { shard, opening: Box::new(opening) }));
    }

    fn taken(&self) -> Option<Begin> {
        self.0.take()
    }
}
