//! State that survives restarts of the hub: attached shards and registered features.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::sync::watch;

use super::{ShardId, ShardPort, SnapshotSource};

type Ports = HashMap<ShardId, Arc<dyn ShardPort>>;
type Sources = HashMap<String, Arc<dyn SnapshotSource>>;

/// State shared with every incarnation of the hub.
#[derive(Debug)]
pub(super) struct Shared {
    ports: watch::Sender<Arc<Ports>>,
    sources: watch::Sender<Arc<Sources>>,
    next_shard: AtomicU32,
    /// Number of incarnations of the hub so far.
    pub(super) starts: AtomicU64,
    pub(super) resets: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            ports: watch::Sender::new(Arc::default()),
            sources: watch::Sender::new(Arc::default()),
            next_shard: AtomicU32::new(0),
            starts: AtomicU64::new(0),
            resets: AtomicU64::new(0),
        }
    }
}

impl Shared {
    pub(super) fn attach(&self, port: Arc<dyn ShardPort>) -> ShardId {
        let shard = ShardId(self.next_shard.fetch_add(1, Ordering::Relaxed));
        self.ports.send_modify(|ports| {
            Arc::make_mut(ports).insert(shard, port);
        });
        shard
    }

    pub(super) fn detach(&self, shard: ShardId) {
        self.ports.send_modify(|ports| {
            Arc::make_mut(ports).remove(&shard);
        });
    }

    pub(super) fn ports(&self) -> Arc<Ports> {
        Arc::clone(&self.ports.borrow())
    }

    pub(super) fn register(&self, prefix: &str, source: Arc<dyn SnapshotSource>) {
        self.sources.send_modify(|sources| {
            Arc::make_mut(sources).insert(prefix.to_owned(), source);
        });
    }

    /// Returns the feature registered for the longest prefix of the channel.
    pub(super) fn source(&self, channel: &str) -> Option<Arc<dyn SnapshotSource>> {
        let sources = self.sources.borrow();
        let ends = channel.char_indices().filter(|(_, char)| matches!(char, ':' | '.')).map(|(at, _)| at);
        let prefixes = ends.chain([channel.len()]).filter_map(|end| channel.get(..end));
        prefixes.rev().find_map(|prefix| sources.get(prefix)).cloned()
    }
}
