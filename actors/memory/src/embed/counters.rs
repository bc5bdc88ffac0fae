//! Counters of embedding.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::Serialize;
use tokio::sync::{Notify, watch};

/// Embedding statistics since the server's start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EmbedStats {
    /// Entries whose vector was stored.
    pub entries: u64,
    /// Texts computed for entries.
    pub texts: u64,
    /// Number of times the model rejected an entry; it is retried ever less often.
    pub refused: u64,
    /// Rounds that failed as a whole.
    pub failures: u64,
    /// Queries that needed a vector.
    pub queries: u64,
    /// Queries whose vector was cached.
    pub known: u64,
    /// Queries waiting now.
    pub waiting: usize,
    /// Why the last round failed or the model is unavailable; `None` while it works.
    pub fault: Option<String>,
}

/// The live counters.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) entries: AtomicU64,
    pub(super) texts: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) queries: AtomicU64,
    pub(super) known: AtomicU64,
    waiting: AtomicUsize,
    /// Notified when no query is waiting any more.
    idle: Notify,
    fault: watch::Sender<Option<String>>,
}

/// Counts a waiting query until it is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'a>(&'a Counters);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.0.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        let zero = AtomicU64::default;
        Self {
            entries: zero(),
            texts: zero(),
            rejected: zero(),
            failures: zero(),
            queries: zero(),
            known: zero(),
            waiting: AtomicUsize::default(),
            idle: Notify::default(),
            fault: watch::Sender::new(None),
        }
    }
}

impl Counters {
    /// Registers a waiting query.
    pub(super) fn waits(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Waiting(self)
    }

    /// Resolves once no query waits.
    pub(super) async fn no_query(&self) {
        loop {
            let idle = self.idle.notified();
            if self.waiting.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    pub(super) fn set_fault(&self, why: Option<String>) {
        self.fault.send_replace(why);
    }

    /// Returns the current values.
    pub(super) fn read(&self) -> EmbedStats {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        EmbedStats {
            entries: of(&self.entries),
            texts: of(&self.texts),
            refused: of(&self.rejected),
            failures: of(&self.failures),
            queries: of(&self.queries),
            known: of(&self.known),
            waiting: self.waiting.load(Ordering::Relaxed),
            fault: self.fault.borrow().clone(),
        }
    }
}
