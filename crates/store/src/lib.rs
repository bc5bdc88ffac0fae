//! Storage of the house: one port, an embedded engine behind it.
//!
//! Knows nobody: no actor, no HTTP. A write that was acknowledged survives `kill -9`, and a power cut as far as the
//! disk keeps its word.

mod blobs;
mod bounds;
mod crash;
mod engine;
mod envelope;
mod error;
mod files;
mod journal;
mod memory;
mod migrate;
mod port;
mod range;
mod record;
mod records;
mod snapshot;
mod witness;

use std::sync::Arc;

pub use bounds::{MAX_BATCH_BYTES, MAX_BATCH_OPS, MAX_INLINE, MAX_KEY, MAX_PAGE, MAX_VALUE};
pub use engine::{
    Compacted, Durability, Folder, Inspection, JournalFile, Opened, Options, Progress, RESTORED, Replace, Restored,
    SledStore, TreeCount, inspect_file,
};
pub use error::StoreError;
pub use journal::{Followed, Frames, Journal, JournalOptions, JournalStats, Kept, MAX_FRAME, Replayed};
pub use memory::MemStore;
pub use migrate::{FORMAT, Migrated, Migration, migrate};
pub use port::{Batch, Expect, Op, Order, Page, Rec, Report, Scan, Store, StoreStats, Tree};
pub use record::{Encoding, Record};
pub use records::{Entries, PageRequest, RecordPage, Records};
pub use snapshot::{restore_from_file, snapshot_to_file};

/// A store shared by whoever needs one.
pub type StoreHandle = Arc<dyn Store>;
