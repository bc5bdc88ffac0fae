//! A small file beside the engine with the number of the last durable group (a high-water mark).
//!
//! sled treats a record near the end of its log that fails its checksum as a torn write, and silently drops it with
//! everything after it: a flipped bit there would bring back old values. Every group of commits writes its number into
//! the engine and, once synced, into this file. An engine that opens with a lower number has lost acknowledged writes.
//! The file itself is never synced: it survives `kill -9`, and after a power cut it can only be behind, which causes no
//! false alarm.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::files::{io_at, private};

const MAGIC: [u8; 4] = *b"MWT1";

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct HighWaterMark {
    file: File,
    path: PathBuf,
}

impl HighWaterMark {
    pub(crate) fn open(path: PathBuf) -> Result<Self, StoreError> {
        let file = private().write(true).create(true).truncate(false).open(&path).map_err(|e| io_at(&path, &e))?;
        Ok(Self { file, path })
    }

    /// Records that every group up to this one is durable.
    pub(crate) fn note(&mut self, group: u64) -> Result<(), StoreError> {
        let mut line = [0; 16];
        let parts = MAGIC.into_iter().chain(group.to_le_bytes()).chain(checksum(group).to_le_bytes());
        line.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        let written = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(&line));
        written.map_err(|e| io_at(&self.path, &e))
    }
}

/// Reads the file; `None` if it is missing or damaged.
pub(crate) fn read(path: &Path) -> Option<u64> {
    let bytes = std::fs::read(path).ok()?;
    let found = parse(&bytes);
    if found.is_none() && !bytes.is_empty() {
        tracing::warn!(path = %path.display(), "the high-water mark is damaged: lost writes cannot be detected at this start");
    }
    found
}

fn parse(bytes: &[u8]) -> Option<u64> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let (group, crc) = rest.split_first_chunk::<8>()?;
    let group = u64::from_le_bytes(*group);
    (*magic == MAGIC && crc == checksum(group).to_le_bytes()).then_some(group)
}

fn checksum(group: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&MAGIC), &group.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mark_is_read_and_a_damaged_one_is_ignored() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("witness");
        assert_eq!(read(&path), None);
        let mut high_water = HighWaterMark::open(path.clone()).unwrap();
        assert_eq!(read(&path), None);
        for group in [1, 2, 1 << 40] {
            high_water.note(group).unwrap();
            assert_eq!(read(&path), Some(group));
        }
        let good = std::fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&bad), None, "bit {bit}");
        }
    }
}
