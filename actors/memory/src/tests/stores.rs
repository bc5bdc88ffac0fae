use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use serde_json::json;

use super::scripted_index::ApplyBehaviour;
use super::*;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;

fn named(key: &str, digest: u8) -> Option<Idempotency> {
    Some(Idempotency { principal: "key_me".to_owned(), key: key.to_owned(), digest: [digest; 32] })
}

#[test]
fn entries_are_read_by_key_or_id_and_by_their_owner_only() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let reply = fixture
            .try_store(NewEntry {
                tags: vec!["a".to_owned()],
                thread: Some("t".to_owned()),
                importance: Some(0.5),
                language: Some("DE".to_owned()),
                ..new("a/key ü", "a value")
            })
            .await
            .unwrap();
        assert!(reply.created && !reply.replayed);
        assert_eq!(reply.index_state, IndexState::Text);
        let record = reply.record;
        assert_eq!((record.version, record.language.as_deref(), record.stored_at), (1, Some("de"), test_world::START));
        assert_eq!(fixture.get("a/key ü").as_ref(), Some(record.as_ref()));
        let id = record.id.to_string();
        assert_eq!(fixture.get(&id).as_ref(), Some(record.as_ref()));
        assert_eq!(fixture.memory.get(Some("elsewhere"), &id, &fixture.me).unwrap(), None);
        for name in ["a/key ü", id.as_str()] {
            assert_eq!(fixture.memory.get(None, name, &fixture.other).unwrap(), None, "it is not visible to others");
            assert!(fixture.memory.history(None, name, &fixture.other).unwrap().is_empty());
            assert!(!fixture.memory.delete(None, name, Precondition::None, &fixture.other).await.unwrap());
        }
        assert_eq!(fixture.index.kinds(), [AppliedKind::Put(record)]);
    });
}

#[test]
fn stores_respond_once_durable_and_indexed() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.store.hold_commits();
        let mut store = Box::pin(fixture.try_store(new("k", "v")));
        assert!(store.as_mut().now_or_never().is_none());
        fixture.store.held(1).await;
        assert_eq!(fixture.get("k"), None, "entries that are not durable are not returned");
        assert!(fixture.index.received().is_empty() && store.as_mut().now_or_never().is_none());
        fixture.store.release();
        assert_eq!(store.await.unwrap().index_state, IndexState::Text);
        fixture.index.set_behaviour(ApplyBehaviour::Partly);
        assert_eq!(fixture.try_store(new("k", "w")).await.unwrap().index_state, IndexState::Pending);
        fixture.index.set_behaviour(ApplyBehaviour::Never);
        let begun = fixture.clock.now();
        assert_eq!(fixture.try_store(new("k", "x")).await.unwrap().index_state, IndexState::Pending);
        assert_eq!(fixture.clock.now().since(begun), Duration::from_secs(2), "an index that hangs delays no longer");
        assert_eq!(fixture.value("k").as_deref(), Some("x"));
    });
}

#[test]
fn waiting_decisions_are_written_in_order_two_batches_at_a_time() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.store.hold_commits();
        let keys: Vec<String> = (0..50).map(|n| format!("k{}", n % 7)).collect();
        let stores = join_all(keys.iter().map(|key| fixture.try_store(new(key, "v"))));
        let release = async {
            fixture.store.held(2).await;
            assert_eq!(fixture.store.stats().queue_depth, 2, "the rest waits for these");
            fixture.store.release();
        };
        let (replies, ()) = futures::join!(stores, release);
        let seqs: Vec<u64> = replies.iter().map(|reply| reply.as_ref().unwrap().record.seq).collect();
        assert_eq!(seqs, (1..=50).collect::<Vec<_>>());
        let received: Vec<u64> = fixture.index.received().iter().map(|applied| applied.seq).collect();
        assert_eq!(received, seqs, "the index receives the changes in order");
        assert_eq!(fixture.get("k0").unwrap().version, 8, "each decision saw the one before it");
    });
}

#[test]
fn storing_a_known_key_replaces_the_entry_and_keeps_history() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let first = fixture.put("k", "1").await;
        for value in 2..=40 {
            let reply = fixture.try_store(new("k", &value.to_string())).await.unwrap();
            assert!(!reply.created);
            assert_eq!((reply.record.id, reply.record.version), (first.id, value));
        }
        let versions: Vec<u32> =
            fixture.memory.history(None, "k", &fixture.me).unwrap().iter().map(|entry| entry.version).collect();
        assert_eq!(versions, (8..=40).rev().collect::<Vec<_>>(), "the present one and 32 before it");
        assert_eq!(fixture.rows(Rows::MemoryHistory).len(), 32);
        assert!(fixture.memory.delete(None, "k", Precondition::None, &fixture.me).await.unwrap());
        assert_eq!(fixture.get("k"), None);
        assert!(fixture.rows(Rows::MemoryHistory).is_empty());
        assert!(!fixture.memory.delete(None, "k", Precondition::None, &fixture.me).await.unwrap());
    });
}

#[test]
fn failed_preconditions_change_nothing() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let store = |value: &str, precondition| fixture.memory.store(new("k", value), &fixture.me, precondition, None);
        let matches = |version| Precondition::Match(IfMatch::Version(version));
        assert_eq!(store("0", matches(1)).await.unwrap_err().kind, Kind::PreconditionFailed);
        assert!(store("1", Precondition::Absent).await.unwrap().created);
        let refused = store("2", Precondition::Absent).await.unwrap_err();
        assert_eq!(
            (refused.kind, refused.details),
            (Kind::PreconditionFailed, Some(Box::new(json!({ "version": 1 }))))
        );
        assert_eq!(store("2", matches(2)).await.unwrap_err().kind, Kind::PreconditionFailed);
        assert_eq!(store("2", matches(1)).await.unwrap().record.version, 2);
        let delete = |precondition| fixture.memory.delete(None, "k", precondition, &fixture.me);
        assert_eq!(delete(matches(1)).await.unwrap_err().kind, Kind::PreconditionFailed);
        assert_eq!(fixture.value("k").as_deref(), Some("2"));
        assert!(delete(matches(2)).await.unwrap());
    });
}

#[test]
fn of_concurrent_conditional_stores_one_succeeds() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.put("k", "0").await;
        let values: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
        let race = values.iter().map(|value| {
            let precondition = Precondition::Match(IfMatch::Version(1));
            fixture.memory.store(new("k", value), &fixture.me, precondition, None)
        });
        let successes = join_all(race).await.into_iter().filter(Result::is_ok).count();
        assert_eq!((successes, fixture.get("k").unwrap().version), (1, 2));
    });
}

#[test]
fn repeated_requests_are_stored_once_and_get_the_first_response() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let secret = NewEntry { ttl_seconds: Some(60), ..new("k", "a secret value") };
        let store =
            |digest| fixture.memory.store(secret.clone(), &fixture.me, Precondition::None, named("once", digest));
        fixture.store.hold_commits();
        let (first, second) = (store(1), store(1));
        let release = async {
            fixture.store.held(1).await;
            fixture.store.release();
        };
        let (first, second, ()) = futures::join!(first, second, release);
        let (first, second) = (first.unwrap(), second.unwrap());
        assert!(!first.replayed && second.replayed && second.created, "also while the first is under way");
        fixture.put("k", "another").await;
        let third = store(1).await.unwrap();
        assert!(third.replayed);
        assert_eq!((&third.record, &second.record), (&first.record, &first.record));
        assert_eq!(fixture.value("k").as_deref(), Some("another"));
        assert_eq!(store(2).await.unwrap_err().kind, Kind::IdempotencyConflict);
        let kept = fixture.rows(Rows::Idempotency);
        assert_eq!(kept.len(), 1);
        let kept = String::from_utf8_lossy(&kept[0].1).into_owned();
        assert!(!kept.contains("secret value"), "a stored response contains no value: {kept}");
        let after = fixture.restart().await;
        let fourth = after.memory.store(secret.clone(), &after.me, Precondition::None, named("once", 1)).await.unwrap();
        assert!(fourth.replayed && fourth.record == first.record);
    });
}

#[test]
fn entries_of_one_request_are_stored_independently() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let entries = || vec![new("a", "1"), new("", "bad"), new("b", "2"), new("a", "3")];
        let replies = fixture.memory.store_many(entries(), &fixture.me, named("many", 1)).await.unwrap();
        let outcomes: Vec<Option<(u32, bool)>> = replies
            .iter()
            .map(|reply| reply.as_ref().ok().map(|reply| (reply.record.version, reply.created)))
            .collect();
        assert_eq!(outcomes, [Some((1, true)), None, Some((1, true)), Some((2, false))]);
        let refused = replies[1].as_ref().unwrap_err();
        assert_eq!(refused.fields[0].loc, ["body", "entries", "1", "key"]);
        let replayed = fixture.memory.store_many(entries(), &fixture.me, named("many", 1)).await.unwrap();
        assert!(replayed[3].as_ref().unwrap().replayed && replayed[1].is_err());
        assert_eq!(fixture.get("a").unwrap().version, 2, "nothing was stored twice");
        let none = fixture.memory.store_many(vec![], &fixture.me, None).await.unwrap_err();
        let many = fixture.memory.store_many(vec![new("k", "v"); 101], &fixture.me, None).await.unwrap_err();
        assert_eq!((none.kind, many.kind), (Kind::Invalid, Kind::Invalid));
        let large = vec![new("k", &"x".repeat(MAX_VALUE)); 17];
        assert_eq!(fixture.memory.store_many(large, &fixture.me, None).await.unwrap_err().kind, Kind::TooLarge);
    });
}

#[test]
fn only_shared_namespaces_are_shared() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let team = |key: &str| NewEntry { namespace: Some("team".to_owned()), ..new(key, "shared") };
        let id = fixture.try_store(team("k")).await.unwrap().record.id.to_string();
        for name in ["k", id.as_str()] {
            assert!(fixture.memory.get(Some("team"), name, &fixture.other).unwrap().is_some());
        }
        assert!(fixture.memory.get(None, "k", &fixture.other).unwrap().is_none());
        let mine = NewEntry { namespace: Some("team2".to_owned()), ..new("k", "mine") };
        fixture.try_store(mine).await.unwrap();
        assert!(fixture.memory.get(Some("team2"), "k", &fixture.other).unwrap().is_none());
        let replaced = fixture.memory.store(team("k"), &fixture.other, Precondition::None, None).await.unwrap();
        assert_eq!(replaced.record.version, 2);
        let settings = MemorySettings::default();
        let alone = Fixture::on(&tree, Arc::clone(&fixture.store), fixture.clock.clone(), settings).await;
        assert!(
            alone.memory.get(None, &id, &alone.me).unwrap().is_none(),
            "a namespace that is no longer shared cannot be read"
        );
    });
}

#[test]
fn stores_beyond_the_maximum_number_of_entries_are_rejected() {
    test_world::run(|tree| async move {
        let fixture = Fixture::with(&tree, MemorySettings { max_entries: 3, ..MemorySettings::default() }).await;
        let keys = ["a", "b", "c", "d"];
        let all = join_all(keys.iter().map(|key| fixture.try_store(new(key, "v")))).await;
        let refused: Vec<Kind> = all.into_iter().filter_map(Result::err).map(|refused| refused.kind).collect();
        assert_eq!(refused, [Kind::QuotaExceeded], "also where they race");
        fixture.put("a", "w").await;
        assert!(fixture.memory.store(new("d", "v"), &fixture.other, Precondition::None, None).await.is_ok());
        let stats = fixture.memory.stats(&fixture.me).await.unwrap();
        assert_eq!((stats.usage.entries, stats.usage.versions, stats.namespaces.len()), (3, 1, 1));
        let fixture = fixture.restart().await;
        assert_eq!(fixture.try_store(new("e", "v")).await.unwrap_err().kind, Kind::QuotaExceeded);
        fixture.memory.delete(None, "a", Precondition::None, &fixture.me).await.unwrap();
        fixture.put("e", "v").await;
    });
}

#[test]
fn vectors_are_stored_only_while_their_text_is_unchanged() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let first = fixture.put("k", "1").await;
        let vector = |of: &EntryRecord| NewVector {
            place: of.place.clone(),
            id: of.id,
            version: of.version,
            model: Arc::from("m"),
            vector: Arc::from([0.6, 0.8]),
        };
        assert_eq!(fixture.memory.put_vectors(vec![vector(&first)]).await.unwrap(), 1);
        assert_eq!(fixture.memory.index_state(&first).unwrap(), IndexState::Indexed);
        let second = fixture.put("k", "2").await;
        assert_eq!(fixture.memory.index_state(&second).unwrap(), IndexState::Text);
        assert_eq!(fixture.memory.put_vectors(vec![vector(&first), vector(&second)]).await.unwrap(), 1);
        let stored = vector_of(&fixture, second.id);
        assert_eq!((stored.version, stored.vector), (2, vec![0.6, 0.8]));
        let last = fixture.index.kinds().pop().unwrap();
        assert!(matches!(last, AppliedKind::Vector { version: 2, .. }), "{last:?}");
    });
}

fn vector_of(fixture: &Fixture, id: EntryId) -> VectorRecord {
    let store: StoreHandle = Arc::<MemStore>::clone(&fixture.store);
    vector(&store, id).unwrap().unwrap()
}
