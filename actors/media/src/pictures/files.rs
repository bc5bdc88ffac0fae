//! The files of pictures. Every function blocks its thread.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const EXTENSION: &str = ".png";
const PART: &str = ".part";
/// Share of the disk that stays free: one part in this many.
const FREE_SHARE: u64 = 20;
/// Bytes that stay free at most: a share alone would keep 200 GB of a disk of 4 TB.
const FREE_LIMIT: u64 = 1 << 30;

/// Returns the bytes that pictures may take of a disk with `free` of `all` bytes: 5 % of it, at most 1 GiB, stay free.
fn room(free: u64, all: u64) -> u64 {
    free.saturating_sub((all / FREE_SHARE).min(FREE_LIMIT))
}

fn write_part(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The folder of pictures.
#[derive(Debug, Clone)]
pub(super) struct PictureFiles {
    folder: PathBuf,
}

impl PictureFiles {
    /// Opens or creates the folder.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Identifiers are made of letters, digits and `_` here, so that none leads out of the folder.
    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}{EXTENSION}"))
    }

    /// Writes a file, so that it survives a power cut once [`PictureFiles::sync`] returned.
    pub(super) fn write(&self, id: &str, bytes: &[u8]) -> io::Result<()> {
        let part = self.folder.join(format!("{id}{PART}"));
        let written = write_part(&part, bytes).and_then(|()| fs::rename(&part, self.path(id)));
        if written.is_err() {
            // A part that stays is removed at the next start.
            let _ = fs::remove_file(&part);
        }
        written
    }

    /// Syncs the names of files.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    pub(super) fn read(&self, id: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path(id))
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.path(id).is_file()
    }

    /// Removes files; one that is not there is no error.
    pub(super) fn remove<'a>(&self, ids: impl IntoIterator<Item = &'a String>) {
        for id in ids {
            match fs::remove_file(self.path(id)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, picture = id, "the file of a picture that is gone could not be removed");
                }
                _ => {}
            }
        }
    }

    /// Removes the files that belong to no picture and returns their number.
    pub(super) fn remove_orphans(&self, known: &HashSet<String>) -> io::Result<usize> {
        let mut removed = 0;
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            let orphan = match (name.strip_suffix(EXTENSION), name.strip_suffix(PART)) {
                (Some(id), _) => !known.contains(id),
                (None, part) => part.is_some(),
            };
            if orphan {
                fs::remove_file(self.folder.join(name))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Returns the bytes that pictures may still take of the disk.
    pub(super) fn free_bytes(&self) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(&self.folder)?;
        let (free, all) = (disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize));
        Ok(room(free, all))
    }
}

#[cfg(test)]
mod tests {
    use super::room;

    #[test]
    fn five_percent_of_a_disk_stay_free_and_one_gib_of_a_large_one() {
        const GIB: u64 = 1 << 30;
        assert_eq!(room(10 * GIB, 10 * GIB), 10 * GIB - 10 * GIB / 20);
        assert_eq!(room(GIB / 4, 10 * GIB), 0);
        assert_eq!(room(12 * GIB, 252 * GIB), 11 * GIB);
        assert_eq!(room(GIB - 1, 4096 * GIB), 0);
    }
}
