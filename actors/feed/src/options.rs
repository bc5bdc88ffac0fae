//! Bounds of the feed, and what its actor is given.

use std::path::PathBuf;
use std::time::Duration;

use muster_store::{JournalOptions, StoreHandle};

use muster_core::Clock;

/// Bounds. The defaults are those of the protocol where it names one.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Publications that a resuming subscriber is sent at most.
    pub recover: usize,
    /// Publications of one channel's history.
    pub ring_frames: usize,
    /// Bytes of one channel's history.
    pub ring_bytes: usize,
    /// How long a publication stays in the history.
    pub ring_age: Duration,
    /// Bytes of all histories together.
    pub rings_bytes: usize,
    /// Channels in memory; more drop the oldest history. The same bounds hold once for what is read back, once for what
    /// is not, and of channels of single things that are not read back these two.
    pub channels: usize,
    pub passing_channels: usize,
    pub passing_bytes: usize,
    /// Events that wait for the hub; more wait in the outbox.
    pub waiting_events: usize,
    /// Asks of shards that wait for the hub.
    pub waiting_asks: usize,
    /// Newest values that wait for the hub; more drop the oldest of them.
    pub waiting_values: usize,
    /// Channels of newest values that are kept.
    pub latest: usize,
    /// Keys of one channel of newest values.
    pub latest_keys: usize,
    /// Snapshots asked for and not answered.
    pub snapshots: usize,
    /// How long a feature may take to answer for a snapshot.
    pub snapshot_patience: Duration,
    /// How often what was told is synced and taken out of the outbox.
    pub settle_every: Duration,
    /// How often the offsets of channels are stored, and what no history needs is forgotten.
    pub checkpoint_every: Duration,
    /// Bytes of the journal; more drop the oldest history.
    pub journal_bytes: u64,
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
            passing_channels: 50_000,
            passing_bytes: 64 << 20,
            waiting_events: 16_384,
            waiting_asks: 65_536,
            waiting_values: 16_384,
            latest: 200_000,
            latest_keys: 1_000,
            snapshots: 10_000,
            snapshot_patience: Duration::from_secs(5),
            settle_every: Duration::from_secs(1),
            checkpoint_every: Duration::from_secs(10),
            journal_bytes: 256 << 20,
            // Nobody follows it: what a follower would lag behind is not kept.
            journal: JournalOptions { tail_bytes: 0, ..JournalOptions::default() },
        }
    }
}

/// What the feed needs.
#[derive(Clone)]
pub struct FeedOptions {
    pub store: StoreHandle,
    /// Of the journal; nothing else is in it.
    pub folder: PathBuf,
    pub clock: Clock,
    /// Names this run of the machine's kernel. Where it is the same as before, what was written is still there, synced or
    /// not; where it is another or unknown, only a clean stop proves that nothing is missing.
    pub boot_id: Option<String>,
    pub limits: Limits,
}

impl std::fmt::Debug for FeedOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FeedOptions").field("folder", &self.folder).finish_non_exhaustive()
    }
}
