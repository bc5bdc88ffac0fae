use futures::FutureExt;

use super::scripted_index::ApplyBehaviour;
use super::*;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;

/// 150 entries of one owner with history, expiry, vectors and stored responses, and one of another.
async fn fill(fixture: &Fixture) {
    for chunk in 0..3 {
        for value in ["1", "2"] {
            let entry = |n| NewEntry { ttl_seconds: Some(600), ..new(&format!("private {chunk}/{n}"), value) };
            let idempotency =
                Idempotency { principal: "key_me".to_owned(), key: format!("{chunk}{value}"), digest: [1; 32] };
            fixture.memory.store_many((0..50).map(entry).collect(), &fixture.me, Some(idempotency)).await.unwrap();
        }
    }
    let vectors = entries_in(&fixture.store).into_iter().map(|entry| NewVector {
        place: entry.place,
        id: entry.id,
        version: entry.version,
        model: Arc::from("m"),
        vector: Arc::from([1.0]),
    });
    assert_eq!(fixture.memory.put_vectors(vectors.collect()).await.unwrap(), 150);
    fixture.memory.store(new("theirs", "v"), &fixture.other, Precondition::None, None).await.unwrap();
}

const TREES: [Rows; 6] =
    [Rows::Memory, Rows::MemoryIds, Rows::MemoryHistory, Rows::MemoryVectors, Rows::MemoryExpiry, Rows::Idempotency];

/// Asserts that no tree contains data of the owner except the change that records the deletion.
fn assert_deleted(fixture: &Fixture) {
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    for tree in TREES {
        for (key, bytes) in fixture.rows(tree) {
            let left = ["key_me", "private"].iter().any(|text| has(&key, text) || has(&bytes, text));
            assert!(!left, "{tree:?} {}", String::from_utf8_lossy(&key));
        }
    }
    for (_, bytes) in fixture.rows(Rows::MemoryChanges) {
        assert!(!has(&bytes, "private"), "a change names a forgotten entry");
    }
    let others = [Rows::MemoryHistory, Rows::MemoryVectors, Rows::MemoryExpiry].map(|tree| fixture.rows(tree).len());
    assert_eq!((fixture.rows(Rows::Memory).len(), others), (1, [0, 0, 0]), "only the other owner's data is left");
}

fn owner_deleted() -> AppliedKind {
    AppliedKind::OwnerDeleted { owner: Owner::new("key_me") }
}

#[test]
fn all_data_of_an_owner_is_deleted_and_of_no_other() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fill(&fixture).await;
        let forgotten = fixture.memory.forget(&Owner::new("key_me"), &key("key_admin")).await.unwrap();
        assert_eq!(forgotten, ForgottenCounts { entries: 150, versions: 150, vectors: 150 });
        assert_deleted(&fixture);
        assert_eq!(
            fixture.index.kinds().iter().filter(|kind| **kind == owner_deleted()).count(),
            2,
            "before and after"
        );
        let audit = fixture.rows(Rows::AuditLog);
        let audit: Vec<String> = audit.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
        assert_eq!(audit.len(), 2);
        assert!(audit[0].contains("memory_forget") && audit[1].contains("\"entries\":150"), "{audit:?}");
        assert!(audit.iter().all(|entry| entry.contains("key_admin")));
        let theirs = fixture.memory.get(None, "theirs", &fixture.other).unwrap();
        assert!(theirs.is_some() && fixture.get("private 0/0").is_none());
        assert!(fixture.put("private 0/0", "anew").await.version == 1, "the owner may begin anew");
        assert_eq!(fixture.memory.stats(&fixture.me).await.unwrap().usage.entries, 1);
        consistency::check(&fixture.store);
    });
}

#[test]
fn nothing_is_written_for_an_owner_being_forgotten() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let kept = fixture.put("k", "v").await;
        fixture.store.hold_commits();
        let owner = Owner::new("key_me");
        let mut forget = Box::pin(fixture.memory.forget(&owner, &fixture.me));
        assert!(forget.as_mut().now_or_never().is_none());
        fixture.store.held(1).await;
        let mut repeated = Box::pin(fixture.memory.forget(&owner, &fixture.me));
        let mut store = Box::pin(fixture.try_store(new("k", "w")));
        let mut delete = Box::pin(fixture.memory.delete(None, "k", Precondition::None, &fixture.me));
        let vector = NewVector {
            place: kept.place.clone(),
            id: kept.id,
            version: 1,
            model: Arc::from("m"),
            vector: Arc::from([1.0]),
        };
        let mut vectors = fixture.memory.put_vectors(vec![vector]);
        assert!(repeated.as_mut().now_or_never().is_none() && store.as_mut().now_or_never().is_none());
        assert!(delete.as_mut().now_or_never().is_none() && vectors.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
        fixture.store.release();
        assert_eq!(store.await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(delete.await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(vectors.await.unwrap(), 0);
        let expected = ForgottenCounts { entries: 1, versions: 0, vectors: 0 };
        assert_eq!(
            (forget.await.unwrap(), repeated.await.unwrap()),
            (expected, expected),
            "requested twice, done once"
        );
    });
}

#[test]
fn forgetting_continues_after_a_crash() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fill(&fixture).await;
        let before = fixture.rows(Rows::Memory).len();
        let (memory, me) = (fixture.memory.clone(), fixture.me.clone());
        fixture.store.hold_commits();
        let forget = actix_rt::spawn(async move { memory.forget(&Owner::new("key_me"), &me).await });
        fixture.store.held(1).await;
        // The mark, then the first slice; the second waits.
        for _ in 0..2 {
            fixture.store.release();
            fixture.store.hold_commits();
            fixture.store.held(1).await;
        }
        assert!((1..before).contains(&fixture.rows(Rows::Memory).len()), "some entries are deleted");
        fixture.tree.stop().await;
        fixture.store.release();
        let fixture = fixture.restart().await;
        assert!(forget.await.unwrap().is_err(), "no caller gets a confirmation");
        let store = Arc::clone(&fixture.store);
        test_world::until(|| !rows(&store, Rows::MemoryIds).iter().any(|(key, _)| key.starts_with(b"gone/"))).await;
        assert_deleted(&fixture);
        assert_eq!(fixture.index.kinds(), [owner_deleted()]);
        let ended = fixture.rows(Rows::AuditLog).pop().unwrap().1;
        assert!(String::from_utf8_lossy(&ended).contains("\"entries\":150"), "the count goes on, too");
    });
}

#[test]
fn forgetting_is_confirmed_only_once_the_indexes_have_deleted_the_data() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.put("k", "v").await;
        fixture.index.set_behaviour(ApplyBehaviour::Partly);
        let owner = Owner::new("key_me");
        let refused = fixture.memory.forget(&owner, &fixture.me).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable, "its files may still hold it");
        assert!(refused.retry_after.is_some());
        fixture.index.set_behaviour(ApplyBehaviour::All);
        let forgotten = fixture.memory.forget(&owner, &fixture.me).await.unwrap();
        assert_eq!(
            forgotten,
            ForgottenCounts { entries: 0, versions: 0, vectors: 0 },
            "the entries were deleted before"
        );
    });
}
