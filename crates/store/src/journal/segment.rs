//! The files of a journal: `<number of the first frame, 16 hex digits>.log`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::StoreError;
use crate::files::{entries, io_at, private};

/// The file that is being written.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) first: u64,
    pub(super) path: PathBuf,
    pub(super) file: Arc<File>,
    /// Size of the complete frames.
    pub(super) bytes: u64,
    /// Whether an incomplete frame may follow them.
    torn: bool,
}

/// A file that is no longer written.
#[derive(Debug, Clone)]
pub(super) struct Closed {
    pub(super) first: u64,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

impl Active {
    pub(super) fn create(folder: &Path, first: u64) -> Result<Self, StoreError> {
        let path = folder.join(format!("{first:016x}.log"));
        let file = private().append(true).create_new(true).open(&path).map_err(|e| io_at(&path, &e))?;
        Ok(Self { first, path, file: Arc::new(file), bytes: 0, torn: false })
    }

    /// Writes whole frames, or nothing: what a failed write left behind is truncated, at the latest before the next
    /// write.
    pub(super) fn write(&mut self, frames: &[u8]) -> Result<(), StoreError> {
        if self.torn {
            self.cut()?;
        }
        if let Err(error) = (&*self.file).write_all(frames) {
            self.torn = true;
            // Tried again before the next write.
            let _ = self.cut();
            return Err(io_at(&self.path, &error));
        }
        self.bytes += frames.len() as u64;
        Ok(())
    }

    fn cut(&mut self) -> Result<(), StoreError> {
        self.file.set_len(self.bytes).map_err(|e| io_at(&self.path, &e))?;
        self.torn = false;
        Ok(())
    }

    pub(super) fn closed(&self) -> Closed {
        Closed { first: self.first, path: self.path.clone(), bytes: self.bytes }
    }
}

/// Returns the journal files of a folder in the order of their frames; other files are ignored.
pub(super) fn found(folder: &Path) -> Result<Vec<Closed>, StoreError> {
    let mut found = Vec::new();
    for path in entries(folder) {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".log"));
        let Some(first) = name.filter(|name| name.len() == 16).and_then(|name| u64::from_str_radix(name, 16).ok())
        else {
            continue;
        };
        let bytes = std::fs::metadata(&path).map_err(|e| io_at(&path, &e))?.len();
        found.push(Closed { first, path, bytes });
    }
    found.sort_by_key(|segment| segment.first);
    Ok(found)
}
