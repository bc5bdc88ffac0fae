//! Shards that die, miss changes, or are not notified.

use std::time::Duration;

use super::fixture::*;
use crate::port::{ApplyOutcome, IndexHealth, IndexSink, Searcher};
use muster_core::{Kind, test_world};

#[test]
fn a_shard_that_panics_restarts_with_all_entries() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        let owned = space("key_1", "default");
        fixture.store_and_index(&indexes, &owned, "a", "red fox").await;
        for shard in ["memory/index-0", "memory/index-1"] {
            assert!(tree.inject_panic(shard));
        }
        while indexes.health() != IndexHealth::Down {
            tokio::task::yield_now().await;
        }
        // Durable, but not announced to any running shard.
        let applied = fixture.put(&owned, "b", "grey fox").await;
        assert_eq!(announced(&indexes, applied).await, ApplyOutcome::Partial);
        let refused = indexes.search(text_search("key_1", "fox")).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        ready(&indexes).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1), (2, 1)].into());
    });
}

/// The shard read the store before the change, and was up after its announcement.
#[test]
fn changes_missed_between_two_incarnations_are_read_before_the_next_search() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        let owned = space("key_1", "default");
        fixture.store_and_index(&indexes, &owned, "a", "red fox").await;
        let second = fixture.put(&owned, "b", "grey fox").await;
        let third = fixture.put(&owned, "c", "white fox").await;
        // Effect of a full mailbox.
        for shard in &indexes.shards.published().shards {
            shard.missed.fetch_max(second.seq, std::sync::atomic::Ordering::AcqRel);
        }
        let all = found(&indexes, "key_1", "fox").await;
        assert_eq!(all, [(1, 1), (2, 1), (3, 1)].into());
        assert_eq!(indexes.apply(vec![third].into()).await, ApplyOutcome::Complete, "it has that one already");
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 3);
    });
}

#[test]
fn changes_that_a_writer_did_not_announce_are_found_within_seconds() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        fixture.put(&space("key_1", "default"), "a", "red fox").await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [].into());
        test_world::after(Duration::from_secs(5)).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1)].into());
    });
}

#[test]
fn repeated_and_late_announcements_change_nothing() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        let owned = space("key_1", "default");
        let first = fixture.put(&owned, "a", "red fox").await;
        let second = fixture.put(&owned, "a", "grey wolf").await;
        announced(&indexes, first.clone()).await;
        announced(&indexes, second.clone()).await;
        for again in [first, second] {
            assert_eq!(announced(&indexes, again).await, ApplyOutcome::Complete);
            assert_eq!(found(&indexes, "key_1", "red grey").await, [(1, 2)].into());
        }
    });
}
