//! What all threads' sockets share.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::HttpRequest;
use muster_core::{Clock, Error, Kind};
use muster_feed::Feed;
use tokio::sync::watch;

use super::protocol::ProtocolOptions;
use super::{Admission, Commands, Counts, Shard};

/// Bounds of the sockets; the defaults are the contract's.
#[derive(Debug, Clone)]
pub struct SocketOptions {
    pub protocol: ProtocolOptions,
    pub shard: ShardOptions,
    pub max_unauthenticated: usize,
    pub max_per_person: usize,
    /// Origins besides the server's own whose pages may connect.
    pub origins: Vec<String>,
}

/// Bounds of a thread's part.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    /// A connection this far behind is a slow one.
    pub max_behind_bytes: usize,
    pub max_behind_frames: usize,
    /// How long it may stay so while it takes nothing at all.
    pub stalled_for: Duration,
    /// How long it may stay so while it takes something.
    pub behind_for: Duration,
    /// How long anything at all may wait to be taken.
    pub no_progress: Duration,
    /// For the other side's answer to a close.
    pub linger: Duration,
    /// What one channel keeps for those who are behind.
    pub ring_frames: usize,
    pub ring_bytes: usize,
    /// Deliveries that may wait for the shard.
    pub queue: usize,
    /// How exact times are.
    pub tick: Duration,
}

impl Default for ShardOptions {
    fn default() -> Self {
        Self {
            max_behind_bytes: 1 << 20,
            max_behind_frames: 1024,
            stalled_for: Duration::from_millis(250),
            behind_for: Duration::from_secs(2),
            no_progress: Duration::from_secs(10),
            linger: Duration::from_secs(1),
            ring_frames: 4096,
            ring_bytes: 4 << 20,
            queue: 65_536,
            tick: Duration::from_millis(100),
        }
    }
}

/// Everything that sockets need, whichever thread serves them.
#[derive(Debug)]
pub struct Sockets {
    pub feed: Feed,
    pub clock: Clock,
    pub admission: Arc<dyn Admission>,
    pub commands: Commands,
    pub counts: Arc<Counts>,
    pub options: SocketOptions,
    pub(super) protocol: Arc<ProtocolOptions>,
    pub(super) ending: watch::Sender<bool>,
    pub(super) evicted: AtomicU64,
}

/// The thread's part of the feed.
///
/// # Errors
/// `Internal`: the thread has none.
pub fn shard_of(request: &HttpRequest) -> Result<Rc<Shard>, Error> {
    let shard = request.app_data::<Rc<Shard>>().cloned();
    shard.ok_or_else(|| Error::new(Kind::Internal, "no shard on this thread"))
}

impl Sockets {
    pub fn new(feed: Feed, clock: Clock, admission: Arc<dyn Admission>, options: SocketOptions) -> Arc<Self> {
        Arc::new(Self {
            feed,
            clock,
            admission,
            commands: Commands::default(),
            counts: Counts::new(options.max_unauthenticated, options.max_per_person),
            protocol: Arc::new(options.protocol.clone()),
            options,
            ending: watch::Sender::new(false),
            evicted: AtomicU64::new(0),
        })
    }

    /// The part of the thread that calls; once for each thread that serves.
    pub fn shard(self: &Arc<Self>) -> Rc<Shard> {
        Shard::start(Arc::clone(self))
    }

    /// Every socket is told that the server restarts (1012), and none is taken any more.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    pub fn ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// Connections that were cut off because they took too little.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }
}
