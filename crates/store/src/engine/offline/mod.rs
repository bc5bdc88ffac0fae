//! Operations on a data folder that no server uses: backup, inspection, restore, compaction.
//!
//! The folder is opened as it is: nothing is repaired, migrated or set aside. Only an interrupted replacement is
//! finished first, as the server would do.

mod compact;
mod inspect;
mod journals;
mod replace;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

pub use compact::CompactReport;
pub use inspect::{Inspection, JournalFile, TreeCount, inspect_backup, read_backup};
pub(super) use replace::finish as finish_replacement;
pub use replace::{ReplacePolicy, RestoreOptions, RestoreReport};

use super::Options;
use super::open::{self, LIVE, SNAPSHOTS};
use super::recover::{self, Damage};
use super::tables::Engine;
use crate::files;
use crate::snapshot::{self, SnapshotWriter};
use crate::{Rec, StoreError, Tree};

/// Callback that receives the number of records processed so far, from time to time.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// A locked data folder: no server can open it meanwhile.
#[derive(Debug)]
pub struct DataFolder {
    options: Options,
    /// Held for its effect only.
    _lock: File,
}

impl DataFolder {
    /// Locks a folder that contains a store.
    ///
    /// # Errors
    ///
    /// - `Locked`: a server uses it.
    /// - `Io`: there is no store, or the folder cannot be used.
    pub fn lock(options: Options) -> Result<Self, StoreError> {
        let none = || {
            StoreError::Io(format!(
                "there is no store in {}: set the data folder with --data DIR",
                options.path.display()
            ))
        };
        if !options.path.is_dir() {
            return Err(none());
        }
        let lock = open::lock_and_recover(&options.path)?;
        if !options.path.join(LIVE).is_dir() {
            return Err(none());
        }
        Ok(Self { options, _lock: lock })
    }

    /// Locks a folder that may be empty or missing, in which case it is created.
    ///
    /// # Errors
    ///
    /// - `Locked`: a server uses it.
    /// - `Io`: the folder cannot be used.
    pub fn lock_or_create(options: Options) -> Result<Self, StoreError> {
        files::create_dir(&options.path)?;
        let lock = open::lock_and_recover(&options.path)?;
        Ok(Self { options, _lock: lock })
    }

    /// Writes every record, and the journals that are not merged into the records yet, as a stream with checksums.
    /// Returns the number of records.
    ///
    /// # Errors
    ///
    /// `Corrupt`: a record or the engine is corrupt; an incomplete backup is never written.
    pub fn backup(&self, to: &mut dyn Write, progress: Progress<'_>) -> Result<u64, StoreError> {
        let engine = self.whole()?;
        let mut out = SnapshotWriter::start(to, engine.group()?)?;
        engine.for_each(|tree, key, rec| {
            if tree.is_backed_up() {
                out.record(tree, key, &rec)?;
                progress(out.records());
            }
            Ok(())
        })?;
        journals::write(&self.options.path, &mut out)?;
        out.finish()
    }

    /// Writes a snapshot of the present records and removes all earlier ones, which contain what was erased since.
    ///
    /// # Errors
    ///
    /// `Corrupt`: a record or the engine is corrupt; the earlier snapshots stay.
    pub fn replace_snapshots(&self) -> Result<(), StoreError> {
        let dir = self.options.path.join(SNAPSHOTS);
        files::create_dir(&dir)?;
        let engine = self.whole()?;
        files::write_atomic(&dir.join(snapshot::file_name()), |to| {
            let mut out = SnapshotWriter::start(to, engine.group()?)?;
            engine.for_each(|tree, key, rec| if tree.is_backed_up() { out.record(tree, key, &rec) } else { Ok(()) })?;
            out.finish()
        })?;
        files::sync_dir(&dir)?;
        recover::prune(&dir, 1);
        Ok(())
    }

    /// Returns the names of what the folder has besides the store and that may contain what was erased from it: snapshots,
    /// and stores that were set aside.
    #[must_use]
    pub fn copies(&self) -> Vec<String> {
        let names = |dir: &Path, beginnings: &[&str]| -> Vec<String> {
            let names = files::entries(dir).into_iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
            names.filter(|name| beginnings.iter().any(|beginning| name.starts_with(beginning))).collect()
        };
        let snapshots = names(&self.options.path.join(SNAPSHOTS), &[""]).into_iter();
        let snapshots = snapshots.map(|name| format!("{SNAPSHOTS}/{name}"));
        let mut copies: Vec<String> =
            snapshots.chain(names(&self.options.path, &["replaced-", "quarantine-"])).collect();
        copies.sort_unstable();
        copies
    }

    /// Returns the record at a key.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the record or the engine is corrupt.
    pub fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Rec>, StoreError> {
        self.whole()?.get(tree, key)
    }

    fn live(&self) -> PathBuf {
        self.options.path.join(LIVE)
    }

    /// Opens the engine if it contains everything that was acknowledged.
    fn whole(&self) -> Result<Engine, StoreError> {
        open::open_verified(&self.options).map_err(|damage| match damage {
            Damage::Refused(error) => error,
            Damage::Unreadable(why) | Damage::Lossy { why, .. } => {
                let mend = "`muster serve` sets it aside and starts from its newest snapshot; `muster restore --force` \
                            puts a backup in its place";
                StoreError::Corrupt(format!("{why}: {mend}"))
            }
        })
    }

    fn fresh(&self, dir: &Path) -> Result<Engine, StoreError> {
        files::remove_dir(dir)?;
        Engine::open(dir, self.options.cache_bytes, self.options.durability)
    }
}
