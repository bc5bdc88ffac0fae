use std::time::Duration;

use super::scripted_index::candidate;
use super::*;

#[test]
fn entries_are_not_returned_from_their_expiry_on() {
    test_world::run(|tree| async move {
        // No tick sweeps here: only the clock advances.
        let fixture =
            Fixture::on(&tree, Arc::default(), Clock::manual(test_world::START), MemorySettings::default()).await;
        let entry = fixture.put_for("k", "v", 1).await;
        let search = || async {
            fixture.index.respond_with(vec![candidate(&entry)]);
            let params = SearchParams {
                query: Query { text: "v".into(), limit: 50, ..Query::default() },
                ..SearchParams::default()
            };
            fixture.memory.search(params, &fixture.me).await.unwrap().hits.len()
        };
        let list = || async { fixture.memory.list(ListParams::default(), &fixture.me).await.unwrap().items.len() };
        fixture.clock.advance(Duration::from_millis(999));
        assert_eq!((fixture.value("k").as_deref(), search().await, list().await), (Some("v"), 1, 1));
        fixture.clock.advance(Duration::from_millis(1));
        assert_eq!(entries_in(&fixture.store).len(), 1, "it is still stored");
        assert_eq!((fixture.get("k"), fixture.get(&entry.id.to_string())), (None, None));
        assert_eq!((search().await, list().await), (0, 0));
        assert!(fixture.memory.history(None, "k", &fixture.me).unwrap().is_empty());
        assert!(!fixture.memory.delete(None, "k", Precondition::None, &fixture.me).await.unwrap());
    });
}

#[test]
fn an_entry_in_place_of_an_expired_one_is_new() {
    test_world::run(|tree| async move {
        let fixture =
            Fixture::on(&tree, Arc::default(), Clock::manual(test_world::START), MemorySettings::default()).await;
        fixture.put("k", "0").await;
        let before = fixture.put_for("k", "1", 5).await;
        fixture.clock.advance(Duration::from_secs(5));
        let conditional = fixture.memory.store(new("k", "2"), &fixture.me, Precondition::Absent, None).await.unwrap();
        assert!(conditional.created && conditional.record.version == 1 && conditional.record.id != before.id);
        assert_eq!(fixture.memory.history(None, "k", &fixture.me).unwrap().len(), 1);
        for tree in [Rows::MemoryHistory, Rows::MemoryExpiry] {
            assert!(fixture.rows(tree).is_empty(), "{tree:?}: the data of the old entry was deleted with it");
        }
        let (space, id) = (before.place.space.clone(), before.id);
        let last: Vec<AppliedKind> = fixture.index.kinds().split_off(2);
        assert_eq!(last, [AppliedKind::Deleted { space, id }, AppliedKind::Put(conditional.record)]);
    });
}

#[test]
fn a_tick_sweeps_expired_entries() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.put_for("sooner", "v", 10).await;
        fixture.put_for("later", "v", 20).await;
        fixture.put("for ever", "v").await;
        test_world::after(Duration::from_millis(11_100)).await;
        let keys =
            || -> Vec<String> { entries_in(&fixture.store).iter().map(|entry| entry.key().to_owned()).collect() };
        assert_eq!(keys(), ["for ever", "later"]);
        test_world::after(Duration::from_secs(10)).await;
        assert_eq!(keys(), ["for ever"]);
        assert!(fixture.rows(Rows::MemoryExpiry).is_empty());
        let deleted = fixture.index.kinds().iter().filter(|kind| matches!(kind, AppliedKind::Deleted { .. })).count();
        assert_eq!(deleted, 2);
        let stats = fixture.memory.stats(&fixture.me).await.unwrap();
        assert_eq!(stats.usage.entries, 1);
    });
}

#[test]
fn many_expired_entries_are_swept_in_slices() {
    test_world::run(|tree| async move {
        let fixture =
            Fixture::on(&tree, Arc::default(), Clock::manual(test_world::START), MemorySettings::default()).await;
        for chunk in 0..10 {
            let entry = |n| NewEntry { ttl_seconds: Some(1), ..new(&format!("k{chunk}/{n}"), "v") };
            let all = fixture.memory.store_many((0..100).map(entry).collect(), &fixture.me, None).await.unwrap();
            assert!(all.iter().all(Result::is_ok));
        }
        let stays = fixture.put_for("stays", "v", 2).await;
        fixture.clock.advance(Duration::from_secs(1));
        let before = fixture.store.stats().commits;
        assert_eq!(fixture.memory.sweep().await.unwrap(), 1_000);
        assert!(fixture.store.stats().commits - before >= 4, "no slice is large");
        assert_eq!(entries_in(&fixture.store).iter().map(|entry| entry.id).collect::<Vec<_>>(), [stays.id]);
        assert_eq!(fixture.memory.sweep().await.unwrap(), 0);
    });
}

#[test]
fn an_expired_replaced_version_is_removed_alone() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.put_for("k", "1", 5).await;
        fixture.put("k", "2").await;
        let versions = || fixture.memory.history(None, "k", &fixture.me).unwrap().len();
        assert_eq!(versions(), 2);
        test_world::after(Duration::from_secs(7)).await;
        assert_eq!((versions(), fixture.rows(Rows::MemoryHistory).len()), (1, 0));
        let stats = fixture.memory.stats(&fixture.me).await.unwrap();
        assert_eq!((stats.usage.entries, stats.usage.versions), (1, 0));
    });
}
