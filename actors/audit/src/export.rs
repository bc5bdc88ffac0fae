//! Exports: an entry a line, and at the end the signed checkpoint, with the hashes beside a part of the log.

use muster_core::Error;
use muster_core::audit::AuditRecord;
use muster_store::StoreError;
use muster_tlog::{Hash, ProveError, TileTree};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::tiles::LogReader;
use crate::view::LogView;
use crate::wire::ShownEntry;

/// Entries in one piece of an export.
const PIECE: usize = 512;

/// An export that is being read.
#[derive(Debug)]
pub struct Export {
    log: LogReader,
    next: u64,
    end: u64,
    /// The last line; `None` once it was returned.
    last: Option<String>,
}

/// The last line of an export.
#[derive(Serialize)]
struct LastLine<'a> {
    checkpoint: &'a str,
    /// Hashes of the complete subtrees over the entries before the exported ones, from left to right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    /// The same of the entries behind them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

impl Export {
    pub(crate) fn new(log: LogReader, view: &LogView, from: u64, to: u64) -> Result<Self, Error> {
        let Some(signed) = &view.signed else {
            return Err(Error::new(muster_core::Kind::Unavailable, "the log is not signed yet"));
        };
        let tree = TileTree::new(&view.edge, &log);
        let hashes = |start: u64, end: u64| {
            tree.cover(start, end).map(|hashes| hashes.iter().map(Hash::to_string).collect()).map_err(|error| {
                match error {
                    ProveError::Read(error) => Error::from(error),
                    error => Error::new(muster_core::Kind::Internal, error.to_string()),
                }
            })
        };
        let note = signed.cosigned();
        let last = LastLine { checkpoint: &note, before: hashes(0, from)?, after: hashes(to, signed.size)? };
        let last =
            serde_json::to_string(&last).map_err(|error| Error::new(muster_core::Kind::Internal, error.to_string()))?;
        Ok(Self { log, next: from, end: to, last: Some(last) })
    }

    /// Returns the number behind the last entry.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Returns the next lines, each with its newline; `None` at the end. Blocking.
    ///
    /// # Errors
    /// The store cannot be read, or an entry is missing.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let mut piece = Vec::new();
        if self.next < self.end {
            let count = usize::try_from(self.end - self.next).unwrap_or(PIECE).min(PIECE);
            for (seq, record) in (self.next..).zip(self.log.exactly(self.next, count)?) {
                write_line(&mut piece, seq, &record)?;
            }
            self.next += count as u64;
            return Ok(Some(piece));
        }
        Ok(self.last.take().map(|last| (last + "\n").into_bytes()))
    }
}

fn write_line(to: &mut Vec<u8>, seq: u64, record: &AuditRecord) -> Result<(), StoreError> {
    let line = ShownEntry::of(seq, record).and_then(|shown| serde_json::to_writer(&mut *to, &shown));
    line.map_err(|error| StoreError::Corrupt(format!("entry {seq} of the audit log: {error}")))?;
    to.push(b'\n');
    Ok(())
}

/// Parses stored JSON without taking it apart.
pub(crate) fn raw(text: &str) -> Result<&RawValue, serde_json::Error> {
    serde_json::from_str(text)
}
