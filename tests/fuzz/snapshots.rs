//! Snapshots, which backups are, and journal files.

use std::path::Path;

use muster_store::{Frames, MemStore, PlainFile, StoreError, inspect_backup, restore_from_file, snapshot_to_file};

use crate::campaign::{fuzz, label};

const MAGIC_AND_GROUP: usize = 16;

/// Inserts the checksums that a snapshot has after its header and after each item, as far as the input can be read. So
/// mutations get past them.
fn sealed(input: &[u8]) -> Vec<u8> {
    let (mut out, mut rest, mut chain) = (Vec::new(), input, 0);
    let mut size = MAGIC_AND_GROUP;
    while rest.len() >= size {
        let (part, after) = rest.split_at(size);
        chain = crc32c::crc32c_append(chain, part);
        out.extend_from_slice(part);
        out.extend_from_slice(&chain.to_le_bytes());
        rest = after;
        size = match rest {
            [1 | 2, a, b, c, d, ..] => 5 + u32::from_le_bytes([*a, *b, *c, *d]) as usize,
            [255, ..] => 9,
            _ => break,
        };
    }
    out.extend_from_slice(rest);
    out
}

/// In memory where there is such a folder: a snapshot is synced to disk, which takes far longer than reading it.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn restored(bytes: &[u8], folder: &Path) -> Result<(MemStore, u64), StoreError> {
    let path = folder.join("a.snap");
    std::fs::write(&path, bytes).unwrap();
    let inspection = inspect_backup(&PlainFile(path.clone()), &[]).expect("a file that exists can be inspected");
    let store = MemStore::default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let read = runtime.block_on(restore_from_file(&store, &path));
    assert!(!matches!(read, Err(StoreError::Io(_))), "{read:?}");
    let count = read?;
    let counted: u64 = inspection.trees.iter().map(|tree| tree.records).sum();
    assert!(counted <= count, "the inspection counts {counted}, the restore {count}");
    Ok((store, count))
}

/// A snapshot is restored or rejected as damaged, and what was restored makes a snapshot with the same records.
#[test]
fn snapshot() {
    let words = ["MUSTSNP1", "\u{1}", "\u{2}", "\u{0}\u{0}\u{0}", "ledger", "meta", "devices", "usage/00000001.log"];
    fuzz("snapshot", &words, |input| {
        let folder = folder();
        let (seal, input) = input.split_first().map_or((true, input), |(first, rest)| (*first != b'r', rest));
        let bytes = if seal { sealed(input) } else { input.to_vec() };
        let (store, count) = match restored(&bytes, folder.path()) {
            Err(error) => return label(error.to_string().rsplit(": ").next().unwrap_or_default()),
            Ok(restored) => restored,
        };
        let path = folder.path().join("b.snap");
        let written = snapshot_to_file(&store, &path).unwrap();
        assert!(written <= count);
        let (again, records) = restored(&std::fs::read(&path).unwrap(), folder.path()).unwrap();
        assert_eq!(records, written);
        let mut texts = [Vec::new(), Vec::new()];
        muster_store::Store::snapshot(&store, &mut texts[0]).unwrap();
        muster_store::Store::snapshot(&again, &mut texts[1]).unwrap();
        // The header holds the number of commits.
        assert_eq!(texts[0].len(), texts[1].len());
        format!("restored {}", count.min(4))
    });
}

/// The frames of a journal file lie within it, in order and without gaps; the torn rest is all that is left.
#[test]
fn journal_frames() {
    fuzz("journal_frames", &["\u{0}\u{0}\u{0}\u{0}", "\u{1}\u{0}\u{0}\u{0}"], |input| {
        let sealed = with_checksums(input);
        for bytes in [input, &sealed] {
            let (mut frames, mut read) = (Frames::new(bytes), 0);
            for (_, payload) in frames.by_ref() {
                assert!(!payload.is_empty() && payload.len() <= muster_store::MAX_FRAME);
                read += 16 + payload.len();
            }
            assert_eq!(frames.left() + read, bytes.len());
            assert_eq!(frames.next(), None);
        }
        format!("{} {}", Frames::new(input).count().min(4), Frames::new(&sealed).count().min(4))
    });
}

/// Replaces the checksum of each frame by the right one.
fn with_checksums(input: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (input.to_vec(), 0);
    while let Some(header) = input.get(at..at + 16) {
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let Some(payload) = input.get(at + 16..at.saturating_add(16).saturating_add(length)) else { break };
        let crc = [&header[0..4], &header[8..16], payload].iter().fold(0, |crc, part| crc32c::crc32c_append(crc, part));
        out[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
        at += 16 + length;
    }
    out
}
