use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use serde_json::json;

use super::script::Takes;
use super::*;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;

fn named(key: &str, digest: u8) -> Option<Idempotency> {
    Some(Idempotency { principal: "key_me".to_owned(), key: key.to_owned(), digest: [digest; 32] })
}

#[test]
fn an_entry_is_read_by_key_and_by_identifier_and_by_its_owner_only() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let reply = bench
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
        assert_eq!(bench.get("a/key ü").as_ref(), Some(record.as_ref()));
        let id = record.id.to_string();
        assert_eq!(bench.get(&id).as_ref(), Some(record.as_ref()));
        assert_eq!(bench.memory.get(Some("elsewhere"), &id, &bench.me).unwrap(), None);
        for name in ["a/key ü", id.as_str()] {
            assert_eq!(bench.memory.get(None, name, &bench.other).unwrap(), None, "it is not another's");
            assert!(bench.memory.history(None, name, &bench.other).unwrap().is_empty());
            assert!(!bench.memory.delete(None, name, Precondition::None, &bench.other).await.unwrap());
        }
        assert_eq!(bench.index.kinds(), [AppliedKind::Put(record)]);
    });
}

#[test]
fn an_answer_comes_once_it_is_durable_and_the_index_has_it() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.store.hold_commits();
        let mut store = Box::pin(bench.try_store(new("k", "v")));
        assert!(store.as_mut().now_or_never().is_none());
        bench.store.held(1).await;
        assert_eq!(bench.get("k"), None, "what is not durable is not shown");
        assert!(bench.index.received().is_empty() && store.as_mut().now_or_never().is_none());
        bench.store.release();
        assert_eq!(store.await.unwrap().index_state, IndexState::Text);
        bench.index.takes(Takes::Partly);
        assert_eq!(bench.try_store(new("k", "w")).await.unwrap().index_state, IndexState::Pending);
        bench.index.takes(Takes::Never);
        let asked = bench.clock.now();
        assert_eq!(bench.try_store(new("k", "x")).await.unwrap().index_state, IndexState::Pending);
        assert_eq!(bench.clock.now().since(asked), Duration::from_secs(2), "an index that hangs keeps nobody longer");
        assert_eq!(bench.value("k").as_deref(), Some("x"));
    });
}

#[test]
fn what_waits_goes_in_order_two_batches_at_a_time() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.store.hold_commits();
        let keys: Vec<String> = (0..50).map(|n| format!("k{}", n % 7)).collect();
        let stores = join_all(keys.iter().map(|key| bench.try_store(new(key, "v"))));
        let release = async {
            bench.store.held(2).await;
            assert_eq!(bench.store.stats().queue_depth, 2, "the rest waits for these");
            bench.store.release();
        };
        let (replies, ()) = futures::join!(stores, release);
        let seqs: Vec<u64> = replies.iter().map(|reply| reply.as_ref().unwrap().record.seq).collect();
        assert_eq!(seqs, (1..=50).collect::<Vec<_>>());
        let received: Vec<u64> = bench.index.received().iter().map(|applied| applied.seq).collect();
        assert_eq!(received, seqs, "and the index hears it in order");
        assert_eq!(bench.get("k0").unwrap().version, 8, "each decision saw the one before it");
    });
}

#[test]
fn a_known_key_is_replaced_and_its_history_kept() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let first = bench.put("k", "1").await;
        for value in 2..=40 {
            let reply = bench.try_store(new("k", &value.to_string())).await.unwrap();
            assert!(!reply.created);
            assert_eq!((reply.record.id, reply.record.version), (first.id, value));
        }
        let versions: Vec<u32> =
            bench.memory.history(None, "k", &bench.me).unwrap().iter().map(|entry| entry.version).collect();
        assert_eq!(versions, (8..=40).rev().collect::<Vec<_>>(), "the present one and 32 before it");
        assert_eq!(bench.rows(Rows::MemoryHistory).len(), 32);
        assert!(bench.memory.delete(None, "k", Precondition::None, &bench.me).await.unwrap());
        assert_eq!(bench.get("k"), None);
        assert!(bench.rows(Rows::MemoryHistory).is_empty());
        assert!(!bench.memory.delete(None, "k", Precondition::None, &bench.me).await.unwrap());
    });
}

#[test]
fn conditions_hold_or_nothing_changes() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let store = |value: &str, precondition| bench.memory.store(new("k", value), &bench.me, precondition, None);
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
        let delete = |precondition| bench.memory.delete(None, "k", precondition, &bench.me);
        assert_eq!(delete(matches(1)).await.unwrap_err().kind, Kind::PreconditionFailed);
        assert_eq!(bench.value("k").as_deref(), Some("2"));
        assert!(delete(matches(2)).await.unwrap());
    });
}

#[test]
fn of_many_that_race_for_one_version_one_wins() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.put("k", "0").await;
        let values: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
        let race = values.iter().map(|value| {
            let precondition = Precondition::Match(IfMatch::Version(1));
            bench.memory.store(new("k", value), &bench.me, precondition, None)
        });
        let won = join_all(race).await.into_iter().filter(Result::is_ok).count();
        assert_eq!((won, bench.get("k").unwrap().version), (1, 2));
    });
}

#[test]
fn the_same_request_is_answered_the_same_and_stored_once() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let secret = NewEntry { ttl_seconds: Some(60), ..new("k", "a secret value") };
        let store = |digest| bench.memory.store(secret.clone(), &bench.me, Precondition::None, named("once", digest));
        bench.store.hold_commits();
        let (first, second) = (store(1), store(1));
        let release = async {
            bench.store.held(1).await;
            bench.store.release();
        };
        let (first, second, ()) = futures::join!(first, second, release);
        let (first, second) = (first.unwrap(), second.unwrap());
        assert!(!first.replayed && second.replayed && second.created, "also while the first is under way");
        bench.put("k", "another").await;
        let third = store(1).await.unwrap();
        assert!(third.replayed);
        assert_eq!((&third.record, &second.record), (&first.record, &first.record));
        assert_eq!(bench.value("k").as_deref(), Some("another"));
        assert_eq!(store(2).await.unwrap_err().kind, Kind::IdempotencyConflict);
        let kept = bench.rows(Rows::Idempotency);
        assert_eq!(kept.len(), 1);
        let kept = String::from_utf8_lossy(&kept[0].1).into_owned();
        assert!(!kept.contains("secret value"), "an answer holds no value: {kept}");
        let after = bench.again().await;
        let fourth = after.memory.store(secret.clone(), &after.me, Precondition::None, named("once", 1)).await.unwrap();
        assert!(fourth.replayed && fourth.record == first.record);
    });
}

#[test]
fn entries_of_one_request_stand_each_for_itself() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let entries = || vec![new("a", "1"), new("", "bad"), new("b", "2"), new("a", "3")];
        let replies = bench.memory.store_many(entries(), &bench.me, named("many", 1)).await.unwrap();
        let said: Vec<Option<(u32, bool)>> = replies
            .iter()
            .map(|reply| reply.as_ref().ok().map(|reply| (reply.record.version, reply.created)))
            .collect();
        assert_eq!(said, [Some((1, true)), None, Some((1, true)), Some((2, false))]);
        let refused = replies[1].as_ref().unwrap_err();
        assert_eq!(refused.fields[0].loc, ["body", "entries", "1", "key"]);
        let again = bench.memory.store_many(entries(), &bench.me, named("many", 1)).await.unwrap();
        assert!(again[3].as_ref().unwrap().replayed && again[1].is_err());
        assert_eq!(bench.get("a").unwrap().version, 2, "nothing was stored twice");
        let none = bench.memory.store_many(vec![], &bench.me, None).await.unwrap_err();
        let many = bench.memory.store_many(vec![new("k", "v"); 101], &bench.me, None).await.unwrap_err();
        assert_eq!((none.kind, many.kind), (Kind::Invalid, Kind::Invalid));
        let large = vec![new("k", &"x".repeat(MAX_VALUE)); 17];
        assert_eq!(bench.memory.store_many(large, &bench.me, None).await.unwrap_err().kind, Kind::TooLarge);
    });
}

#[test]
fn a_shared_namespace_is_everybodys_and_no_other() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let team = |key: &str| NewEntry { namespace: Some("team".to_owned()), ..new(key, "shared") };
        let id = bench.try_store(team("k")).await.unwrap().record.id.to_string();
        for name in ["k", id.as_str()] {
            assert!(bench.memory.get(Some("team"), name, &bench.other).unwrap().is_some());
        }
        assert!(bench.memory.get(None, "k", &bench.other).unwrap().is_none());
        let mine = NewEntry { namespace: Some("team2".to_owned()), ..new("k", "mine") };
        bench.try_store(mine).await.unwrap();
        assert!(bench.memory.get(Some("team2"), "k", &bench.other).unwrap().is_none());
        let replaced = bench.memory.store(team("k"), &bench.other, Precondition::None, None).await.unwrap();
        assert_eq!(replaced.record.version, 2);
        let settings = MemorySettings::default();
        let alone = Bench::on(&tree, Arc::clone(&bench.store), bench.clock.clone(), settings).await;
        assert!(alone.memory.get(None, &id, &alone.me).unwrap().is_none(), "a space that is shared no more is shut");
    });
}

#[test]
fn an_owner_has_so_many_entries_and_no_more() {
    test_world::run(|tree| async move {
        let bench = Bench::with(&tree, MemorySettings { max_entries: 3, ..MemorySettings::default() }).await;
        let keys = ["a", "b", "c", "d"];
        let all = join_all(keys.iter().map(|key| bench.try_store(new(key, "v")))).await;
        let refused: Vec<Kind> = all.into_iter().filter_map(Result::err).map(|refused| refused.kind).collect();
        assert_eq!(refused, [Kind::QuotaExceeded], "also where they race");
        bench.put("a", "w").await;
        assert!(bench.memory.store(new("d", "v"), &bench.other, Precondition::None, None).await.is_ok());
        let stats = bench.memory.stats(&bench.me).await.unwrap();
        assert_eq!((stats.tally.entries, stats.tally.versions, stats.namespaces.len()), (3, 1, 1));
        let bench = bench.again().await;
        assert_eq!(bench.try_store(new("e", "v")).await.unwrap_err().kind, Kind::QuotaExceeded);
        bench.memory.delete(None, "a", Precondition::None, &bench.me).await.unwrap();
        bench.put("e", "v").await;
    });
}

#[test]
fn a_vector_is_stored_while_its_text_stands() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let first = bench.put("k", "1").await;
        let vector = |of: &EntryRecord| NewVector {
            place: of.place.clone(),
            id: of.id,
            version: of.version,
            model: Arc::from("m"),
            vector: Arc::from([0.6, 0.8]),
        };
        assert_eq!(bench.memory.put_vectors(vec![vector(&first)]).await.unwrap(), 1);
        assert_eq!(bench.memory.index_state(&first).unwrap(), IndexState::Indexed);
        let second = bench.put("k", "2").await;
        assert_eq!(bench.memory.index_state(&second).unwrap(), IndexState::Text);
        assert_eq!(bench.memory.put_vectors(vec![vector(&first), vector(&second)]).await.unwrap(), 1);
        let stored = vector_of(&bench, second.id);
        assert_eq!((stored.version, stored.vector), (2, vec![0.6, 0.8]));
        let last = bench.index.kinds().pop().unwrap();
        assert!(matches!(last, AppliedKind::Vector { version: 2, .. }), "{last:?}");
    });
}

fn vector_of(bench: &Bench, id: EntryId) -> VectorRecord {
    let store: StoreHandle = Arc::<MemStore>::clone(&bench.store);
    vector(&store, id).unwrap().unwrap()
}
