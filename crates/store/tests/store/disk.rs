//! The data folder: locking, layout, closing and recovery.

use std::fs;

use futures::future::join_all;
use muster_store::{Batch, Expect, Options, SledStore, Store, StoreError, Tree, restore_from_file, snapshot_to_file};

use crate::support::{all, rec};

#[tokio::test]
async fn waiting_commits_share_one_sync() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    let before = store.stats();
    let commits = (0..500_u32).map(|n| store.commit(Batch::put(Tree::Keys, n.to_be_bytes(), rec("v"))));
    assert!(join_all(commits).await.into_iter().all(|done| done == Ok(())));
    let stats = store.stats();
    assert_eq!(stats.commits - before.commits, 500);
    // While the first group is synced, the others queue up. One sync each would be 500.
    assert!(stats.groups - before.groups < 250, "{stats:?}");
    assert!(stats.last_sync_us > 0 && stats.bytes_on_disk > 0 && stats.queue_depth == 0, "{stats:?}");
    assert_eq!(stats.poisoned, None);
}

#[tokio::test]
async fn an_empty_batch_is_acknowledged_after_all_that_were_handed_over_before_it() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    store.commit(Batch::default()).await.unwrap();
    for n in 0..20_u32 {
        drop(store.commit(Batch::put(Tree::Keys, n.to_be_bytes(), rec("v"))));
        store.commit(Batch::default()).await.unwrap();
        assert_eq!(store.get(Tree::Keys, &n.to_be_bytes()), Ok(Some(rec("v"))));
    }
}

#[tokio::test]
async fn of_many_concurrent_swaps_of_one_record_one_succeeds() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    let claims = (0..50_u8)
        .map(|n| store.commit(Batch::put(Tree::Keys, "claim", rec([n])).when(Tree::Keys, "claim", Expect::Absent)));
    let outcomes = join_all(claims).await;
    assert_eq!(outcomes.iter().filter(|done| done.is_ok()).count(), 1);
    assert_eq!(outcomes.iter().filter(|done| **done == Err(StoreError::Conflict)).count(), 49);
    assert_eq!(store.get(Tree::Keys, b"claim"), Ok(Some(rec([0]))));
}

#[tokio::test]
async fn a_full_queue_rejects_and_closing_writes_what_was_accepted() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    // With 3 MiB each, the bound on queued bytes (64 MiB) is reached before the writer can have synced 22 files.
    let commits: Vec<_> =
        (0..200_u8).map(|n| store.commit(Batch::put(Tree::Keys, [n], rec(vec![n; 3 << 20])))).collect();
    store.close();
    let outcomes = join_all(commits).await;
    let accepted = outcomes.iter().filter(|done| done.is_ok()).count();
    assert!(outcomes.iter().all(|done| *done == Ok(()) || *done == Err(StoreError::Busy)), "{outcomes:?}");
    assert!((21..200).contains(&accepted), "{accepted}");
    assert!(matches!(store.commit(Batch::delete(Tree::Keys, "k")).await, Err(StoreError::Io(_))));
    drop(store);
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    assert_eq!(all(&*store, Tree::Keys).len(), accepted);
}

#[tokio::test]
async fn large_values_are_files_that_are_removed_when_unreferenced() {
    let home = tempfile::tempdir().unwrap();
    let files = || fs::read_dir(home.path().join("live/blobs.d")).unwrap().count();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    let large = rec(vec![1; 20_000]);
    for key in ["a", "b"] {
        store.commit(Batch::put(Tree::Keys, key, large.clone())).await.unwrap();
    }
    store.commit(Batch::put(Tree::Keys, "c", rec(vec![2; 20_000]))).await.unwrap();
    store.commit(Batch::put(Tree::Keys, "d", rec(vec![3; 16_384]))).await.unwrap();
    assert_eq!(files(), 2, "equal values share a file; 16 KiB are stored inline");
    store.commit(Batch::delete(Tree::Keys, "a").and_put(Tree::Keys, "c", rec("small"))).await.unwrap();
    drop(store);
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    assert_eq!(files(), 1);
    assert_eq!(store.get(Tree::Keys, b"b"), Ok(Some(large.clone())));
    let swapped = Batch::delete(Tree::Keys, "b").when(Tree::Keys, "b", Expect::Is(large));
    assert_eq!(store.commit(swapped).await, Ok(()));
    drop(store);
    drop(SledStore::open(Options::new(home.path())).unwrap());
    assert_eq!(files(), 0);
}

#[test]
fn a_second_store_on_the_folder_is_rejected_until_the_first_is_dropped() {
    let home = tempfile::tempdir().unwrap();
    let first = SledStore::open(Options::new(home.path())).unwrap();
    let refused = SledStore::open(Options::new(home.path())).unwrap_err();
    assert_eq!(refused, StoreError::Locked(home.path().display().to_string()));
    drop(first);
    assert!(SledStore::open(Options::new(home.path())).is_ok());
}

#[test]
fn an_unusable_folder_is_a_clear_error_and_nothing_is_set_aside() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let Err(StoreError::Io(why)) = SledStore::open(Options::new(file.join("data"))) else { panic!("opened") };
    assert!(why.contains("a file exists where a folder is needed"), "{why}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn an_unreadable_engine_is_set_aside_and_the_newest_whole_snapshot_restored() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    let large = rec(vec![9; 50_000]);
    store.commit(Batch::put(Tree::Keys, "a", rec("1")).and_put(Tree::Ledger, "big", large.clone())).await.unwrap();
    store.save_snapshot(3).unwrap();
    store.commit(Batch::put(Tree::Keys, "a", rec("2"))).await.unwrap();
    let newest = store.save_snapshot(3).unwrap();
    store.commit(Batch::put(Tree::Keys, "a", rec("3"))).await.unwrap();
    drop(store);
    fs::write(&newest, "no snapshot any more").unwrap();
    let db = home.path().join("live/db");
    let mut bytes = fs::read(&db).unwrap();
    bytes.iter_mut().take(4_096).for_each(|byte| *byte = !*byte);
    fs::write(&db, &bytes).unwrap();

    let opened = SledStore::open(Options::new(home.path())).unwrap();
    let report = opened.quarantined.unwrap();
    assert_eq!(opened.store.stats().quarantined.as_ref(), Some(&report));
    assert_eq!(opened.store.get(Tree::Keys, b"a"), Ok(Some(rec("1"))), "{report}");
    assert_eq!(opened.store.get(Tree::Ledger, b"big"), Ok(Some(large)));
    let aside: Vec<_> = fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("quarantine-"))
        .collect();
    assert_eq!(aside.len(), 1);
    assert!(aside[0].path().join("db").is_file(), "the corrupt engine is kept");
    opened.store.commit(Batch::put(Tree::Keys, "a", rec("4"))).await.unwrap();
    drop(opened.store);
    let opened = SledStore::open(Options::new(home.path())).unwrap();
    assert_eq!(opened.quarantined, None);
    assert_eq!(opened.store.get(Tree::Keys, b"a"), Ok(Some(rec("4"))));
}

/// The engine treats a damaged tail as a torn write and drops it silently.
#[tokio::test]
async fn silently_dropped_writes_are_detected_and_the_rest_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    store.commit(Batch::put(Tree::Keys, "early", rec("1"))).await.unwrap();
    let needle = b"the very last acknowledged value";
    store.commit(Batch::put(Tree::Keys, "late", rec(*needle))).await.unwrap();
    drop(store);
    let db = home.path().join("live/db");
    let mut bytes = fs::read(&db).unwrap();
    let at = bytes.windows(needle.len()).rposition(|window| window == needle).unwrap();
    bytes[at] ^= 1;
    fs::write(&db, &bytes).unwrap();

    let opened = SledStore::open(Options::new(home.path())).unwrap();
    let report = opened.quarantined.expect("the loss was not detected");
    assert_eq!(opened.store.get(Tree::Keys, b"early"), Ok(Some(rec("1"))), "{report}");
    assert_eq!(opened.store.get(Tree::Keys, b"late"), Ok(None));
}

/// A crash between the two renames of a quarantine leaves the replacement complete, but not in its place.
#[tokio::test]
async fn an_interrupted_quarantine_is_finished_by_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    store.commit(Batch::put(Tree::Keys, "a", rec("1"))).await.unwrap();
    drop(store);
    fs::rename(home.path().join("live"), home.path().join("restore.ready")).unwrap();
    fs::create_dir(home.path().join("restore.tmp")).unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    assert_eq!(store.get(Tree::Keys, b"a"), Ok(Some(rec("1"))));
    assert!(!home.path().join("restore.tmp").exists() && !home.path().join("restore.ready").exists());
}

#[tokio::test]
async fn a_snapshot_moves_a_store_to_another_folder() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    for n in 0..600_u32 {
        drop(store.commit(Batch::put(Tree::Ledger, n.to_be_bytes(), rec(vec![7; n as usize * 40]))));
    }
    store.commit(Batch::put(Tree::Keys, "last", rec("1"))).await.unwrap();
    let file = home.path().join("backup.snap");
    // 601 records, and one metadata record for each tree.
    let records = 601 + Tree::ALL.len() as u64;
    assert_eq!(snapshot_to_file(&*store, &file), Ok(records));
    let copy = SledStore::open(Options::new(other.path())).unwrap().store;
    assert_eq!(restore_from_file(&*copy, &file).await, Ok(records));
    assert_eq!(all(&*copy, Tree::Ledger), all(&*store, Tree::Ledger));
    let report = copy.verify().unwrap();
    assert_eq!((report.records, report.corrupt), (records, vec![]));
}

#[tokio::test]
async fn only_the_newest_snapshots_are_kept() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    let mut saved = Vec::new();
    for n in 0..4_u8 {
        store.commit(Batch::put(Tree::Keys, [n], rec([n]))).await.unwrap();
        saved.push(store.save_snapshot(2).unwrap());
    }
    let exist: Vec<_> = saved.iter().map(|path| path.exists()).collect();
    assert_eq!(exist, [false, false, true, true]);
}

/// The engine's log is written in segments of 8 MiB, and a transaction keeps its position in the log open.
#[tokio::test]
async fn a_batch_larger_than_a_segment_of_the_log_is_written_whole() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    for round in 0..3_u8 {
        let value = vec![round; 16 << 10];
        let fill = |batch: Batch, n: u32| batch.and_put(Tree::Ledger, n.to_be_bytes(), rec(value.clone()));
        assert_eq!(store.commit((0..1_000).fold(Batch::default(), fill)).await, Ok(()));
    }
    assert_eq!(store.stats().spilled, 0);
    drop(store);
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    let found = all(&*store, Tree::Ledger);
    assert_eq!(found.len(), 1_000);
    assert!(found.into_iter().all(|(_, found)| found == rec(vec![2; 16 << 10])));
}

#[tokio::test]
async fn racing_writers_get_consecutive_numbers_and_the_published_length_is_durable() {
    let home = tempfile::tempdir().unwrap();
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    let mut length = store.appended(Tree::AuditLog);
    let commits = (0..300_u32).map(|n| {
        // One in three is refused: it takes no number.
        let expect = if n % 3 == 0 { Expect::Is(rec("none")) } else { Expect::Absent };
        let large = rec(vec![7; if n % 50 == 1 { 20_000 } else { 10 }]);
        store.commit(
            Batch::put(Tree::Keys, n.to_be_bytes(), rec("v"))
                .and_append(Tree::AuditLog, rec(n.to_be_bytes()))
                .and_append(Tree::AuditLog, large)
                .when(Tree::Keys, n.to_be_bytes(), expect),
        )
    });
    let outcomes = join_all(commits).await;
    assert_eq!(outcomes.iter().filter(|done| done.is_ok()).count(), 200);
    assert_eq!(*length.wait_for(|length| *length >= 400).await.unwrap(), 400);
    let read = all(&*store, Tree::AuditLog);
    assert!(read.iter().map(|(key, _)| muster_store::key_number(key)).eq((0..400).map(Some)));
    // The records of one batch are neighbours.
    assert!(read.chunks(2).all(|pair| pair[0].1.bytes.len() == 4 && pair[1].1.bytes.len() >= 10));
    drop(store);
    let store = SledStore::open(Options::new(home.path())).unwrap().store;
    assert_eq!(*store.appended(Tree::AuditLog).borrow(), 400);
    assert_eq!(all(&*store, Tree::AuditLog), read);
    store.commit(Batch::default().and_append(Tree::AuditLog, rec("next"))).await.unwrap();
    assert_eq!(store.get(Tree::AuditLog, &muster_store::number_key(400)), Ok(Some(rec("next"))));
}
