//! Shards that die, miss changes, or are not notified.

use std::time::Duration;

use super::site::*;
use crate::port::{IndexHealth, IndexSink, Searcher, Taken};
use muster_core::{Kind, test_world};

#[test]
fn a_shard_that_panics_comes_back_with_everything() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        let home = space("key_1", "default");
        site.store_and_index(&indexes, &home, "a", "red fox").await;
        for shard in ["memory/index-0", "memory/index-1"] {
            assert!(tree.inject_panic(shard));
        }
        while indexes.health() != IndexHealth::Down {
            tokio::task::yield_now().await;
        }
        // Durable, but not announced to any running shard.
        let applied = site.put(&home, "b", "grey fox").await;
        assert_eq!(announced(&indexes, applied).await, Taken::Partly);
        let refused = indexes.search(ask("key_1", "fox")).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        ready(&indexes).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1), (2, 1)].into());
    });
}

/// The shard read the store before the change, and was up after its announcement.
#[test]
fn a_change_that_fell_between_two_incarnations_is_read_before_the_next_search() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        let home = space("key_1", "default");
        site.store_and_index(&indexes, &home, "a", "red fox").await;
        let second = site.put(&home, "b", "grey fox").await;
        let third = site.put(&home, "c", "white fox").await;
        // Effect of a full mailbox.
        for shown in &indexes.shards.published().shards {
            shown.missed.fetch_max(second.seq, std::sync::atomic::Ordering::AcqRel);
        }
        let all = found(&indexes, "key_1", "fox").await;
        assert_eq!(all, [(1, 1), (2, 1), (3, 1)].into());
        assert_eq!(indexes.apply(vec![third].into()).await, Taken::All, "it has that one already");
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 3);
    });
}

#[test]
fn what_a_writer_left_untold_is_found_within_seconds() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        site.put(&space("key_1", "default"), "a", "red fox").await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [].into());
        test_world::after(Duration::from_secs(5)).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1)].into());
    });
}

#[test]
fn a_change_that_is_told_twice_or_late_changes_nothing() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        let home = space("key_1", "default");
        let first = site.put(&home, "a", "red fox").await;
        let second = site.put(&home, "a", "grey wolf").await;
        announced(&indexes, first.clone()).await;
        announced(&indexes, second.clone()).await;
        for again in [first, second] {
            assert_eq!(announced(&indexes, again).await, Taken::All);
            assert_eq!(found(&indexes, "key_1", "red grey").await, [(1, 2)].into());
        }
    });
}
