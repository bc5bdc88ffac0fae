//! A store that is full or read-only: events of a feature are rejected with a retry time, subscribers keep what they
//! have, and everything continues when the store accepts writes again.

use std::time::Duration;

use muster_core::{Kind, test_world};
use muster_store::StoreError;

use super::fixture::*;
use crate::*;

/// Errors of a store whose queue is full, whose disk is full, and which is read-only after a failed sync, each with the
/// retry time that the publisher's caller receives.
fn failures() -> [(StoreError, Duration); 3] {
    [
        (StoreError::Busy, Duration::from_secs(1)),
        (StoreError::Io("no space left on device".to_owned()), Duration::from_secs(30)),
        (StoreError::Poisoned("a sync failed".to_owned()), Duration::from_secs(30)),
    ]
}

#[test]
fn an_event_that_the_store_rejects_is_not_published_and_the_publisher_gets_a_retry_time() {
    for (failure, retry_after) in failures() {
        with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
            subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await;
            env.publish(&feed, events("alerts", 1..=2)).await;
            test_world::until(|| env.outbox() == 0).await;

            env.fail_commits(Some(failure));
            let error = env.try_publish(&feed, events("alerts", 3..=3)).await.unwrap_err();
            assert_eq!((error.kind, error.retry_after), (Kind::Unavailable, Some(retry_after)));
            assert_eq!(error.message, "the store does not accept writes at the moment: try again later");
            test_world::after(Duration::from_secs(30)).await;
            assert_eq!((shard.numbers("alerts"), env.outbox()), (vec![1, 2], 0));

            env.fail_commits(None);
            env.publish(&feed, events("alerts", 3..=3)).await;
            shard.reaches("alerts", 3).await;
            assert_eq!(shard.numbers("alerts"), [1, 2, 3]);
            test_world::until(|| env.outbox() == 0).await;
        });
    }
}

#[test]
fn reads_and_transient_events_do_not_need_a_writable_store() {
    for (failure, _) in failures() {
        with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
            env.publish(&feed, events("alerts", 1..=3)).await;
            test_world::until(|| env.outbox() == 0).await;
            env.fail_commits(Some(failure));
            let known = subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await.position;
            let since = Position { offset: 1, ..known };
            let resumed = subscribe(&feed, &shard, subscribe_request(id, 2, "alerts", Some(since))).await;
            assert_eq!((resumed.recovered, numbers(&resumed.missed)), (Ok(()), vec![2, 3]));
            let page = feed.history("alerts", None, 10, viewer("usr_1")).await.unwrap();
            assert_eq!(numbers(&page.publications), [1, 2, 3]);
            subscribe(&feed, &shard, subscribe_request(id, 3, "agents", None)).await;
            feed.publisher().publish_transient(vec![event(&["agents"], 7)]);
            shard.reaches("agents", 7).await;
            assert_eq!(feed.stats().await.unwrap().stuck, None);
        });
    }
}

#[test]
fn events_published_before_a_fault_stay_in_the_outbox_and_are_not_published_again() {
    for (failure, _) in failures() {
        with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
            subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await;
            env.publish(&feed, events("alerts", 1..=3)).await;
            env.fail_commits(Some(failure));
            shard.reaches("alerts", 3).await;
            test_world::after(Duration::from_secs(30)).await;
            assert_eq!((env.outbox(), feed.stats().await.unwrap().unsettled), (3, 3));

            env.fail_commits(None);
            test_world::until(|| env.outbox() == 0).await;
            assert_eq!((shard.numbers("alerts"), feed.stats().await.unwrap().unsettled), (vec![1, 2, 3], 0));
        });
    }
}

#[test]
fn a_hub_that_panics_while_the_store_rejects_writes_is_unavailable_and_recovers_without_loss() {
    for (failure, _) in failures() {
        with_feed(Limits::default(), |FeedFixture { tree, env, feed, shard, id }| async move {
            let position = subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await.position;
            env.publish(&feed, events("alerts", 1..=3)).await;
            env.fail_commits(Some(failure));
            shard.reaches("alerts", 3).await;
            assert!(tree.inject_panic("feed/hub"));
            test_world::after(Duration::from_secs(2)).await;
            let HistoryError::Down(error) = feed.history("alerts", None, 10, viewer("usr_1")).await.unwrap_err() else {
                panic!("the hub has started without storing its head");
            };
            assert!(error.kind == Kind::Unavailable && error.retry_after.is_some(), "{error:?}");

            env.fail_commits(None);
            feed.up().await;
            test_world::until(|| shard.all().iter().any(|delivery| matches!(delivery, Delivery::Reset))).await;
            let resumed = subscribe(&feed, &shard, subscribe_request(id, 2, "alerts", Some(position))).await;
            assert_eq!((resumed.recovered, numbers(&resumed.missed)), (Ok(()), vec![1, 2, 3]));
            test_world::until(|| env.outbox() == 0).await;
            env.publish(&feed, events("alerts", 4..=4)).await;
            shard.reaches("alerts", 4).await;
            assert_eq!(shard.numbers("alerts"), [1, 2, 3, 4], "each is delivered once");
        });
    }
}
