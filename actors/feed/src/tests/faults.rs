//! Faults: the hub panics, a shard is full, the journal cannot be written, the queue is full.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use muster_core::test_world;

use super::fixture::*;
use crate::*;

#[test]
fn a_hub_that_dies_under_load_neither_loses_nor_duplicates() {
    with_feed(Limits::default(), |FeedFixture { tree, env, feed, shard, id, .. }| async move {
        let epoch = subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await.position.epoch;
        let mut next = 1;
        for round in 0..4 {
            for _ in 0..10 {
                env.publish(&feed, events("alerts", next..=next + 9)).await;
                next += 10;
                tokio::task::yield_now().await;
            }
            assert!(tree.inject_panic("feed/hub"));
            env.publish(&feed, events("alerts", next..=next + 9)).await;
            next += 10;
            test_world::until(|| feed.resets() == round + 1).await;
        }
        let resets = shard.all().iter().filter(|delivery| matches!(delivery, Delivery::Reset)).count();
        assert_eq!(resets, 4);
        // Subscribes from the last position and epoch, as a shard does after a reset.
        let had = shard.numbers("alerts");
        let since = Position { epoch, offset: had.len() as u64 };
        let answer = subscribe(&feed, &shard, subscribe_request(id, 2, "alerts", Some(since))).await;
        assert_eq!(answer.recovered, Ok(()));
        let mut all: Vec<u64> = had.into_iter().chain(numbers(&answer.missed)).collect();
        all.sort_unstable();
        assert_eq!(all, (1..next).collect::<Vec<_>>());
        test_world::until(|| env.outbox() == 0).await;
    });
}

#[test]
fn events_rejected_by_a_full_queue_are_published_from_the_outbox() {
    with_feed(
        Limits { waiting_events: 10, ..Limits::default() },
        |FeedFixture { env, feed, shard, id, .. }| async move {
            let source = Source::register(&feed, "incidents");
            subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await;
            feed.subscribe(SubscribeRequest { snapshot: true, ..subscribe_request(id, 2, "incidents", None) }).unwrap();
            let early = source.next_request().await;
            for round in 0..200 {
                env.publish(&feed, events("alerts", round * 8 + 1..=round * 8 + 8)).await;
            }
            early.reply.send(Ok(vec![item(1)]));
            test_world::until(|| shard.numbers("alerts").len() == 1_600).await;
            let mut all = shard.numbers("alerts");
            all.sort_unstable();
            assert_eq!(all, (1..=1_600).collect::<Vec<_>>());
            // The state may be older than the events from the outbox, so it is requested again.
            source.next_request().await.reply.send(Ok(vec![item(2)]));
            assert_eq!(shard.reply(2).await.unwrap().state.unwrap()[0].version, 2);
            test_world::until(|| env.outbox() == 0).await;
        },
    );
}

#[test]
fn an_event_whose_feature_died_before_publishing_is_published() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await;
        let orphan = events("alerts", 1..=1);
        env.commit(&orphan).await;
        shard.reaches("alerts", 1).await;
        // The feature was only slow.
        feed.publisher().publish(orphan);
        env.publish(&feed, events("alerts", 2..=2)).await;
        shard.reaches("alerts", 2).await;
        assert_eq!(shard.numbers("alerts"), [1, 2]);
    });
}

#[test]
fn a_full_shard_is_detached_without_delaying_others() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let feed = env.start(&tree).await;
        let ((slow, slow_id), (quick, quick_id)) = (Shard::attach(&feed), Shard::attach(&feed));
        for (shard, id) in [(&slow, slow_id), (&quick, quick_id)] {
            subscribe(&feed, shard, subscribe_request(id, 1, "alerts", None)).await;
        }
        slow.full.store(true, Ordering::SeqCst);
        env.publish(&feed, events("alerts", 1..=5)).await;
        quick.reaches("alerts", 5).await;
        let stats = feed.stats().await.unwrap();
        assert_eq!((stats.shards, stats.subscriptions, stats.overflows), (1, 1, 1));
        slow.full.store(false, Ordering::SeqCst);
        env.publish(&feed, events("alerts", 6..=6)).await;
        quick.reaches("alerts", 6).await;
        assert!(slow.numbers("alerts").is_empty(), "it receives nothing before it attaches again");
    });
}

#[test]
fn if_the_journal_fails_events_stay_in_the_outbox_and_it_is_reported() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await;
        // A folder that does not exist rejects new files.
        fs::remove_dir_all(env.folder()).unwrap();
        env.publish(&feed, events("alerts", 1..=3)).await;
        env.publish(&feed, events("alerts", 4..=4)).await;
        test_world::after(Duration::from_secs(3)).await;
        assert!(feed.stats().await.unwrap().stuck.is_some());
        assert_eq!((shard.numbers("alerts").len(), env.outbox()), (0, 4), "nothing is published that is not written");
        let source = Source::register(&feed, "incidents");
        feed.subscribe(SubscribeRequest { snapshot: true, ..subscribe_request(id, 2, "incidents", None) }).unwrap();
        source.next_request().await.reply.send(Ok(Vec::new()));
        assert_eq!(shard.reply(2).await.unwrap_err(), Refused::Denied(Denied::Unavailable));
        fs::create_dir(env.folder()).unwrap();
        test_world::until(|| env.outbox() == 0).await;
        let mut delivered = shard.numbers("alerts");
        delivered.sort_unstable();
        assert_eq!((delivered, feed.stats().await.unwrap().stuck), (vec![1, 2, 3, 4], None));
    });
}

#[test]
fn if_the_store_fails_events_are_not_published_twice() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await;
        env.publish(&feed, events("alerts", 1..=3)).await;
        env.kill();
        test_world::after(Duration::from_secs(30)).await;
        assert_eq!((shard.numbers("alerts"), env.outbox()), (vec![1, 2, 3], 3));
        env.revive();
        test_world::until(|| env.outbox() == 0).await;
        assert_eq!(shard.numbers("alerts"), [1, 2, 3]);
    });
}
