//! The store on disk: sled 0.34.7, opened, written and synced in the one way that was found safe.
//!
//! In the data folder: `lock`, `live/` (the engine: `db`, `conf`, `blobs.d/` for large values, `witness`),
//! `snapshots/` (the newest is restored when the engine is corrupt), `quarantine-<time>/` (what was corrupt),
//! `replaced-<time>/` (what a restore took the place of).

mod apply;
mod fill;
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

pub use fill::RESTORED;
pub use offline::{Compacted, Folder, Inspection, JournalFile, Progress, Replace, Restored, TreeCount, inspect_file};

use crate::bounds::{check_batch, check_key, check_scan};
use crate::migrate::{Migrated, Migration};
use crate::port::{Batch, Page, Rec, Report, Scan, Store, StoreStats, Tree};
use crate::snapshot::{self, SnapshotWriter};
use crate::{StoreError, files};
use tables::Engine;
use writer::Writer;

/// How to open a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data folder; created if it is missing.
    pub path: PathBuf,
    /// The engine's page cache, in bytes. It is a target, not a ceiling: memory grows with the database.
    pub cache_bytes: u64,
    pub durability: Durability,
    /// Brings records of older programs up to date while opening.
    pub migrations: Vec<Migration>,
}

impl Options {
    /// 64 MiB of cache, synced writes, no migrations.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), cache_bytes: 64 << 20, durability: Durability::PowerCut, migrations: Vec::new() }
    }
}

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: every group of writes is synced to the disk.
    PowerCut,
    /// Only the end of the process: the operating system still holds the writes. For measuring and for the control
    /// run of the power-cut test.
    ProcessEnd,
}

/// An opened store and what happened on the way.
#[derive(Debug)]
pub struct Opened {
    pub store: Arc<SledStore>,
    /// What was set aside because it was corrupt, and what took its place.
    pub quarantined: Option<String>,
    /// Trees whose records were brought up to date.
    pub migrated: Vec<Migrated>,
}

/// The store on disk. Dropping it closes it; what was accepted is written first.
#[derive(Debug)]
pub struct SledStore {
    writer: Writer,
    engine: Arc<Engine>,
    folder: PathBuf,
    quarantined: Option<String>,
    /// Held, not used: the operating system frees the folder when it is dropped, which must come last.
    _lock: File,
}

impl SledStore {
    /// Opens the store, recovering and migrating it first. Blocks: seconds for a large one.
    ///
    /// # Errors
    /// `Locked`: another process holds the folder. `Io`: the folder cannot be used. `NewerSchema`: a newer program
    /// wrote it. `Corrupt`: a record in the way of a migration is corrupt.
    pub fn open(options: Options) -> Result<Opened, StoreError> {
        open::open(options)
    }

    /// Writes what was accepted and stops accepting. Reads go on until the store is dropped.
    pub fn close(&self) {
        self.writer.close();
    }

    /// The folder whose newest snapshot is restored if the engine is found corrupt.
    #[must_use]
    pub fn snapshots(&self) -> PathBuf {
        self.folder.join(open::SNAPSHOTS)
    }

    /// Writes a snapshot into `snapshots()` and removes all but the newest `keep`. Blocks, and commits wait for it.
    pub fn save_snapshot(&self, keep: usize) -> Result<PathBuf, StoreError> {
        let dir = self.snapshots();
        files::create_dir(&dir)?;
        let path = dir.join(snapshot::file_name());
        snapshot::snapshot_to_file(self, &path)?;
        recover::prune(&dir, keep.max(1));
        Ok(path)
    }

    /// The engine's own folder.
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

    /// Commits wait meanwhile, so that the snapshot is of one moment.
    fn snapshot(&self, to: &mut dyn Write) -> Result<u64, StoreError> {
        let _quiet = self.writer.pause();
        let mut out = SnapshotWriter::start(to, self.engine.group()?)?;
        self.engine.for_each(|tree, key, rec| out.record(tree, key, &rec))?;
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

    fn verify(&self) -> Result<Report, StoreError> {
        self.engine.verify()
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        self.close();
    }
}
