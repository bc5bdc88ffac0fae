//! Fifty flipped bits in every kind of file: never a wrong value, and no panic leaves the crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use muster_store::{Batch, Options, Rec, SledStore, Store, StoreError, Tree};

use crate::support::{Random, rec};

/// Segment size of the engine's log, in bytes.
const SEGMENT: usize = 8 << 20;

/// The current value of each key, and every value it ever had.
#[derive(Default)]
struct Expected {
    now: BTreeMap<Vec<u8>, Rec>,
    ever: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

async fn put(store: &SledStore, expected: &mut Expected, key: usize, value: Vec<u8>) {
    let key = (key as u32).to_be_bytes().to_vec();
    expected.ever.insert((key.clone(), value.clone()));
    expected.now.insert(key.clone(), rec(value.clone()));
    store.commit(Batch::put(Tree::Keys, key, rec(value))).await.unwrap();
}

/// Creates a store with a history: overwrites, large values, two restarts, a snapshot in the middle.
async fn store_with_history(path: &Path) -> Expected {
    let mut expected = Expected::default();
    let mut random = Random::new(1);
    for start in 0..3 {
        let store = SledStore::open(Options::new(path)).unwrap().store;
        for n in 0..120 {
            let len = if n % 40 == 39 { 17_000 + n } else { 20 + random.below(200) };
            let value = format!("{start}/{n}/").bytes().cycle().take(len).collect();
            let key = random.below(80);
            put(&store, &mut expected, key, value).await;
        }
        if start == 1 {
            store.save_snapshot(3).unwrap();
        }
    }
    expected
}

fn files_of_every_kind(path: &Path) -> Vec<Vec<PathBuf>> {
    let in_dir = |dir: &str| -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(path.join(dir)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.is_file());
        files.sort();
        files
    };
    let live = |name: &str| -> Vec<PathBuf> {
        in_dir("live")
            .into_iter()
            .filter(|file| file.file_name().unwrap().to_string_lossy().starts_with(name))
            .collect()
    };
    // The engine's log is the most exposed file: it gets every second flip.
    let db = || live("db");
    vec![
        db(),
        live("conf"),
        db(),
        in_dir("snapshots"),
        db(),
        in_dir("live/blobs.d"),
        db(),
        live("witness"),
        db(),
        live("snap."),
    ]
}

/// Flips one bit of the written bytes; most of the engine's file is padding.
fn flip(file: &Path, random: &mut Random) {
    let mut bytes = fs::read(file).unwrap();
    let written: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let at = written[random.below(written.len())];
    bytes[at] ^= 1 << random.below(8);
    fs::write(file, bytes).unwrap();
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[derive(Debug, Default)]
struct InspectionBuilder {
    whole: usize,
    corrupt: usize,
    quarantined: usize,
}

fn evaluate(copy: &Path, expected: &Expected, what: &str, tally: &mut InspectionBuilder) {
    let opened = SledStore::open(Options::new(copy)).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut refused = 0;
    for (key, now) in &expected.now {
        match (opened.store.get(Tree::Keys, key), &opened.quarantined) {
            (Ok(Some(found)), None) => assert_eq!(found, *now, "{what}: a wrong value"),
            (Ok(None), None) => panic!("{what}: a value is missing without a report"),
            (Ok(Some(found)), Some(_)) => {
                assert!(expected.ever.contains(&(key.clone(), found.bytes)), "{what}: a value that was never written");
            }
            (Ok(None), Some(_)) => {}
            (Err(StoreError::Corrupt(_)), _) => refused += 1,
            (Err(other), _) => panic!("{what}: {other}"),
        }
    }
    let report = opened.store.verify().unwrap();
    assert_eq!(report.corrupt.is_empty(), refused == 0, "{what}: verify and get disagree: {report:?}");
    match (&opened.quarantined, refused) {
        (Some(_), _) => tally.quarantined += 1,
        (None, 0) => tally.whole += 1,
        (None, _) => tally.corrupt += 1,
    }
}

#[tokio::test]
async fn fifty_flipped_bits() {
    let home = tempfile::tempdir().unwrap();
    let original = home.path().join("original");
    let expected = store_with_history(&original).await;
    let kinds = files_of_every_kind(&original);
    assert!(kinds.iter().all(|kind| !kind.is_empty()), "{kinds:?}");
    let (mut tally, mut quiet_db) = (InspectionBuilder::default(), 0);
    for round in 0..50_usize {
        let mut random = Random::new(round as u64 + 100);
        let kind = &kinds[round % kinds.len()];
        let file = &kind[random.below(kind.len())];
        let copy = home.path().join("copy");
        copy_dir(&original, &copy);
        flip(&copy.join(file.strip_prefix(&original).unwrap()), &mut random);
        let whole = tally.whole;
        evaluate(&copy, &expected, &format!("round {round}, {}", file.display()), &mut tally);
        quiet_db += usize::from(file.ends_with("db") && tally.whole > whole);
        fs::remove_dir_all(&copy).unwrap();
    }
    println!("{tally:?}, of the 25 in the engine's log {quiet_db} had no effect");
    // The test must be able to detect damage at all.
    assert!(tally.corrupt >= 3 && tally.quarantined >= 3 && tally.whole >= 3, "{tally:?}");
}

/// Once a start has read the whole log, the next one does not read it again: the damage is detected when the page is
/// read, or never.
#[tokio::test]
async fn flipped_bits_in_old_segments_are_detected_when_read() {
    let home = tempfile::tempdir().unwrap();
    let original = home.path().join("original");
    let mut expected = Expected::default();
    for start in 0..3 {
        let store = SledStore::open(Options::new(&original)).unwrap().store;
        for key in start * 400..(start + 1) * 400 {
            put(&store, &mut expected, key, vec![key as u8; 10_000 + key]).await;
        }
    }
    drop(SledStore::open(Options::new(&original)).unwrap());
    let log = original.join("live/db");
    assert!(fs::metadata(&log).unwrap().len() > 2 * SEGMENT as u64);
    let mut tally = InspectionBuilder::default();
    for round in 0..12 {
        let mut random = Random::new(round + 500);
        let copy = home.path().join("copy");
        copy_dir(&original, &copy);
        let mut bytes = fs::read(copy.join("live/db")).unwrap();
        let written = std::iter::repeat_with(|| random.below(bytes.len())).find(|at| bytes[*at] != 0);
        bytes[written.unwrap()] ^= 1 << random.below(8);
        fs::write(copy.join("live/db"), bytes).unwrap();
        evaluate(&copy, &expected, &format!("old segment, round {round}"), &mut tally);
        fs::remove_dir_all(&copy).unwrap();
    }
    println!("{tally:?}");
    assert!(tally.corrupt > 0, "{tally:?}");
}
