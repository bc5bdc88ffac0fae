//! Compacts a store. sled never returns space to the file system; a new engine holds the same records in less.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{DataFolder, Progress};
use crate::engine::bulk_load::BulkLoader;
use crate::engine::open::LIVE;
use crate::engine::recover::{BUILDING, READY};
use crate::files::{self, io_at};
use crate::{StoreError, Tree};

/// Name of the old engine's folder until the new one is in its place.
const OLD_ENGINE: &str = "compact.old";

/// Result of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CompactReport {
    /// Number of records in the store.
    pub records: u64,
    /// Size on disk before the compaction.
    pub bytes_before: u64,
    /// Size on disk after the compaction.
    pub bytes_after: u64,
}

impl DataFolder {
    /// Copies the store into a new engine beside it, verifies the copy and swaps it in. Needs as much free space as the
    /// records take. A crash leaves either the old store or the new one.
    ///
    /// # Errors
    ///
    /// `Corrupt`: a record is corrupt; the store is left unchanged.
    pub fn compact(&self, progress: Progress<'_>) -> Result<CompactReport, StoreError> {
        let (folder, live) = (&self.options.path, self.live());
        let bytes_before = size(&live)?;
        let (building, ready) = (folder.join(BUILDING), folder.join(READY));
        let records = self.rewrite(&building, progress)?;
        files::rename(&building, &ready)?;
        let before = folder.join(OLD_ENGINE);
        files::remove_dir(&before)?;
        // After a crash between these two renames, the next start finds `restore.ready` without `live`, and finishes.
        files::rename(&live, &before)?;
        files::rename(&ready, &live)?;
        sweep(folder)?;
        Ok(CompactReport { records, bytes_before, bytes_after: size(&live)? })
    }

    fn rewrite(&self, building: &Path, progress: Progress<'_>) -> Result<u64, StoreError> {
        let (old, new) = (self.whole()?, self.fresh(building)?);
        let mut filler = BulkLoader::new(&new);
        old.for_each(|tree: Tree, key, rec| {
            progress(filler.put(tree, key.to_vec(), rec)?);
            Ok(())
        })?;
        let records = filler.finish(old.group()?)?;
        let report = new.verify()?;
        match report.corrupt.first() {
            None if report.records == records => Ok(records),
            None => Err(StoreError::Corrupt(format!("only {} of {records} records were copied", report.records))),
            Some(why) => Err(StoreError::Corrupt(format!("the compacted store is corrupt: {why}"))),
        }
    }
}

/// Removes what a finished compaction left behind.
pub(super) fn sweep(folder: &Path) -> Result<(), StoreError> {
    if folder.join(LIVE).is_dir() { files::remove_dir(&folder.join(OLD_ENGINE)) } else { Ok(()) }
}

/// Returns the total size of all files below a folder, in bytes.
fn size(dir: &Path) -> Result<u64, StoreError> {
    let mut bytes = 0;
    let mut folders: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in files::entries(&folder) {
            let meta = std::fs::symlink_metadata(&path).map_err(|e| io_at(&path, &e))?;
            if meta.is_dir() { folders.push(path) } else { bytes += meta.len() }
        }
    }
    Ok(bytes)
}
