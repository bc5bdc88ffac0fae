//! What the connections of all threads share.

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

/// Limits of connections; the defaults are those of the protocol description.
#[derive(Debug, Clone)]
pub struct SocketOptions {
    pub protocol: ProtocolOptions,
    pub shard: ShardOptions,
    pub max_unauthenticated: usize,
    pub max_per_person: usize,
    /// Origins besides the server's own whose pages may connect.
    pub origins: Vec<String>,
}

/// Limits of a shard.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    /// Bytes and frames behind, above which a connection is slow.
    pub max_behind_bytes: usize,
    pub max_behind_frames: usize,
    /// How long a slow connection may make no progress.
    pub stalled_for: Duration,
    /// How long a connection may be slow while it makes progress.
    pub behind_for: Duration,
    /// How long anything may wait to be written.
    pub no_progress: Duration,
    /// Time for the other side's answer to a close.
    pub linger: Duration,
    /// Number of bytes that one channel keeps for slow connections.
    pub ring_frames: usize,
    pub ring_bytes: usize,
    /// Number of deliveries that may wait for the shard.
    pub queue: usize,
    /// Precision of times.
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

/// Everything that connections need, whichever thread serves them.
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

/// Returns the shard of the present thread.
///
/// # Errors
/// `Internal` if the thread has none.
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

    /// Creates the shard of the calling thread; called once per serving thread.
    pub fn shard(self: &Arc<Self>) -> Rc<Shard> {
        Shard::start(Arc::clone(self))
    }

    /// Closes every connection with the reason that the server restarts (1012), and accepts no further ones.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    pub fn ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// Returns the number of connections that were disconnected because they read too slowly.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }
}
