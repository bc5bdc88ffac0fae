//! The store on disk: sled 0.34.7, opened, written and synced in the way that was found to be safe.
//!
//! The data folder contains `lock`, `live/` (the engine: `db`, `conf`, `blobs.d/` for large values, `high_water`),
//! `snapshots/` (the newest one is restored if the engine is corrupt), `quarantine-<time>/` (a corrupt engine) and
//! `replaced-<time>/` (the store that a restore replaced).

mod apply;
mod bulk_load;
mod handles;
mod offline;
mod open;
mod recover;
mod tables;
mod writer;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::watch;

pub use bulk_load::RESTORE_MARK;
pub use offline::{
    CompactReport, DataFolder, Inspection, JournalFile, Progress, ReplacePolicy, RestoreOptions, RestoreReport,
    TreeCount, inspect_backup, read_backup,
};

use crate::bounds::{check_batch, check_key, check_scan};
use crate::migrate::{MigratedTree, Migration};
use crate::port::{Batch, Page, Rec, Scan, Store, StoreStats, Tree, VerifyReport};
use crate::snapshot::{self, SnapshotWriter};
use crate::{StoreError, files};
use tables::Engine;
use writer::Writer;

/// Options for opening a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data folder. It is created if missing.
    pub path: PathBuf,
    /// Page cache of the engine, in bytes. This is a target, not a limit: memory use grows with the database.
    pub cache_bytes: u64,
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Migrations that are applied to older records while opening.
    pub migrations: Vec<Migration>,
}

impl Options {
    /// Creates options with 64 MiB of cache, synced writes and no migrations.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), cache_bytes: 64 << 20, durability: Durability::PowerCut, migrations: Vec::new() }
    }
}

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: every group of writes is synced to disk.
    PowerCut,
    /// The end of the process only: the operating system still buffers the writes. For benchmarks and for the control
    /// run of the power-cut test.
    ProcessEnd,
}

/// An opened store and what happened while opening it.
#[derive(Debug)]
pub struct OpenedStore {
    /// The opened store.
    pub store: Arc<SledStore>,
    /// What was set aside because it was corrupt, and what replaced it.
    pub quarantined: Option<String>,
    /// Trees whose records were migrated.
    pub migrated: Vec<MigratedTree>,
}

/// The store on disk. Dropping it writes what was accepted and closes it.
#[derive(Debug)]
pub struct SledStore {
    writer: Writer,
    engine: Arc<Engine>,
    folder: PathBuf,
    quarantined: Option<String>,
    /// Held for its effect only: the operating system releases the folder when it is dropped, which must happen last.
    _lock: File,
}

impl SledStore {
    /// Opens the store, after recovering and migrating it. Blocks; a large store takes seconds.
    ///
    /// # Errors
    ///
    /// - `Locked`: another process uses the folder.
    /// - `Io`: the folder cannot be used.
    /// - `NewerSchema`: a newer version of the program wrote the store.
    /// - `Corrupt`: a record that must be migrated is corrupt.
    pub fn open(options: Options) -> Result<OpenedStore, StoreError> {
        open::open(options)
    }

    /// Writes what was accepted and rejects further commits. Reads remain possible until the store is dropped.
    pub fn close(&self) {
        self.writer.close();
    }

    /// Returns the folder whose newest snapshot is restored if the engine is found corrupt.
    #[must_use]
    pub fn snapshots(&self) -> PathBuf {
        self.folder.join(open::SNAPSHOTS)
    }

    /// Writes a snapshot into `snapshots()` and removes all but the newest `append_or_buffer`. Blocks, and commits wait until it is
    /// done.
    pub fn save_snapshot(&self, append_or_buffer: usize) -> Result<PathBuf, StoreError> {
        let dir = self.snapshots();
        files::create_dir(&dir)?;
        let path = dir.join(snapshot::file_name());
        snapshot::snapshot_to_file(self, &path)?;
        recover::prune(&dir, append_or_buffer.max(1));
        Ok(path)
    }

    /// Returns the folder of the engine.
    #[must_use]
    pub fn live(&self) -> &Path {
        self.engine.dir()
    }
}

impl Store for SledStore {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Rec>, StoreError> {
        check_key(key)?;
        self.engine.get(tree, key)
    }

    fn scan(&self, tree: Tree, scan: &Scan) -> Result<Page, StoreError> {
        self.engine.scan(tree, scan, check_scan(scan)?)
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'static, Result<(), StoreError>> {
        let submitted = check_batch(&batch).and_then(|bytes| self.writer.submit(batch, bytes));
        Box::pin(async move { submitted?.await })
    }

    fn appended(&self, tree: Tree) -> watch::Receiver<u64> {
        self.engine.durable.of(tree)
    }

    /// Commits wait meanwhile, so that the snapshot is consistent.
    fn snapshot(&self, to: &mut dyn Write) -> Result<u64, StoreError> {
        let _quiet = self.writer.pause();
        let mut out = SnapshotWriter::start(to, self.engine.group()?)?;
        self.engine
            .for_each(|tree, key, rec| if tree.is_backed_up() { out.record(tree, key, &rec) } else { Ok(()) })?;
        out.finish()
    }

    fn stats(&self) -> StoreStats {
        StoreStats {
            bytes_on_disk: self.engine.bytes_on_disk(),
            quarantined: self.quarantined.clone(),
            spilled: self.engine.spilled(),
            ..self.writer.stats()
        }
    }

    fn writable(&self) -> Result<(), StoreError> {
        self.writer.writable()
    }

    fn verify(&self) -> Result<VerifyReport, StoreError> {
        self.engine.verify()
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        self.close();
    }
}
