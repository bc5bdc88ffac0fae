//! What shards say of themselves without being asked, and what they are told beside their mailboxes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::port::IndexHealth;

const READY: u8 = 101;
const DOWN: u8 = 255;

/// Over all shards.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) shards: Vec<Shown>,
    /// The last change that the shards were told of.
    pub(super) told: AtomicU64,
    /// Told when an entry may lack a vector.
    pub(super) lacking: Arc<Notify>,
    /// Somebody trims the changes.
    pub(super) trimming: AtomicBool,
}

/// Of one shard.
#[derive(Debug)]
pub(super) struct Shown {
    health: AtomicU8,
    /// A change that could not be put into its mailbox: it is behind until it has read up to this one.
    pub(super) missed: AtomicU64,
    /// Changes up to this one are in checkpoints that are durable.
    pub(super) covered: AtomicU64,
    /// Searches that wait or run.
    pub(super) searches: AtomicUsize,
}

impl Published {
    /// `last` is the change that is durable before anything is told.
    pub(super) fn new(shards: usize, last: u64) -> Self {
        let shown = || Shown {
            health: AtomicU8::new(DOWN),
            missed: AtomicU64::new(0),
            covered: AtomicU64::new(0),
            searches: AtomicUsize::new(0),
        };
        Self {
            shards: (0..shards).map(|_| shown()).collect(),
            told: AtomicU64::new(last),
            lacking: Arc::new(Notify::new()),
            trimming: AtomicBool::new(false),
        }
    }

    /// The worst of any shard.
    pub(super) fn health(&self) -> IndexHealth {
        self.shards.iter().map(Shown::health).fold(IndexHealth::Ready, |worst, next| match (worst, next) {
            (IndexHealth::Down, _) | (_, IndexHealth::Down) => IndexHealth::Down,
            (IndexHealth::Rebuilding { percent: a }, IndexHealth::Rebuilding { percent: b }) => {
                IndexHealth::Rebuilding { percent: a.min(b) }
            }
            (IndexHealth::Ready, other) | (other, IndexHealth::Ready) => other,
        })
    }

    /// The last change that every shard has in durable checkpoints.
    pub(super) fn covered(&self) -> u64 {
        self.shards.iter().map(|shard| shard.covered.load(Ordering::Acquire)).min().unwrap_or(0)
    }
}

impl Shown {
    pub(super) fn health(&self) -> IndexHealth {
        match self.health.load(Ordering::Acquire) {
            DOWN => IndexHealth::Down,
            READY => IndexHealth::Ready,
            percent => IndexHealth::Rebuilding { percent },
        }
    }

    pub(super) fn show(&self, health: IndexHealth) {
        let shown = match health {
            IndexHealth::Down => DOWN,
            IndexHealth::Ready => READY,
            IndexHealth::Rebuilding { percent } => percent.min(99),
        };
        self.health.store(shown, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_shard_speaks_for_all() {
        let published = Published::new(3, 0);
        let show = |states: [IndexHealth; 3]| {
            published.shards.iter().zip(states).for_each(|(shard, state)| shard.show(state));
            published.health()
        };
        let rebuilding = |percent| IndexHealth::Rebuilding { percent };
        assert_eq!(published.health(), IndexHealth::Down, "before the first start");
        assert_eq!(show([IndexHealth::Ready; 3]), IndexHealth::Ready);
        assert_eq!(show([rebuilding(40), IndexHealth::Ready, rebuilding(7)]), rebuilding(7));
        assert_eq!(show([rebuilding(40), IndexHealth::Down, IndexHealth::Ready]), IndexHealth::Down);
        assert_eq!(show([rebuilding(100), IndexHealth::Ready, IndexHealth::Ready]), rebuilding(99), "not ready yet");
    }
}
