//! Indexed entries are found, by their owner only, within limits.

use std::time::Duration;

use futures::future::join_all;

use super::site::*;
use crate::embed::tests::model::Words;
use crate::port::{IndexHealth, IndexSink, Searcher, Taken};
use crate::record::Owner;
use muster_core::{Kind, Millis, test_world};

#[test]
fn a_change_is_found_by_the_next_search() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        let home = space("key_1", "default");
        site.store_and_index(&indexes, &home, "a", "red fox").await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1)].into());
        site.store_and_index(&indexes, &home, "a", "grey wolf").await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [].into(), "replaced");
        assert_eq!(found(&indexes, "key_1", "wolf").await, [(1, 2)].into());
        let gone = site.delete(&home, "a").await.unwrap();
        assert_eq!(announced(&indexes, gone).await, Taken::All);
        assert_eq!(found(&indexes, "key_1", "wolf").await, [].into(), "deleted");
    });
}

#[test]
fn one_owner_never_finds_what_is_anothers() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        // More owners than slots: many share one.
        for number in 0..150 {
            site.store_and_index(&indexes, &space(&format!("key_{number}"), "default"), "k", "the same words").await;
        }
        for number in 0..150 {
            assert_eq!(found(&indexes, &format!("key_{number}"), "words").await, [(number + 1, 1)].into());
        }
        assert_eq!(indexes.stats().await.entries, 150);
    });
}

#[test]
fn a_search_is_of_one_namespace_or_all_of_an_owners() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        for (namespace, key) in [("a", "k1"), ("b", "k2"), ("b", "k3")] {
            site.store_and_index(&indexes, &space("key_1", namespace), key, "words").await;
        }
        assert_eq!(found(&indexes, "key_1", "words").await.len(), 3);
        let mut of_b = ask("key_1", "words");
        of_b.namespace = Some("b".into());
        let found = indexes.search(of_b).await.unwrap();
        assert_eq!((found.total, found.index), (2, IndexHealth::Ready));
        assert!(found.hits.iter().all(|hit| &*hit.namespace == "b"));
        let figures = indexes.figures(&Owner::new("key_1")).await.unwrap();
        assert_eq!((figures.entries, figures.vectors, figures.pending), (3, 0, 3));
        assert_eq!(indexes.figures(&Owner::new("key_2")).await.unwrap().entries, 0);
    });
}

#[test]
fn what_is_over_is_not_found_from_that_millisecond_on() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        let end = Millis(test_world::START.0 + 60_000);
        let applied = site.put_until(&space("key_1", "default"), "a", "red fox", Some(end)).await;
        announced(&indexes, applied).await;
        let at = |now: u64| {
            let indexes = indexes.clone();
            async move {
                let ask = crate::port::IndexAsk { now: Millis(now), ..ask("key_1", "fox") };
                indexes.search(ask).await.unwrap().total
            }
        };
        assert_eq!((at(end.0 - 1).await, at(end.0).await), (1, 0));
    });
}

#[test]
fn more_searches_than_may_wait_are_refused_at_once() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let options = crate::IndexOptions { waiting: 3, ..site.options(&Words::absent()) };
        let indexes = site.start_with(&tree, options).await;
        let answers = join_all((0..10).map(|_| indexes.search(ask("key_1", "fox")))).await;
        let refused: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
        assert_eq!(refused.len(), 7);
        assert!(refused.iter().all(|error| error.kind == Kind::Unavailable && error.retry_after.is_some()));
        assert!(indexes.search(ask("key_1", "fox")).await.is_ok(), "places are given back");
    });
}

#[test]
fn a_search_that_nobody_waits_for_is_not_run() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let options = crate::IndexOptions { patience: Duration::ZERO, ..site.options(&Words::absent()) };
        let indexes = site.start_with(&tree, options).await;
        let error = indexes.search(ask("key_1", "fox")).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
        assert_eq!(indexes.stats().await.searches, 0);
    });
}

#[test]
fn changes_find_a_place_beside_searches_that_wait() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let options = crate::IndexOptions { waiting: 1, ..site.options(&Words::absent()) };
        let indexes = site.start_with(&tree, options).await;
        let applied = site.put(&space("key_1", "default"), "a", "red fox").await;
        // Polled in order: the searches are in the mailbox before the change.
        let searches = join_all((0..50).map(|_| indexes.search(ask("key_1", "fox"))));
        let (_, taken) = tokio::join!(searches, indexes.apply(vec![applied].into()));
        assert_eq!(taken, Taken::All);
    });
}
