//! The storage layer: a port and an embedded engine behind it.
//!
//! This crate depends on no other crate of the workspace, and on no actor or HTTP framework. An acknowledged write
//! survives `kill -9`, and a power cut provided that the disk honours sync requests.

#![warn(missing_docs)]

mod appended;
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

mod high_water;
mod snapshot;

use std::sync::Arc;

pub use appended::{key_number, number_key};
pub use bounds::{MAX_BATCH_BYTES, MAX_BATCH_OPS, MAX_INLINE, MAX_KEY, MAX_PAGE, MAX_VALUE};
pub use engine::{
    CompactReport, DataFolder, Durability, Inspection, JournalFile, OpenedStore, Options, Progress, RESTORE_MARK,
    ReplacePolicy, RestoreOptions, RestoreReport, SledStore, TreeCount, inspect_backup, read_backup,
};
pub use error::StoreError;
pub use journal::{
    AppendOutcome, FollowerStart, Frames, Journal, JournalOptions, JournalStats, MAX_FRAME, ReplayStats,
};
pub use memory::MemStore;
pub use migrate::{FORMAT, MigratedTree, Migration, migrate};
pub use port::{Batch, Expect, Op, Order, Page, Rec, Scan, Store, StoreStats, Tree, VerifyReport};
pub use record::{Encoding, Record};
pub use records::{Entries, PageRequest, RecordPage, Records};
pub use snapshot::{BackupSource, PlainFile, SNAPSHOT_MAGIC, restore_from_file, snapshot_to_file};

/// A shared store.
pub type StoreHandle = Arc<dyn Store>;
