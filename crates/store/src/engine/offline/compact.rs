//! Writing a store anew: sled never gives space back, and a fresh engine holds the same records in less.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Folder, Progress};
use crate::engine::fill::Filler;
use crate::engine::open::LIVE;
use crate::engine::recover::{BUILDING, READY};
use crate::files::{self, io_at};
use crate::{StoreError, Tree};

/// The engine before, until the one after has its place.
const BEFORE: &str = "compact.old";

/// What it brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Compacted {
    pub records: u64,
    /// On the disk, before and after.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl Folder {
    /// Rewrites the store into a fresh one beside it, reads that whole, and puts it in its place. Needs as much free
    /// space as the records take. A crash leaves the old one or the new.
    ///
    /// # Errors
    /// `Corrupt`: a record; the store stays as it was.
    pub fn compact(&self, progress: Progress<'_>) -> Result<Compacted, StoreError> {
        let (folder, live) = (&self.options.path, self.live());
        let bytes_before = size(&live)?;
        let (building, ready) = (folder.join(BUILDING), folder.join(READY));
        let records = self.rewrite(&building, progress)?;
        files::rename(&building, &ready)?;
        let before = folder.join(BEFORE);
        files::remove_dir(&before)?;
        // Between these two the next start finds `restore.ready` without `live`, and finishes.
        files::rename(&live, &before)?;
        files::rename(&ready, &live)?;
        sweep(folder)?;
        Ok(Compacted { records, bytes_before, bytes_after: size(&live)? })
    }

    fn rewrite(&self, building: &Path, progress: Progress<'_>) -> Result<u64, StoreError> {
        let (old, new) = (self.whole()?, self.fresh(building)?);
        let mut filler = Filler::new(&new);
        old.for_each(|tree: Tree, key, rec| {
            progress(filler.put(tree, key.to_vec(), rec)?);
            Ok(())
        })?;
        let records = filler.finish(old.group()?)?;
        let report = new.verify()?;
        match report.corrupt.first() {
            None if report.records == records => Ok(records),
            None => Err(StoreError::Corrupt(format!("{} of {records} records were written anew", report.records))),
            Some(why) => Err(StoreError::Corrupt(format!("the store written anew: {why}"))),
        }
    }
}

/// Removes what a finished compaction left behind.
pub(super) fn sweep(folder: &Path) -> Result<(), StoreError> {
    if folder.join(LIVE).is_dir() { files::remove_dir(&folder.join(BEFORE)) } else { Ok(()) }
}

/// Bytes of all files in a folder and below.
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
