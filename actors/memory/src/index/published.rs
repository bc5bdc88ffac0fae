//! State that shards publish for readers without messages, and notifications beside their mailboxes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::port::IndexHealth;

const READY: u8 = 101;
const DOWN: u8 = 255;

/// State of all shards.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) shards: Vec<ShardSnapshot>,
    /// Last change announced to the shards.
    pub(super) announced: AtomicU64,
    /// Notified when an entry may lack a vector.
    pub(super) missing_vectors: Arc<Notify>,
    /// Trimming of the change log is in progress.
    pub(super) trimming: AtomicBool,
}

/// State of one shard.
#[derive(Debug)]
pub(super) struct ShardSnapshot {
    health: AtomicU8,
    /// A change that did not fit its mailbox: the shard is behind until it has read up to it.
    pub(super) missed: AtomicU64,
    /// Last change contained in durable checkpoints.
    pub(super) covered: AtomicU64,
    /// Searches waiting or running.
    pub(super) searches: AtomicUsize,
}

impl Published {
    /// `last` is the last durable change before anything is announced.
    pub(super) fn new(shards: usize, last: u64) -> Self {
        let shard = || ShardSnapshot {
            health: AtomicU8::new(DOWN),
            missed: AtomicU64::new(0),
            covered: AtomicU64::new(0),
            searches: AtomicUsize::new(0),
        };
        Self {
            shards: (0..shards).map(|_| shard()).collect(),
            announced: AtomicU64::new(last),
            missing_vectors: Arc::new(Notify::new()),
            trimming: AtomicBool::new(false),
        }
    }

    /// Returns the worst health of any shard.
    pub(super) fn health(&self) -> IndexHealth {
        self.shards.iter().map(ShardSnapshot::health).fold(IndexHealth::Ready, |worst, next| match (worst, next) {
            (IndexHealth::Down, _) | (_, IndexHealth::Down) => IndexHealth::Down,
            (IndexHealth::Rebuilding { percent: a }, IndexHealth::Rebuilding { percent: b }) => {
                IndexHealth::Rebuilding { percent: a.min(b) }
            }
            (IndexHealth::Ready, other) | (other, IndexHealth::Ready) => other,
        })
    }

    /// Returns the last change that all shards have in durable checkpoints.
    pub(super) fn covered(&self) -> u64 {
        self.shards.iter().map(|shard| shard.covered.load(Ordering::Acquire)).min().unwrap_or(0)
    }
}

impl ShardSnapshot {
    pub(super) fn health(&self) -> IndexHealth {
        match self.health.load(Ordering::Acquire) {
            DOWN => IndexHealth::Down,
            READY => IndexHealth::Ready,
            percent => IndexHealth::Rebuilding { percent },
        }
    }

    pub(super) fn set_health(&self, health: IndexHealth) {
        let state = match health {
            IndexHealth::Down => DOWN,
            IndexHealth::Ready => READY,
            IndexHealth::Rebuilding { percent } => percent.min(99),
        };
        self.health.store(state, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_that_of_the_worst_shard() {
        let published = Published::new(3, 0);
        let health = |states: [IndexHealth; 3]| {
            published.shards.iter().zip(states).for_each(|(shard, state)| shard.set_health(state));
            published.health()
        };
        let rebuilding = |percent| IndexHealth::Rebuilding { percent };
        assert_eq!(published.health(), IndexHealth::Down, "before the first start");
        assert_eq!(health([IndexHealth::Ready; 3]), IndexHealth::Ready);
        assert_eq!(health([rebuilding(40), IndexHealth::Ready, rebuilding(7)]), rebuilding(7));
        assert_eq!(health([rebuilding(40), IndexHealth::Down, IndexHealth::Ready]), IndexHealth::Down);
        assert_eq!(health([rebuilding(100), IndexHealth::Ready, IndexHealth::Ready]), rebuilding(99), "not ready yet");
    }
}
