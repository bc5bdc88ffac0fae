//! The writer of a thread.

use std::cell::RefCell;
use std::rc::Rc;

use tokio::sync::Notify;

use super::peer::Peer;
use crate::ws::Shard;

/// Number of connections written to before other work of the thread gets its turn, about 10 ms: what arrives meanwhile,
/// such as an alert, is sent before what still waits. A smaller number would send the same in more and smaller writes.
const AT_A_TIME: usize = 2_048;
/// Size of one read from a socket, in bytes.
const READ: usize = 16 << 10;

/// The connections of a thread that have something to write.
pub(super) struct Flusher {
    ready: RefCell<Vec<Rc<Peer>>>,
    scheduled: Notify,
    /// The buffer that every connection of the thread reads into.
    pub(super) buffer: RefCell<Box<[u8]>>,
}

impl Flusher {
    /// Starts on this thread and runs until the thread's runtime ends.
    pub(super) fn start(shard: Rc<Shard>) -> Rc<Self> {
        let flusher = Rc::new(Self {
            ready: RefCell::default(),
            scheduled: Notify::new(),
            buffer: RefCell::new(vec![0; READ].into_boxed_slice()),
        });
        actix_rt::spawn(run(Rc::clone(&flusher), shard));
        flusher
    }

    /// The shard signals each connection at most once until it was written to.
    pub(super) fn schedule(&self, peer: Rc<Peer>) {
        let mut ready = self.ready.borrow_mut();
        ready.push(peer);
        if ready.len() == 1 {
            self.scheduled.notify_one();
        }
    }
}

async fn run(flusher: Rc<Flusher>, shard: Rc<Shard>) {
    let mut writing = Vec::new();
    loop {
        flusher.scheduled.notified().await;
        std::mem::swap(&mut writing, &mut *flusher.ready.borrow_mut());
        for (number, peer) in writing.drain(..).enumerate() {
            if number % AT_A_TIME == AT_A_TIME - 1 {
                tokio::task::yield_now().await;
            }
            peer.write(&shard);
        }
    }
}
