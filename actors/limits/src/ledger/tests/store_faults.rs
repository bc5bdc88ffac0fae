//! A store or a disk that rejects writes. Reservations and posts are durable in the journal, so they continue while
//! only the store fails; without the journal a reservation is rejected with a retry time. Nothing is lost in either
//! case.

use std::fs;
use std::time::Duration;

use super::*;
use muster_core::{Error, Kind};

const REJECTED: &str = "the store does not accept writes at the moment: try again later";

/// Errors of a store whose queue is full, whose disk is full, and which is read-only after a failed sync, each with the
/// retry time that callers receive.
fn failures() -> [(StoreError, Duration); 3] {
    [
        (StoreError::Busy, Duration::from_secs(1)),
        (StoreError::Io("no space left on device".to_owned()), Duration::from_secs(30)),
        (StoreError::Poisoned("a sync failed".to_owned()), Duration::from_secs(30)),
    ]
}

fn assert_unavailable(error: &Error, retry_after: Duration) {
    assert_eq!((error.kind, error.retry_after), (Kind::Unavailable, Some(retry_after)));
    assert_eq!((error.code, error.message.as_str()), (None, REJECTED), "as every feature's");
}

#[test]
fn a_store_that_rejects_writes_delays_checkpoints_and_loses_nothing() {
    for (failure, retry_after) in failures() {
        test_world::run(|tree| async move {
            let env = ServerEnv::new();
            let ledger = env.start(&tree).await;
            let before = ledger.reserve(reserve(100, Some(1_000), None)).await.unwrap();
            ledger.flush().await.unwrap();
            env.fail_commits(Some(failure));
            let during = ledger.reserve(reserve(50, Some(1_000), None)).await.unwrap();
            ledger.post(&entry("key_1", "m", Some(70)), before);
            assert_unavailable(&ledger.flush().await.unwrap_err(), retry_after);
            assert_eq!(spent(&ledger).await, (70, 50));
            assert!(ledger.reserve(reserve(881, Some(1_000), None)).await.is_err(), "budgets stay exact");
            // The next incarnation restores it from the journal.
            assert!(tree.inject_panic("ledger/ledger"));
            test_world::until(|| tree.snapshot()[0].restarts == 1).await;
            ledger.up().await;
            assert_eq!((spent(&ledger).await, ledger.status().await.unwrap().unsaved), ((70, 50), 1));

            env.fail_commits(None);
            test_world::after(Duration::from_secs(6)).await;
            assert_eq!(ledger.status().await.unwrap().unsaved, 0, "written at the interval, without a request");
            ledger.post(&entry("key_1", "m", Some(40)), during);
            ledger.flush().await.unwrap();
            assert_eq!((spent(&ledger).await, sums(&ledger, "key_1").await), ((110, 0), (2, 110, 0)));
        });
    }
}

#[test]
fn a_disk_that_rejects_writes_rejects_reservations_with_a_retry_time_and_loses_nothing() {
    for (failure, retry_after) in failures() {
        let env = ServerEnv::new();
        let (first, second) = (Arc::clone(&env), env);
        test_world::run(|tree| async move {
            let ledger = first.start(&tree).await;
            let hold = ledger.reserve(reserve(100, Some(1_000), None)).await.unwrap();
            // After a checkpoint the journal continues in a new file, which cannot be created in a missing folder.
            ledger.flush().await.unwrap();
            fs::remove_dir_all(first.folder()).unwrap();
            first.fail_commits(Some(failure));
            let Refusal::Error(error) = ledger.reserve(reserve(10, Some(1_000), None)).await.unwrap_err() else {
                panic!("the budget is sufficient");
            };
            assert_unavailable(&error, Duration::from_secs(30));
            assert_eq!(spent(&ledger).await, (0, 100), "a rejected reservation holds nothing");
            ledger.post(&entry("key_1", "m", Some(70)), hold);
            assert_eq!((spent(&ledger).await, ledger.journal().waiting), ((70, 0), 1));
            let flushed = ledger.flush().await.unwrap_err();
            assert_eq!(flushed.kind, Kind::Unavailable);
            assert!(flushed.retry_after.is_some_and(|after| after >= retry_after), "{flushed:?}");

            fs::create_dir(first.folder()).unwrap();
            first.fail_commits(None);
            drop(ledger.reserve(reserve(930, Some(1_000), None)).await.unwrap());
            ledger.flush().await.unwrap();
            assert_eq!((ledger.journal().waiting, ledger.journal().lost), (0, 0));
            assert_eq!((spent(&ledger).await, sums(&ledger, "key_1").await), ((70, 0), (1, 70, 0)));
        });
        test_world::run(|tree| async move {
            let ledger = second.start(&tree).await;
            assert_eq!((spent(&ledger).await, sums(&ledger, "key_1").await), ((70, 0), (1, 70, 0)));
        });
    }
}
