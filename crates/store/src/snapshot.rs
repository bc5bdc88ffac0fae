//! All records as one stream with checksums, for backups and for recovery from a corrupt engine.
//!
//! Header `"MUSTSNP1" group(u64) crc(u32)`; a record is `1 len(u32) body crc(u32)`, a piece of a journal file `2
//! len(u32) body crc(u32)`; the trailer is `255 count(u64) crc(u32)` and nothing may follow it. Integers are
//! little-endian. Each checksum continues the one before, so that missing, duplicated and reordered records are
//! detected as well as flipped bits.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crate::files::{self, io_at};
use crate::{Batch, MAX_KEY, MAX_VALUE, Rec, Scan, Store, StoreError, Tree};

const RECORD: u8 = 1;
const PIECE: u8 = 2;
const TRAILER: u8 = 255;
/// Maximum size of a body: tree name, key, value and their lengths.
const MAX_BODY: usize = 512 + MAX_KEY + MAX_VALUE;
/// A restore commits once it holds this many records or bytes.
const STEP_RECORDS: usize = 256;
const STEP_BYTES: usize = 2 << 20;

pub(crate) const EXTENSION: &str = "snap";

/// Returns a name for a new snapshot, which sorts after earlier ones.
pub(crate) fn file_name() -> String {
    format!("{}.{EXTENSION}", files::utc_stamp())
}

/// Writes a snapshot to a file, atomically and durably; returns the number of records. Blocks, and commits to the store
/// wait meanwhile.
pub fn snapshot_to_file(store: &dyn Store, path: &Path) -> Result<u64, StoreError> {
    let records = files::write_atomic(path, |to| store.snapshot(to))?;
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).map_or(Ok(()), files::sync_dir)?;
    Ok(records)
}

/// Loads the records of a snapshot into an empty store; returns their number. The whole file is verified first. Reopen
/// the store afterwards, so that migrations run on the restored records.
///
/// # Errors
///
/// - `BadRequest` if the store contains records.
/// - `Corrupt` if the file is damaged.
pub async fn restore_from_file(store: &dyn Store, path: &Path) -> Result<u64, StoreError> {
    for tree in Tree::ALL.into_iter().filter(|tree| *tree != Tree::Meta) {
        let page = store.scan(tree, &Scan { limit: 1, ..Scan::default() })?;
        if !page.items.is_empty() {
            return Err(StoreError::BadRequest("a snapshot can only be restored into an empty store".into()));
        }
    }
    verify_file(path)?;
    let mut records = SnapshotReader::open(path)?;
    let (mut batch, mut bytes, mut count) = (Batch::default(), 0, 0);
    while let Some((tree, key, rec)) = records.next_record()? {
        count += 1;
        bytes += key.len() + rec.bytes.len();
        batch = batch.and_put(tree, key, rec);
        if batch.ops.len() >= STEP_RECORDS || bytes >= STEP_BYTES {
            bytes = 0;
            store.commit(std::mem::take(&mut batch)).await?;
        }
    }
    if !batch.ops.is_empty() {
        store.commit(batch).await?;
    }
    Ok(count)
}

/// A backup, which is read more than once: to verify it, and to restore it.
pub trait BackupSource {
    /// Returns the name of the backup, for messages.
    fn name(&self) -> String;

    /// Opens the backup at its beginning. A reader that finds the bytes changed fails with the kind `InvalidData`.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self) -> Result<Box<dyn Read>, StoreError>;
}

/// A backup in a file, as it was written by [`snapshot_to_file`] or [`crate::DataFolder::backup`].
#[derive(Debug, Clone)]
pub struct PlainFile(pub PathBuf);

impl BackupSource for PlainFile {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn open(&self) -> Result<Box<dyn Read>, StoreError> {
        Ok(Box::new(File::open(&self.0).map_err(|e| io_at(&self.0, &e))?))
    }
}

/// First bytes of a file that contains all records without encryption.
pub const SNAPSHOT_MAGIC: [u8; 8] = *b"MUSTSNP1";

/// Reads and verifies a whole snapshot; returns the number of its items.
pub(crate) fn verify_file(path: &Path) -> Result<u64, StoreError> {
    let mut records = SnapshotReader::open(path)?;
    while records.next_item()?.is_some() {}
    Ok(records.count)
}

/// An item of the stream.
pub(crate) enum Item {
    Record(Tree, Vec<u8>, Rec),
    /// A part of a journal file; the pieces of one file are consecutive.
    Piece {
        /// Name in the form `journal/file`.
        name: String,
        bytes: Vec<u8>,
    },
}

/// Writes the stream.
pub(crate) struct SnapshotWriter<'a> {
    to: &'a mut dyn Write,
    chain: u32,
    records: u64,
    pieces: u64,
}

impl<'a> SnapshotWriter<'a> {
    /// Begins a stream. `group` orders the snapshots of one store: it is the number of its last group of commits.
    pub(crate) fn start(to: &'a mut dyn Write, group: u64) -> Result<Self, StoreError> {
        let mut out = Self { to, chain: 0, records: 0, pieces: 0 };
        out.checked(&[&SNAPSHOT_MAGIC, &group.to_le_bytes()])?;
        Ok(out)
    }

    pub(crate) fn record(&mut self, tree: Tree, key: &[u8], rec: &Rec) -> Result<(), StoreError> {
        let name = tree.name().as_bytes();
        let body = 1 + name.len() + 2 + key.len() + 2 + rec.bytes.len();
        self.records += 1;
        self.checked(&[
            &[RECORD],
            &(body as u32).to_le_bytes(),
            &[name.len() as u8],
            name,
            &(key.len() as u16).to_le_bytes(),
            key,
            &rec.schema.to_le_bytes(),
            &rec.bytes,
        ])
    }

    /// Adds a piece of a journal file, of at most 1 MiB.
    pub(crate) fn piece(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let length = u8::try_from(name.len())
            .map_err(|_| StoreError::BadRequest(format!("{name}: the name of a journal file is too long")))?;
        let body = 1 + name.len() + bytes.len();
        self.pieces += 1;
        self.checked(&[&[PIECE], &(body as u32).to_le_bytes(), &[length], name.as_bytes(), bytes])
    }

    /// Returns the number of records so far.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Ends the stream; returns the number of records.
    pub(crate) fn finish(mut self) -> Result<u64, StoreError> {
        let count = self.records + self.pieces;
        self.checked(&[&[TRAILER], &count.to_le_bytes()])?;
        self.to.flush().map_err(|e| StoreError::Io(format!("snapshot: {e}")))?;
        Ok(self.records)
    }

    fn checked(&mut self, parts: &[&[u8]]) -> Result<(), StoreError> {
        self.chain = parts.iter().fold(self.chain, |crc, part| crc32c::crc32c_append(crc, part));
        let crc = self.chain.to_le_bytes();
        let mut parts = parts.iter().copied().chain([crc.as_slice()]);
        parts.try_for_each(|part| self.to.write_all(part)).map_err(|e| StoreError::Io(format!("snapshot: {e}")))
    }
}

/// Reads the stream; every item is verified before it is returned.
pub(crate) struct SnapshotReader {
    from: BufReader<Box<dyn Read>>,
    path: String,
    chain: u32,
    group: u64,
    count: u64,
    ended: bool,
}

impl SnapshotReader {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        Self::of(&PlainFile(path.to_owned()))
    }

    pub(crate) fn of(source: &dyn BackupSource) -> Result<Self, StoreError> {
        let from = BufReader::with_capacity(64 << 10, source.open()?);
        let mut reader = Self { from, path: source.name(), chain: 0, group: 0, count: 0, ended: false };
        if reader.take::<8>()? != SNAPSHOT_MAGIC {
            return Err(reader.corrupt("not a snapshot"));
        }
        reader.group = u64::from_le_bytes(reader.take()?);
        reader.check()?;
        Ok(reader)
    }

    /// Returns the last group of commits that the snapshot contains.
    pub(crate) fn group(&self) -> u64 {
        self.group
    }

    /// Returns the next item; `None` after the trailer.
    pub(crate) fn next_item(&mut self) -> Result<Option<Item>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        match self.take()? {
            [RECORD] => self.record().map(|(tree, key, rec)| Some(Item::Record(tree, key, rec))),
            [PIECE] => self.piece().map(Some),
            [TRAILER] => self.trailer().map(|()| None),
            _ => Err(self.corrupt("unknown type of item")),
        }
    }

    /// Returns the next record of a stream without journal pieces, as the server's own snapshots are.
    pub(crate) fn next_record(&mut self) -> Result<Option<(Tree, Vec<u8>, Rec)>, StoreError> {
        match self.next_item()? {
            Some(Item::Record(tree, key, rec)) => Ok(Some((tree, key, rec))),
            None => Ok(None),
            Some(Item::Piece { .. }) => Err(StoreError::BadRequest(format!(
                "{}: it also contains journals: restore it with `muster restore`",
                self.path
            ))),
        }
    }

    fn body(&mut self) -> Result<Vec<u8>, StoreError> {
        let len = u32::from_le_bytes(self.take()?) as usize;
        if len > MAX_BODY {
            return Err(self.corrupt("a record exceeds the maximum size"));
        }
        let mut body = vec![0; len];
        self.fill(&mut body)?;
        self.check()?;
        self.count += 1;
        Ok(body)
    }

    fn piece(&mut self) -> Result<Item, StoreError> {
        let body = self.body()?;
        let parts = body.split_first_chunk::<1>().and_then(|(&[len], rest)| rest.split_at_checked(len.into()));
        let (name, bytes) = parts.ok_or_else(|| self.corrupt("an incomplete journal piece"))?;
        let name = std::str::from_utf8(name).map_err(|_| self.corrupt("a file name is not UTF-8"))?;
        Ok(Item::Piece { name: name.to_owned(), bytes: bytes.to_vec() })
    }

    fn record(&mut self) -> Result<(Tree, Vec<u8>, Rec), StoreError> {
        let body = self.body()?;
        let (name, key, schema, bytes) = split(&body).ok_or_else(|| self.corrupt("an incomplete record"))?;
        let tree = std::str::from_utf8(name).ok().and_then(Tree::from_name);
        let tree = tree.ok_or_else(|| {
            StoreError::BadRequest(format!(
                "{}: it contains a tree that this version does not know: use the newer version",
                self.path
            ))
        })?;
        Ok((tree, key.to_vec(), Rec { schema, bytes: bytes.to_vec() }))
    }

    fn trailer(&mut self) -> Result<(), StoreError> {
        let count = u64::from_le_bytes(self.take()?);
        self.check()?;
        let mut rest = [0; 1];
        let more = self.from.read(&mut rest).map_err(|e| self.unreadable(&e))?;
        match (count == self.count, more) {
            (true, 0) => {
                self.ended = true;
                Ok(())
            }
            (true, _) => Err(self.corrupt("data follows the trailer")),
            (false, _) => Err(self.corrupt("records are missing")),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.from.read_exact(bytes).map_err(|e| self.unreadable(&e))?;
        self.chain = crc32c::crc32c_append(self.chain, bytes);
        Ok(())
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let mut crc = [0; 4];
        self.from.read_exact(&mut crc).map_err(|e| self.unreadable(&e))?;
        if u32::from_le_bytes(crc) == self.chain { Ok(()) } else { Err(self.corrupt("checksum mismatch")) }
    }

    fn unreadable(&self, error: &std::io::Error) -> StoreError {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.corrupt("the file is truncated"),
            std::io::ErrorKind::InvalidData => self.corrupt(&error.to_string()),
            _ => StoreError::Io(format!("{}: {error}", self.path)),
        }
    }

    fn corrupt(&self, why: &str) -> StoreError {
        StoreError::Corrupt(format!("{}: {why}", self.path))
    }
}

/// Tree, key, schema and value of a record.
type RecordParts<'a> = (&'a [u8], &'a [u8], u16, &'a [u8]);

/// Splits a record's body; `None` if it is too short.
fn split(body: &[u8]) -> Option<RecordParts<'_>> {
    let (&[len], rest) = body.split_first_chunk::<1>()?;
    let (name, rest) = rest.split_at_checked(len.into())?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    let (key, rest) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
    let (schema, bytes) = rest.split_first_chunk::<2>()?;
    Some((name, key, u16::from_le_bytes(*schema), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemStore;

    async fn filled() -> MemStore {
        let store = MemStore::default();
        for n in 0..3_u8 {
            let rec = Rec { schema: n.into(), bytes: vec![n; usize::from(n) * 10] };
            store.commit(Batch::put(Tree::Ledger, [b'k', n], rec)).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn a_restore_copies_all_records_and_requires_an_empty_store() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.snap");
        let store = filled().await;
        assert_eq!(snapshot_to_file(&store, &path), Ok(3));
        assert_eq!(files::entries(home.path()), std::slice::from_ref(&path));
        let copy = MemStore::default();
        assert_eq!(restore_from_file(&copy, &path).await, Ok(3));
        let all = Scan { limit: 10, ..Scan::default() };
        assert_eq!(copy.scan(Tree::Ledger, &all), store.scan(Tree::Ledger, &all));
        assert!(matches!(restore_from_file(&copy, &path).await, Err(StoreError::BadRequest(_))));
    }

    #[tokio::test]
    async fn every_flipped_bit_and_every_truncation_is_detected() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.snap");
        snapshot_to_file(&filled().await, &path).unwrap();
        let good = std::fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).unwrap();
            assert!(matches!(verify_file(&path), Err(StoreError::Corrupt(_))), "bit {bit}");
        }
        for len in 0..good.len() {
            std::fs::write(&path, &good[..len]).unwrap();
            assert!(verify_file(&path).is_err(), "cut at {len}");
        }
        std::fs::write(&path, [good.as_slice(), b"x"].concat()).unwrap();
        assert!(verify_file(&path).is_err(), "something appended");
    }
}
