use std::time::Duration;

use super::script::candidate;
use super::*;

#[test]
fn what_is_over_is_not_shown_from_that_millisecond_on() {
    test_world::run(|tree| async move {
        // No tick sweeps here: only the clock advances.
        let bench = Bench::on(&tree, Arc::default(), Clock::manual(test_world::START), MemorySettings::default()).await;
        let entry = bench.put_for("k", "v", 1).await;
        let search = || async {
            bench.index.finds(vec![candidate(&entry)]);
            let ask =
                SearchAsk { query: Query { text: "v".into(), limit: 50, ..Query::default() }, ..SearchAsk::default() };
            bench.memory.search(ask, &bench.me).await.unwrap().hits.len()
        };
        let list = || async { bench.memory.list(ListAsk::default(), &bench.me).await.unwrap().items.len() };
        bench.clock.advance(Duration::from_millis(999));
        assert_eq!((bench.value("k").as_deref(), search().await, list().await), (Some("v"), 1, 1));
        bench.clock.advance(Duration::from_millis(1));
        assert_eq!(entries_in(&bench.store).len(), 1, "it is there still");
        assert_eq!((bench.get("k"), bench.get(&entry.id.to_string())), (None, None));
        assert_eq!((search().await, list().await), (0, 0));
        assert!(bench.memory.history(None, "k", &bench.me).unwrap().is_empty());
        assert!(!bench.memory.delete(None, "k", Precondition::None, &bench.me).await.unwrap());
    });
}

#[test]
fn an_entry_in_place_of_one_that_is_over_is_new() {
    test_world::run(|tree| async move {
        let bench = Bench::on(&tree, Arc::default(), Clock::manual(test_world::START), MemorySettings::default()).await;
        bench.put("k", "0").await;
        let before = bench.put_for("k", "1", 5).await;
        bench.clock.advance(Duration::from_secs(5));
        let conditional = bench.memory.store(new("k", "2"), &bench.me, Precondition::Absent, None).await.unwrap();
        assert!(conditional.created && conditional.record.version == 1 && conditional.record.id != before.id);
        assert_eq!(bench.memory.history(None, "k", &bench.me).unwrap().len(), 1);
        for tree in [Rows::MemoryHistory, Rows::MemoryExpiry] {
            assert!(bench.rows(tree).is_empty(), "{tree:?}: the old one's traces went with it");
        }
        let (space, id) = (before.place.space.clone(), before.id);
        let last: Vec<AppliedKind> = bench.index.kinds().split_off(2);
        assert_eq!(last, [AppliedKind::Deleted { space, id }, AppliedKind::Put(conditional.record)]);
    });
}

#[test]
fn a_tick_sweeps_what_is_over() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.put_for("sooner", "v", 10).await;
        bench.put_for("later", "v", 20).await;
        bench.put("for ever", "v").await;
        test_world::after(Duration::from_millis(11_100)).await;
        let keys = || -> Vec<String> { entries_in(&bench.store).iter().map(|entry| entry.key().to_owned()).collect() };
        assert_eq!(keys(), ["for ever", "later"]);
        test_world::after(Duration::from_secs(10)).await;
        assert_eq!(keys(), ["for ever"]);
        assert!(bench.rows(Rows::MemoryExpiry).is_empty());
        let deleted = bench.index.kinds().iter().filter(|kind| matches!(kind, AppliedKind::Deleted { .. })).count();
        assert_eq!(deleted, 2);
        let stats = bench.memory.stats(&bench.me).await.unwrap();
        assert_eq!(stats.tally.entries, 1);
    });
}

#[test]
fn many_that_are_over_are_swept_in_slices() {
    test_world::run(|tree| async move {
        let bench = Bench::on(&tree, Arc::default(), Clock::manual(test_world::START), MemorySettings::default()).await;
        for chunk in 0..10 {
            let entry = |n| NewEntry { ttl_seconds: Some(1), ..new(&format!("k{chunk}/{n}"), "v") };
            let all = bench.memory.store_many((0..100).map(entry).collect(), &bench.me, None).await.unwrap();
            assert!(all.iter().all(Result::is_ok));
        }
        let stays = bench.put_for("stays", "v", 2).await;
        bench.clock.advance(Duration::from_secs(1));
        let before = bench.store.stats().commits;
        assert_eq!(bench.memory.sweep().await.unwrap(), 1_000);
        assert!(bench.store.stats().commits - before >= 4, "no slice is large");
        assert_eq!(entries_in(&bench.store).iter().map(|entry| entry.id).collect::<Vec<_>>(), [stays.id]);
        assert_eq!(bench.memory.sweep().await.unwrap(), 0);
    });
}

#[test]
fn a_replaced_version_that_is_over_goes_alone() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.put_for("k", "1", 5).await;
        bench.put("k", "2").await;
        let versions = || bench.memory.history(None, "k", &bench.me).unwrap().len();
        assert_eq!(versions(), 2);
        test_world::after(Duration::from_secs(7)).await;
        assert_eq!((versions(), bench.rows(Rows::MemoryHistory).len()), (1, 0));
        let stats = bench.memory.stats(&bench.me).await.unwrap();
        assert_eq!((stats.tally.entries, stats.tally.versions), (1, 0));
    });
}
