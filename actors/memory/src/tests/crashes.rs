use std::time::Duration;

use futures::future::join_all;
use muster_store::StoreError;

use super::*;
use muster_core::Kind;

#[test]
fn an_actor_that_dies_under_load_loses_nothing_that_was_acknowledged() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let mut acknowledged = Vec::new();
        for round in 0..4_u32 {
            let keys: Vec<String> = (0..200).map(|n| format!("{round}/{n}")).collect();
            let stores = join_all(keys.iter().map(|key| bench.try_store(new(key, key))));
            let kill = async {
                // A little later in each round.
                for _ in 0..=round {
                    tokio::task::yield_now().await;
                }
                assert!(bench.tree.inject_panic("memory/memory"));
            };
            let (replies, ()) = futures::join!(stores, kill);
            acknowledged.extend(replies.into_iter().flatten().map(|reply| reply.record));
            test_world::until(|| bench.tree.snapshot()[0].restarts == u64::from(round) + 1).await;
            bench.memory.up().await;
        }
        for record in &acknowledged {
            assert_eq!(bench.get(record.key()).as_ref(), Some(record.as_ref()));
        }
        whole::check(&bench.store);
        // The index also receives what was stored but not acknowledged.
        let stored = entries_in(&bench.store);
        assert!(stored.len() >= acknowledged.len());
        let last = bench.put("last", "v").await;
        assert!(stored.iter().all(|entry| entry.seq < last.seq), "no number is given twice");
        let received = bench.index.kinds();
        for entry in stored {
            assert!(received.contains(&AppliedKind::Put(Arc::new(entry))));
        }
    });
}

#[test]
fn what_became_durable_as_the_actor_died_is_told_by_the_next() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.store.hold_commits();
        let (memory, me) = (bench.memory.clone(), bench.me.clone());
        let store = actix_rt::spawn(async move { memory.store(new("k", "v"), &me, Precondition::None, None).await });
        bench.store.held(1).await;
        assert!(bench.tree.inject_panic("memory/memory"));
        assert_eq!(store.await.unwrap().unwrap_err().kind, Kind::Unavailable);
        assert!(bench.index.received().is_empty());
        bench.store.release();
        test_world::until(|| !bench.index.received().is_empty()).await;
        bench.memory.up().await;
        let stored = Arc::new(bench.get("k").unwrap());
        assert_eq!(bench.index.kinds(), [AppliedKind::Put(stored)]);
        assert_eq!(bench.put("k", "w").await.version, 2);
    });
}

#[test]
fn a_store_that_fails_is_told_and_what_was_stored_stands() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.put("k", "before").await;
        bench.store.fail_commits(Some(StoreError::Io("no disk".to_owned())));
        assert_eq!(bench.try_store(new("k", "lost")).await.unwrap_err().kind, Kind::Unavailable);
        assert_eq!(bench.value("k").as_deref(), Some("before"));
        bench.store.fail_commits(None);
        test_world::until(|| bench.tree.snapshot()[0].restarts >= 1).await;
        bench.memory.up().await;
        assert_eq!(bench.put("k", "after").await.version, 2);
    });
}

#[test]
fn a_store_that_only_reads_answers_reads() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.put("k", "v").await;
        bench.store.fail_commits(Some(StoreError::Poisoned("a sync failed".to_owned())));
        let bench = bench.again().await;
        assert_eq!(bench.value("k").as_deref(), Some("v"));
        let refused = bench.try_store(new("k", "w")).await.unwrap_err();
        assert!(refused.kind == Kind::Unavailable && refused.retry_after.is_some());
    });
}

#[test]
fn a_store_that_becomes_read_only_refuses_every_change_alike() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.put("k", "v").await;
        bench.store.fail_commits(Some(StoreError::Poisoned("a sync failed".to_owned())));
        let stored = bench.try_store(new("k", "w")).await.map(drop);
        let deleted = bench.memory.delete(None, "k", Precondition::None, &bench.me).await.map(drop);
        for refused in [stored, deleted] {
            let refused = refused.unwrap_err();
            let expected = (Kind::Unavailable, "the store does not accept writes now: try again later");
            assert_eq!((refused.kind, refused.message.as_str()), expected);
            assert_eq!((refused.code, refused.retry_after), (None, Some(Duration::from_secs(30))));
        }
        assert_eq!(bench.value("k").as_deref(), Some("v"));
        test_world::after(Duration::from_secs(300)).await;
        assert!(bench.tree.snapshot().iter().all(|actor| actor.restarts == 0));
    });
}

#[test]
fn a_commit_that_fails_is_told_to_everybody_who_waits() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.store.hold_commits();
        let keys: Vec<String> = (0..50).map(|n| format!("k{n}")).collect();
        let storing = futures::future::join_all(keys.iter().map(|key| bench.try_store(new(key, "v"))));
        let breaking = async {
            bench.store.held(2).await;
            bench.store.fail_commits(Some(StoreError::Poisoned("a sync failed".to_owned())));
            bench.store.release();
        };
        let (outcomes, ()) = futures::join!(storing, breaking);
        for outcome in outcomes {
            let refused = outcome.unwrap_err();
            assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        }
        assert_eq!(bench.value("k1"), None);
    });
}

#[test]
fn a_server_that_ends_at_any_commit_has_whole_entries() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.put_for("k", "1", 60).await;
        bench.store.hold_commits();
        let (memory, me) = (bench.memory.clone(), bench.me.clone());
        let stores = actix_rt::spawn(async move {
            let store = |value| memory.store(new("k", value), &me, Precondition::None, None);
            futures::join!(store("2"), store("3"), memory.delete(None, "k", Precondition::None, &me))
        });
        bench.store.held(2).await;
        // What the store had not accepted when the process ended never existed.
        let taken = Arc::new(copy(&bench.store).await);
        let again = Bench::on(&tree, taken, bench.clock.clone(), bench.settings.clone()).await;
        assert_eq!(again.value("k").as_deref(), Some("1"));
        assert_eq!(again.put("k", "4").await.version, 2);
        bench.store.release();
        drop(stores);
    });
}

/// Copies the content of a store.
async fn copy(store: &MemStore) -> MemStore {
    let copy = MemStore::default();
    for tree in Rows::ALL {
        for (key, bytes) in rows(store, tree) {
            let rec = muster_store::Rec { schema: 1, bytes };
            copy.commit(muster_store::Batch::put(tree, key, rec)).await.unwrap();
        }
    }
    copy
}
