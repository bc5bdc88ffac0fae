//! The lane that owns its sockets: frames go from the shard straight to the socket, without a task that is woken for
//! each connection, without an actor, and without the buffers of HTTP.
//!
//! A handshake goes through the server's ordinary routes, with all that they check and count; only where the answer is
//! to switch protocols the socket is taken out of HTTP. What is written, the thread's one [`Flusher`] writes, for all
//! connections that have something, once for each bundle that the hub delivered. A connection's own task reads, and goes
//! on with what its socket did not take.

mod flusher;
mod peer;
mod takeover;

use std::cell::RefCell;
use std::rc::Rc;

use super::{Link, Opening, Shard};

pub(crate) use takeover::upgrades;

/// Left by a handler that lets a socket in: who it belongs to.
struct Begin {
    shard: Rc<Shard>,
    opening: Box<dyn FnOnce(Box<dyn Link>) -> Opening>,
}

/// Goes with a request whose socket can be taken over.
#[derive(Clone, Default)]
pub(super) struct Seat(Rc<RefCell<Option<Begin>>>);

impl Seat {
    /// The socket begins once the answer is sent.
    pub(super) fn take(&self, shard: Rc<Shard>, opening: impl FnOnce(Box<dyn Link>) -> Opening + 'static) {
        self.0.replace(Some(Begin { shard, opening: Box::new(opening) }));
    }

    fn taken(&self) -> Option<Begin> {
        self.0.take()
    }
}
