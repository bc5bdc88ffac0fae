//! File operations that are atomic and durable across a power cut. Files and folders are accessible to their owner only.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::StoreError;

/// Creates an I/O error with the path and, where one is known, a remedy.
pub(crate) fn io_at(path: &Path, error: &io::Error) -> StoreError {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => ": give this user write access to it, or set another data folder",
        io::ErrorKind::ReadOnlyFilesystem => ": remount it writable, or set another data folder",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ": free some space there",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => ": a file exists where a folder is needed",
        _ => "",
    };
    StoreError::Io(format!("{}: {error}{remedy}", path.display()))
}

/// Makes the entries of a folder (creations, renames) durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| io_at(dir, &e))
}

/// Creates a folder and makes its own entry durable.
pub(crate) fn create_dir(dir: &Path) -> Result<(), StoreError> {
    if dir.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| io_at(dir, &e))?;
    dir.parent().filter(|parent| parent.is_dir()).map_or(Ok(()), sync_dir)
}

/// Returns options for files that are created for their owner only.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Removes a folder with its content, if it exists.
pub(crate) fn remove_dir(dir: &Path) -> Result<(), StoreError> {
    if !dir.exists() {
        return Ok(());
    }
    fs::remove_dir_all(dir).map_err(|e| io_at(dir, &e))
}

/// Renames a file or folder and makes the entry in the target's folder durable.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(|e| io_at(from, &e))?;
    to.parent().map_or(Ok(()), sync_dir)
}

/// Writes a file atomically: to a temporary name, synced, then renamed. Syncing the folder is left to the caller, so
/// that several files can share one sync.
pub(crate) fn write_atomic<T>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let temporary = temporary_name(path);
    let written = write_synced(&temporary, fill);
    let renamed = written.and_then(|value| {
        fs::rename(&temporary, path).map_err(|e| io_at(path, &e))?;
        Ok(value)
    });
    if renamed.is_err() {
        // The first error is the one returned; a leftover file is removed at the next open.
        let _ = fs::remove_file(&temporary);
    }
    renamed
}

fn write_synced<T>(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let file = private().write(true).create(true).truncate(true).open(path).map_err(|e| io_at(path, &e))?;
    let mut out = BufWriter::with_capacity(64 << 10, file);
    let value = fill(&mut out)?;
    let file = out.into_inner().map_err(|e| io_at(path, e.error()))?;
    file.sync_all().map_err(|e| io_at(path, &e))?;
    Ok(value)
}

const TEMPORARY: &str = "tmp";

fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(TEMPORARY);
    name.into()
}

/// Removes what interrupted calls of `write_atomic` left in a folder.
pub(crate) fn sweep_temporary(dir: &Path) {
    for path in entries(dir) {
        if path.extension().is_some_and(|ext| ext == TEMPORARY)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::warn!(path = %path.display(), %error, "could not remove a leftover file");
        }
    }
}

/// Returns the paths in a folder; empty if it cannot be read.
pub(crate) fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Formats bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Returns the current UTC time for use in file names: it sorts as text and has a resolution of one millisecond.
pub(crate) fn utc_stamp() -> String {
    Timestamp::now().strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}
