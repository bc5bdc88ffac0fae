//! A data folder that no server holds: backed up, looked through, replaced, written anew.
//!
//! It is opened as it stands: nothing is mended, migrated or set aside on the way. Only a crashed replacement is
//! finished first, as the server would.

mod compact;
mod inspect;
mod journals;
mod replace;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

pub use compact::Compacted;
pub use inspect::{Inspection, JournalFile, TreeCount, inspect_file};
pub(super) use replace::finish as finish_replacement;
pub use replace::{Replace, Restored};

use super::Options;
use super::open::{self, LIVE};
use super::recover::Damage;
use super::tables::Engine;
use crate::StoreError;
use crate::files;
use crate::snapshot::SnapshotWriter;

/// Told, now and then, how many records are done.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// A data folder, held: no server can open it meanwhile.
#[derive(Debug)]
pub struct Folder {
    options: Options,
    /// Held, not used.
    _lock: File,
}

impl Folder {
    /// Holds a folder that has a store.
    ///
    /// # Errors
    /// `Locked`: a server holds it. `Io`: there is no store, or the folder cannot be used.
    pub fn hold(options: Options) -> Result<Self, StoreError> {
        let none = || StoreError::Io(format!("there is no store in {}: say --data DIR", options.path.display()));
        if !options.path.is_dir() {
            return Err(none());
        }
        let lock = open::hold(&options.path)?;
        if !options.path.join(LIVE).is_dir() {
            return Err(none());
        }
        Ok(Self { options, _lock: lock })
    }

    /// Holds a folder that may be empty or not there yet.
    ///
    /// # Errors
    /// `Locked`: a server holds it. `Io`: the folder cannot be used.
    pub fn hold_or_create(options: Options) -> Result<Self, StoreError> {
        files::create_dir(&options.path)?;
        let lock = open::hold(&options.path)?;
        Ok(Self { options, _lock: lock })
    }

    /// Writes every record, and the journals that are not yet in the records, as a checked stream.
    ///
    /// # Errors
    /// `Corrupt`: a record, or the engine; a backup with holes is none.
    pub fn backup(&self, to: &mut dyn Write, progress: Progress<'_>) -> Result<u64, StoreError> {
        let engine = self.whole()?;
        let mut out = SnapshotWriter::start(to, engine.group()?)?;
        engine.for_each(|tree, key, rec| {
            out.record(tree, key, &rec)?;
            progress(out.records());
            Ok(())
        })?;
        journals::write(&self.options.path, &mut out)?;
        out.finish()
    }

    fn live(&self) -> PathBuf {
        self.options.path.join(LIVE)
    }

    /// The engine, if it holds everything that was acknowledged.
    fn whole(&self) -> Result<Engine, StoreError> {
        open::open_whole(&self.options).map_err(|damage| match damage {
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
