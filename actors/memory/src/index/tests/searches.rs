//! Indexed entries are found, by their owner only, within limits.

use std::time::Duration;

use futures::future::join_all;

use super::fixture::*;
use crate::embed::tests::model::WordModel;
use crate::port::{ApplyOutcome, IndexHealth, IndexSink, Searcher};
use crate::record::Owner;
use muster_core::{Kind, Millis, test_world};

#[test]
fn changes_are_found_by_the_next_search() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        let owned = space("key_1", "default");
        fixture.store_and_index(&indexes, &owned, "a", "red fox").await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1)].into());
        fixture.store_and_index(&indexes, &owned, "a", "grey wolf").await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [].into(), "replaced");
        assert_eq!(found(&indexes, "key_1", "wolf").await, [(1, 2)].into());
        let gone = fixture.delete(&owned, "a").await.unwrap();
        assert_eq!(announced(&indexes, gone).await, ApplyOutcome::Complete);
        assert_eq!(found(&indexes, "key_1", "wolf").await, [].into(), "deleted");
    });
}

#[test]
fn owners_never_find_entries_of_others() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        // More owners than slots: many share one.
        for number in 0..150 {
            fixture.store_and_index(&indexes, &space(&format!("key_{number}"), "default"), "k", "the same words").await;
        }
        for number in 0..150 {
            assert_eq!(found(&indexes, &format!("key_{number}"), "words").await, [(number + 1, 1)].into());
        }
        assert_eq!(indexes.stats().await.entries, 150);
    });
}

#[test]
fn searches_cover_one_namespace_or_all_of_the_owner() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        for (namespace, key) in [("a", "k1"), ("b", "k2"), ("b", "k3")] {
            fixture.store_and_index(&indexes, &space("key_1", namespace), key, "words").await;
        }
        assert_eq!(found(&indexes, "key_1", "words").await.len(), 3);
        let mut of_b = text_search("key_1", "words");
        of_b.namespace = Some("b".into());
        let found = indexes.search(of_b).await.unwrap();
        assert_eq!((found.total, found.index), (2, IndexHealth::Ready));
        assert!(found.hits.iter().all(|hit| &*hit.namespace == "b"));
        let stats = indexes.owner_stats(&Owner::new("key_1")).await.unwrap();
        assert_eq!((stats.entries, stats.vectors, stats.pending), (3, 0, 3));
        assert_eq!(indexes.owner_stats(&Owner::new("key_2")).await.unwrap().entries, 0);
    });
}

#[test]
fn entries_are_not_found_from_their_expiry_on() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        let end = Millis(test_world::START.0 + 60_000);
        let applied = fixture.put_until(&space("key_1", "default"), "a", "red fox", Some(end)).await;
        announced(&indexes, applied).await;
        let at = |now: u64| {
            let indexes = indexes.clone();
            async move {
                let text_search = crate::port::IndexSearch { now: Millis(now), ..text_search("key_1", "fox") };
                indexes.search(text_search).await.unwrap().total
            }
        };
        assert_eq!((at(end.0 - 1).await, at(end.0).await), (1, 0));
    });
}

#[test]
fn searches_beyond_the_limit_are_rejected_at_once() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let options = crate::IndexOptions { max_waiting: 3, ..fixture.options(&WordModel::absent()) };
        let indexes = fixture.start_with(&tree, options).await;
        let answers = join_all((0..10).map(|_| indexes.search(text_search("key_1", "fox")))).await;
        let refused: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
        assert_eq!(refused.len(), 7);
        assert!(refused.iter().all(|error| error.kind == Kind::Unavailable && error.retry_after.is_some()));
        assert!(indexes.search(text_search("key_1", "fox")).await.is_ok(), "places are released");
    });
}

#[test]
fn searches_past_their_deadline_are_not_run() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let options = crate::IndexOptions { search_timeout: Duration::ZERO, ..fixture.options(&WordModel::absent()) };
        let indexes = fixture.start_with(&tree, options).await;
        let error = indexes.search(text_search("key_1", "fox")).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
        assert_eq!(indexes.stats().await.searches, 0);
    });
}

#[test]
fn changes_fit_the_mailbox_beside_waiting_searches() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let options = crate::IndexOptions { max_waiting: 1, ..fixture.options(&WordModel::absent()) };
        let indexes = fixture.start_with(&tree, options).await;
        let applied = fixture.put(&space("key_1", "default"), "a", "red fox").await;
        // Polled in order: the searches are in the mailbox before the change.
        let searches = join_all((0..50).map(|_| indexes.search(text_search("key_1", "fox"))));
        let (_, outcome) = tokio::join!(searches, indexes.apply(vec![applied].into()));
        assert_eq!(outcome, ApplyOutcome::Complete);
    });
}
