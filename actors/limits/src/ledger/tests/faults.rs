//! Whatever fails, the ledger is the sum of what was posted.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use muster_core::Kind;

#[test]
fn repeated_crashes_under_load_leak_nothing() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        let over = Arc::new(AtomicBool::new(false));
        let load = |model: &'static str| {
            let (ledger, over) = (ledger.clone(), Arc::clone(&over));
            std::thread::spawn(move || {
                let mut cost = 0;
                while cost < 30_000 && !over.load(Ordering::Acquire) {
                    cost += 1;
                    ledger.post(&entry("key_1", model, Some(cost)), Hold::none());
                    std::thread::yield_now();
                }
                cost
            })
        };
        let threads = [load("m"), load("n")];
        let mut answers = 0;
        for panics in 1..=4 {
            let hold = ledger.reserve(reserve(7, Some(u64::MAX), None)).await.unwrap();
            assert!(tree.inject_panic("ledger/ledger"));
            test_world::until(|| tree.snapshot()[0].restarts == panics).await;
            // Posted while no actor is running.
            ledger.post(&entry("key_1", "m", Some(3)), hold);
            answers += 1;
            ledger.up().await;
            test_world::after(Duration::from_secs(3)).await;
        }
        over.store(true, Ordering::Release);
        let posts = threads.map(|thread| thread.join().unwrap());
        let cost = posts.iter().map(|n| n * (n + 1) / 2).sum::<u64>() + 3 * answers;
        assert_eq!(sums(&ledger, "key_1").await, (posts.iter().sum::<u64>() + answers, cost, 0));
        assert_eq!(spent(&ledger).await, (cost, 0));
    });
}

#[test]
fn a_kill_loses_nothing_and_charges_open_holds_once() {
    let env = ServerEnv::new();
    let (first, second) = (Arc::clone(&env), Arc::clone(&env));
    test_world::run(|tree| async move {
        let ledger = first.start(&tree).await;
        let open = ledger.reserve(reserve(100, Some(1_000), None)).await.unwrap();
        ledger.post(&entry("key_1", "m", Some(5)), Hold::none());
        ledger.flush().await.unwrap();
        let settled = ledger.reserve(reserve(50, Some(1_000), None)).await.unwrap();
        let released = ledger.reserve(reserve(50, Some(1_000), None)).await.unwrap();
        let later = ledger.reserve(reserve(200, Some(1_000), None)).await.unwrap();
        ledger.post(&entry("key_1", "m", Some(20)), settled);
        drop(released);
        first.kill();
        // A killed process runs no destructors.
        std::mem::forget((open, later));
    });
    for _ in 0..3 {
        env.revive();
        let env = Arc::clone(&second);
        test_world::run(|tree| async move {
            let ledger = env.start(&tree).await;
            assert_eq!(sums(&ledger, "key_1").await, (2, 25, 300));
            assert_eq!(spent(&ledger).await, (325, 0));
            assert!(ledger.reserve(reserve(676, Some(1_000), None)).await.is_err());
            drop(ledger.reserve(reserve(675, Some(1_000), None)).await.unwrap());
            env.kill();
        });
    }
}

/// Restores the journal's files after the checkpoint that removed them, as if the kill had happened in between.
#[test]
fn lines_included_in_the_store_count_once() {
    let env = ServerEnv::new();
    let (first, second) = (Arc::clone(&env), Arc::clone(&env));
    test_world::run(|tree| async move {
        let ledger = first.start(&tree).await;
        let hold = ledger.reserve(reserve(30, Some(1_000), None)).await.unwrap();
        ledger.post(&entry("key_1", "m", Some(5)), Hold::none());
        ledger.post(&entry("key_1", "m", Some(9)), hold);
        assert_eq!(sums(&ledger, "key_1").await, (2, 14, 0));
        let files: Vec<_> = fs::read_dir(first.folder()).unwrap().map(|file| file.unwrap().path()).collect();
        let kept: Vec<_> = files.iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect();
        assert!(!kept.is_empty());
        ledger.flush().await.unwrap();
        test_world::until(|| ledger.journal().bytes == 0).await;
        test_world::until(|| files.iter().all(|file| !file.exists())).await;
        kept.iter().for_each(|(file, bytes)| fs::write(file, bytes).unwrap());
        first.kill();
    });
    env.revive();
    test_world::run(|tree| async move {
        let ledger = second.start(&tree).await;
        assert!(ledger.journal().bytes > 0, "there is something to be read twice");
        assert_eq!(sums(&ledger, "key_1").await, (2, 14, 0));
        assert_eq!(spent(&ledger).await, (14, 0));
    });
}

#[test]
fn while_the_store_fails_the_journal_keeps_everything() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        env.kill();
        ledger.post(&entry("key_1", "m", Some(5)), Hold::none());
        assert_eq!(ledger.flush().await.unwrap_err().kind, Kind::Unavailable);
        test_world::after(Duration::from_secs(12)).await;
        assert!(ledger.journal().bytes > 0);
        assert_eq!(ledger.status().await.unwrap().unsaved, 1);
        assert!(tree.inject_panic("ledger/ledger"));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        ledger.up().await;
        assert_eq!(sums(&ledger, "key_1").await, (1, 5, 0));
        env.revive();
        test_world::after(Duration::from_secs(6)).await;
        assert_eq!(ledger.status().await.unwrap().unsaved, 0, "written at the interval, without a request");
        test_world::until(|| ledger.journal().bytes == 0).await;
    });
}

#[test]
fn while_the_disk_fails_posts_are_buffered_and_nothing_is_granted() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        fs::remove_dir_all(env.folder()).unwrap();
        ledger.post(&entry("key_1", "m", Some(5)), Hold::none());
        ledger.post(&entry("key_1", "m", Some(6)), Hold::none());
        let refused = ledger.reserve(reserve(1, Some(1_000), None)).await.unwrap_err();
        assert!(matches!(refused, Refusal::Error(error) if error.kind == Kind::Unavailable));
        assert_eq!((ledger.journal().waiting, ledger.journal().lost), (2, 0));
        assert_eq!(sums(&ledger, "key_1").await, (2, 11, 0));
        // Not even the death of the actor loses buffered entries.
        assert!(tree.inject_panic("ledger/ledger"));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        ledger.up().await;
        assert_eq!(sums(&ledger, "key_1").await, (2, 11, 0));
        fs::create_dir(env.folder()).unwrap();
        drop(ledger.reserve(reserve(1, Some(1_000), None)).await.unwrap());
        assert_eq!(ledger.journal().waiting, 0);
        assert_eq!(sums(&ledger, "key_1").await, (2, 11, 0));
    });
}

#[test]
fn a_lagging_actor_restores_everything() {
    test_world::run(|tree| async move {
        let mut options = LedgerOptions::default();
        options.journal.tail_bytes = 256;
        let env = ServerEnv::new();
        let ledger = env.start_with(&tree, options).await;
        for _ in 0..100 {
            ledger.post(&entry("key_1", "m", Some(1)), Hold::none());
        }
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        ledger.up().await;
        assert_eq!(sums(&ledger, "key_1").await, (100, 100, 0));
    });
}

#[test]
fn a_clean_shutdown_writes_everything_to_the_store() {
    let env = ServerEnv::new();
    let (first, second) = (Arc::clone(&env), Arc::clone(&env));
    test_world::run(|tree| async move {
        let ledger = first.start(&tree).await;
        ledger.post(&entry("key_1", "m", Some(5)), Hold::none());
    });
    fs::remove_dir_all(env.folder()).unwrap();
    test_world::run(|tree| async move {
        let ledger = second.start(&tree).await;
        assert_eq!(sums(&ledger, "key_1").await, (1, 5, 0));
        ledger.post(&entry("key_1", "m", Some(6)), Hold::none());
        assert_eq!(sums(&ledger, "key_1").await, (2, 11, 0), "line numbers continue above those of the store");
    });
}
