//! The append-only journals beside the engine, which contain acknowledged entries that are not merged into its records
//! yet. A backup of a stopped folder contains their files unchanged, and a restore puts them back; the journal's owner
//! merges them at the next start, as after a crash.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use super::inspect::JournalFile;
use crate::StoreError;
use crate::files::{self, io_at};
use crate::snapshot::SnapshotWriter;

/// Names of the journal folders in a data folder.
pub(super) const JOURNALS: [&str; 1] = ["ledger"];

/// Folder of the feed's journal: a history of minutes that no backup contains. It belongs to one store, and is set
/// aside with it.
pub(super) const FEED: &str = "feed";

const PIECE: usize = 256 << 10;

/// Lists the files of all journals, in order of their names.
pub(super) fn list(folder: &Path) -> Vec<JournalFile> {
    let mut found = Vec::new();
    for journal in JOURNALS {
        let mut paths: Vec<_> =
            files::entries(&folder.join(journal)).into_iter().filter(|path| path.is_file()).collect();
        paths.sort_unstable();
        let named = paths.iter().filter_map(|path| {
            let name = format!("{journal}/{}", path.file_name()?.to_str()?);
            Some(JournalFile { name, bytes: fs::metadata(path).ok()?.len() })
        });
        found.extend(named);
    }
    found
}

/// Writes all journal files into a backup.
pub(super) fn write(folder: &Path, out: &mut SnapshotWriter<'_>) -> Result<(), StoreError> {
    for JournalFile { name, .. } in list(folder) {
        let path = folder.join(&name);
        let mut file = File::open(&path).map_err(|e| io_at(&path, &e))?;
        let mut first = true;
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            Read::take(&mut file, PIECE as u64).read_to_end(&mut piece).map_err(|e| io_at(&path, &e))?;
            if piece.is_empty() && !first {
                break;
            }
            first = false;
            out.piece(&name, &piece)?;
        }
    }
    Ok(())
}

/// Appends a piece to its file below `folder`. Names that would lead outside of it are rejected.
pub(super) fn put(folder: &Path, name: &str, piece: &[u8]) -> Result<(), StoreError> {
    let refused = || {
        StoreError::BadRequest(format!(
            "the backup contains {name:?}, which this version does not know: use the newer version"
        ))
    };
    let (journal, file) = name.split_once('/').ok_or_else(refused)?;
    let plain = !file.is_empty() && !file.starts_with('.') && !file.contains(['/', '\\', '\0']);
    if !JOURNALS.contains(&journal) || !plain {
        return Err(refused());
    }
    let dir = folder.join(journal);
    files::create_dir(&dir)?;
    let path = dir.join(file);
    let open = files::private().append(true).create(true).open(&path);
    let written = open.and_then(|mut to| {
        to.write_all(piece)?;
        to.sync_all()
    });
    written.map_err(|e| io_at(&path, &e))?;
    files::sync_dir(&dir)
}
