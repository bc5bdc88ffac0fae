use std::time::Duration;

use futures::future::join_all;
use muster_store::StoreError;

use super::*;
use muster_core::Kind;

#[test]
fn acknowledged_entries_survive_a_panic_under_load() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let mut acknowledged = Vec::new();
        for round in 0..4_u32 {
            let keys: Vec<String> = (0..200).map(|n| format!("{round}/{n}")).collect();
            let stores = join_all(keys.iter().map(|key| fixture.try_store(new(key, key))));
            let kill = async {
                // A little later in each round.
                for _ in 0..=round {
                    tokio::task::yield_now().await;
                }
                assert!(fixture.tree.inject_panic("memory/memory"));
            };
            let (replies, ()) = futures::join!(stores, kill);
            acknowledged.extend(replies.into_iter().flatten().map(|reply| reply.record));
            test_world::until(|| fixture.tree.snapshot()[0].restarts == u64::from(round) + 1).await;
            fixture.memory.up().await;
        }
        for record in &acknowledged {
            assert_eq!(fixture.get(record.key()).as_ref(), Some(record.as_ref()));
        }
        consistency::check(&fixture.store);
        // The index also receives what was stored but not acknowledged.
        let stored = entries_in(&fixture.store);
        assert!(stored.len() >= acknowledged.len());
        let last = fixture.put("last", "v").await;
        assert!(stored.iter().all(|entry| entry.seq < last.seq), "no number is used twice");
        let received = fixture.index.kinds();
        for entry in stored {
            assert!(received.contains(&AppliedKind::Put(Arc::new(entry))));
        }
    });
}

#[test]
fn changes_that_became_durable_during_a_panic_are_indexed_after_the_restart() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.store.hold_commits();
        let (memory, me) = (fixture.memory.clone(), fixture.me.clone());
        let store = actix_rt::spawn(async move { memory.store(new("k", "v"), &me, Precondition::None, None).await });
        fixture.store.held(1).await;
        assert!(fixture.tree.inject_panic("memory/memory"));
        assert_eq!(store.await.unwrap().unwrap_err().kind, Kind::Unavailable);
        assert!(fixture.index.received().is_empty());
        fixture.store.release();
        test_world::until(|| !fixture.index.received().is_empty()).await;
        fixture.memory.up().await;
        let stored = Arc::new(fixture.get("k").unwrap());
        assert_eq!(fixture.index.kinds(), [AppliedKind::Put(stored)]);
        assert_eq!(fixture.put("k", "w").await.version, 2);
    });
}

#[test]
fn failed_commits_are_reported_and_stored_entries_remain() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.put("k", "before").await;
        fixture.store.fail_commits(Some(StoreError::Io("no disk".to_owned())));
        assert_eq!(fixture.try_store(new("k", "lost")).await.unwrap_err().kind, Kind::Unavailable);
        assert_eq!(fixture.value("k").as_deref(), Some("before"));
        fixture.store.fail_commits(None);
        test_world::until(|| fixture.tree.snapshot()[0].restarts >= 1).await;
        fixture.memory.up().await;
        assert_eq!(fixture.put("k", "after").await.version, 2);
    });
}

#[test]
fn a_read_only_store_still_serves_reads() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.put("k", "v").await;
        fixture.store.fail_commits(Some(StoreError::Poisoned("a sync failed".to_owned())));
        let fixture = fixture.restart().await;
        assert_eq!(fixture.value("k").as_deref(), Some("v"));
        let refused = fixture.try_store(new("k", "w")).await.unwrap_err();
        assert!(refused.kind == Kind::Unavailable && refused.retry_after.is_some());
    });
}

#[test]
fn a_store_that_becomes_read_only_rejects_all_changes_alike() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.put("k", "v").await;
        fixture.store.fail_commits(Some(StoreError::Poisoned("a sync failed".to_owned())));
        let stored = fixture.try_store(new("k", "w")).await.map(drop);
        let deleted = fixture.memory.delete(None, "k", Precondition::None, &fixture.me).await.map(drop);
        for refused in [stored, deleted] {
            let refused = refused.unwrap_err();
            let expected = (Kind::Unavailable, "the store does not accept writes at the moment: try again later");
            assert_eq!((refused.kind, refused.message.as_str()), expected);
            assert_eq!((refused.code, refused.retry_after), (None, Some(Duration::from_secs(30))));
        }
        assert_eq!(fixture.value("k").as_deref(), Some("v"));
        test_world::after(Duration::from_secs(300)).await;
        assert!(fixture.tree.snapshot().iter().all(|actor| actor.restarts == 0));
    });
}

#[test]
fn failed_commits_are_reported_to_all_waiting_callers() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.store.hold_commits();
        let keys: Vec<String> = (0..50).map(|n| format!("k{n}")).collect();
        let storing = futures::future::join_all(keys.iter().map(|key| fixture.try_store(new(key, "v"))));
        let breaking = async {
            fixture.store.held(2).await;
            fixture.store.fail_commits(Some(StoreError::Poisoned("a sync failed".to_owned())));
            fixture.store.release();
        };
        let (outcomes, ()) = futures::join!(storing, breaking);
        for outcome in outcomes {
            let refused = outcome.unwrap_err();
            assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        }
        assert_eq!(fixture.value("k1"), None);
    });
}

#[test]
fn a_crash_at_any_commit_leaves_complete_entries() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.put_for("k", "1", 60).await;
        fixture.store.hold_commits();
        let (memory, me) = (fixture.memory.clone(), fixture.me.clone());
        let stores = actix_rt::spawn(async move {
            let store = |value| memory.store(new("k", value), &me, Precondition::None, None);
            futures::join!(store("2"), store("3"), memory.delete(None, "k", Precondition::None, &me))
        });
        fixture.store.held(2).await;
        // Writes that the store had not accepted when the process ended are lost.
        let copied = Arc::new(copy(&fixture.store).await);
        let again = Fixture::on(&tree, copied, fixture.clock.clone(), fixture.settings.clone()).await;
        assert_eq!(again.value("k").as_deref(), Some("1"));
        assert_eq!(again.put("k", "4").await.version, 2);
        fixture.store.release();
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
