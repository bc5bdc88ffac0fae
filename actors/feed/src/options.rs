//! Bounds and options of the feed.

use std::path::PathBuf;
use std::time::Duration;

use muster_store::{JournalOptions, StoreHandle};

use muster_core::Clock;

/// Bounds of the feed. Where the protocol defines a value, it is the default.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum number of publications sent to a resuming subscriber.
    pub recover: usize,
    /// Maximum number of publications in a channel's history.
    pub ring_frames: usize,
    /// Maximum size of a channel's history, in bytes.
    pub ring_bytes: usize,
    /// Maximum age of a publication in the history.
    pub ring_age: Duration,
    /// Maximum size of all histories, in bytes.
    pub rings_bytes: usize,
    /// Maximum number of channels in memory; beyond it the oldest history is dropped. This bound and the previous one
    /// apply separately to durable and transient histories; the next two apply to transient channels of single
    /// resources.
    pub channels: usize,
    /// Maximum number of transient channels of single resources in memory.
    pub transient_channels: usize,
    /// Maximum size of their histories, in bytes.
    pub transient_bytes: usize,
    /// Maximum number of events queued for the hub; further ones remain in the outbox.
    pub waiting_events: usize,
    /// Maximum number of subscription requests queued for the hub.
    pub waiting_requests: usize,
    /// Maximum number of latest values queued for the hub; beyond it the oldest is dropped.
    pub waiting_values: usize,
    /// Maximum number of channels of latest values.
    pub latest: usize,
    /// Maximum number of keys in a channel of latest values.
    pub latest_keys: usize,
    /// Maximum number of snapshots requested and not replied to.
    pub snapshots: usize,
    /// Time limit for a feature's reply to a snapshot request.
    pub snapshot_patience: Duration,
    /// Interval at which published events are synced and removed from the outbox.
    pub settle_every: Duration,
    /// Interval at which the offsets of channels are stored, and unneeded journal files removed.
    pub checkpoint_every: Duration,
    /// Maximum size of the journal, in bytes; beyond it the oldest history is dropped.
    pub journal_bytes: u64,
    /// Options of the journal.
    pub journal: JournalOptions,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            recover: 500,
            ring_frames: 4_096,
            ring_bytes: 4 << 20,
            ring_age: Duration::from_secs(600),
            rings_bytes: 128 << 20,
            channels: 200_000,
            transient_channels: 50_000,
            transient_bytes: 64 << 20,
            waiting_events: 16_384,
            waiting_requests: 65_536,
            waiting_values: 16_384,
            latest: 200_000,
            latest_keys: 1_000,
            snapshots: 10_000,
            snapshot_patience: Duration::from_secs(5),
            settle_every: Duration::from_secs(1),
            checkpoint_every: Duration::from_secs(10),
            journal_bytes: 256 << 20,
            // The journal has no follower, so no tail is buffered.
            journal: JournalOptions { tail_bytes: 0, ..JournalOptions::default() },
        }
    }
}

/// Options of the feed.
#[derive(Clone)]
pub struct FeedOptions {
    /// Store with the outbox and the offsets.
    pub store: StoreHandle,
    /// Folder of the journal, for its exclusive use.
    pub folder: PathBuf,
    /// Source of time.
    pub clock: Clock,
    /// Identifies the boot of the machine. If it is unchanged, everything written is still there, synced or not; if it
    /// is different or unknown, only a clean shutdown proves that nothing is missing.
    pub boot_id: Option<String>,
    /// Bounds of the feed.
    pub limits: Limits,
}

impl std::fmt::Debug for FeedOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FeedOptions").field("folder", &self.folder).finish_non_exhaustive()
    }
}
