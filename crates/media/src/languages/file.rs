//! A table in a file that the caller has opened.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::table::TableBytes;

/// An open file that is read by position, so that a process without access to files can use it and several threads can
/// share it.
#[derive(Debug)]
pub struct TableFile {
    file: File,
    length: u64,
}

impl TableFile {
    /// Wraps an open file.
    ///
    /// # Errors
    /// Its length cannot be read.
    pub fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }
}

impl TableBytes for TableFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Option<()> {
        self.file.read_exact_at(into, offset).ok()
    }
}
