use futures::FutureExt;

use super::script::Takes;
use super::*;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;

/// 150 entries of one owner with history, expiry, vectors and stored responses, and one of another.
async fn fill(bench: &Bench) {
    for chunk in 0..3 {
        for value in ["1", "2"] {
            let entry = |n| NewEntry { ttl_seconds: Some(600), ..new(&format!("private {chunk}/{n}"), value) };
            let asked = Idempotency { principal: "key_me".to_owned(), key: format!("{chunk}{value}"), digest: [1; 32] };
            bench.memory.store_many((0..50).map(entry).collect(), &bench.me, Some(asked)).await.unwrap();
        }
    }
    let vectors = entries_in(&bench.store).into_iter().map(|entry| NewVector {
        place: entry.place,
        id: entry.id,
        version: entry.version,
        model: Arc::from("m"),
        vector: Arc::from([1.0]),
    });
    assert_eq!(bench.memory.put_vectors(vectors.collect()).await.unwrap(), 150);
    bench.memory.store(new("theirs", "v"), &bench.other, Precondition::None, None).await.unwrap();
}

const TREES: [Rows; 6] =
    [Rows::Memory, Rows::MemoryIds, Rows::MemoryHistory, Rows::MemoryVectors, Rows::MemoryExpiry, Rows::Idempotency];

/// Nothing of the owner's is in any tree except the record of the deletion.
fn nothing_is_left(bench: &Bench) {
    let has = |bytes: &[u8], what: &str| bytes.windows(what.len()).any(|window| window == what.as_bytes());
    for tree in TREES {
        for (key, bytes) in bench.rows(tree) {
            let left = ["key_me", "private"].iter().any(|what| has(&key, what) || has(&bytes, what));
            assert!(!left, "{tree:?} {}", String::from_utf8_lossy(&key));
        }
    }
    for (_, bytes) in bench.rows(Rows::MemoryChanges) {
        assert!(!has(&bytes, "private"), "a change names what was forgotten");
    }
    let others = [Rows::MemoryHistory, Rows::MemoryVectors, Rows::MemoryExpiry].map(|tree| bench.rows(tree).len());
    assert_eq!((bench.rows(Rows::Memory).len(), others), (1, [0, 0, 0]), "what is left is another's");
}

fn gone() -> AppliedKind {
    AppliedKind::OwnerGone { owner: Owner::new("key_me") }
}

#[test]
fn every_trace_of_an_owner_goes_and_nobody_elses() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        fill(&bench).await;
        let forgotten = bench.memory.forget(&Owner::new("key_me"), &key("key_admin")).await.unwrap();
        assert_eq!(forgotten, Forgotten { entries: 150, versions: 150, vectors: 150 });
        nothing_is_left(&bench);
        assert_eq!(bench.index.kinds().iter().filter(|kind| **kind == gone()).count(), 2, "before and after");
        let audit = bench.rows(Rows::Audit);
        let audit: Vec<String> = audit.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
        assert_eq!(audit.len(), 2);
        assert!(audit[0].contains("memory_forget") && audit[1].contains("\"entries\":150"), "{audit:?}");
        assert!(audit.iter().all(|entry| entry.contains("key_admin")));
        let theirs = bench.memory.get(None, "theirs", &bench.other).unwrap();
        assert!(theirs.is_some() && bench.get("private 0/0").is_none());
        assert!(bench.put("private 0/0", "anew").await.version == 1, "the owner may begin anew");
        assert_eq!(bench.memory.stats(&bench.me).await.unwrap().tally.entries, 1);
        whole::check(&bench.store);
    });
}

#[test]
fn while_an_owner_is_forgotten_nothing_of_it_is_written() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let kept = bench.put("k", "v").await;
        bench.store.hold_commits();
        let owner = Owner::new("key_me");
        let mut forget = Box::pin(bench.memory.forget(&owner, &bench.me));
        assert!(forget.as_mut().now_or_never().is_none());
        bench.store.held(1).await;
        let mut again = Box::pin(bench.memory.forget(&owner, &bench.me));
        let mut store = Box::pin(bench.try_store(new("k", "w")));
        let mut delete = Box::pin(bench.memory.delete(None, "k", Precondition::None, &bench.me));
        let vector = NewVector {
            place: kept.place.clone(),
            id: kept.id,
            version: 1,
            model: Arc::from("m"),
            vector: Arc::from([1.0]),
        };
        let mut vectors = bench.memory.put_vectors(vec![vector]);
        assert!(again.as_mut().now_or_never().is_none() && store.as_mut().now_or_never().is_none());
        assert!(delete.as_mut().now_or_never().is_none() && vectors.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
        bench.store.release();
        assert_eq!(store.await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(delete.await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(vectors.await.unwrap(), 0);
        let wanted = Forgotten { entries: 1, versions: 0, vectors: 0 };
        assert_eq!((forget.await.unwrap(), again.await.unwrap()), (wanted, wanted), "asked twice, done once");
    });
}

#[test]
fn forgetting_goes_on_after_a_crash() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        fill(&bench).await;
        let before = bench.rows(Rows::Memory).len();
        let (memory, me) = (bench.memory.clone(), bench.me.clone());
        bench.store.hold_commits();
        let forget = actix_rt::spawn(async move { memory.forget(&Owner::new("key_me"), &me).await });
        bench.store.held(1).await;
        // The mark, then the first slice; the second waits.
        for _ in 0..2 {
            bench.store.release();
            bench.store.hold_commits();
            bench.store.held(1).await;
        }
        assert!((1..before).contains(&bench.rows(Rows::Memory).len()), "some are gone");
        bench.tree.stop().await;
        bench.store.release();
        let bench = bench.again().await;
        assert!(forget.await.unwrap().is_err(), "nobody is told that it is done");
        let store = Arc::clone(&bench.store);
        test_world::until(|| !rows(&store, Rows::MemoryIds).iter().any(|(key, _)| key.starts_with(b"gone/"))).await;
        nothing_is_left(&bench);
        assert_eq!(bench.index.kinds(), [gone()]);
        let ended = bench.rows(Rows::Audit).pop().unwrap().1;
        assert!(String::from_utf8_lossy(&ended).contains("\"entries\":150"), "the count goes on, too");
    });
}

#[test]
fn nothing_is_forgotten_before_the_indexes_have_it() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.put("k", "v").await;
        bench.index.takes(Takes::Partly);
        let owner = Owner::new("key_me");
        let refused = bench.memory.forget(&owner, &bench.me).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable, "its files may still hold it");
        assert!(refused.retry_after.is_some());
        bench.index.takes(Takes::All);
        let forgotten = bench.memory.forget(&owner, &bench.me).await.unwrap();
        assert_eq!(forgotten, Forgotten { entries: 0, versions: 0, vectors: 0 }, "the entries were gone before");
    });
}
