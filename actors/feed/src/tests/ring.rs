//! Resuming within the lifetime of a server: what is sent again, and why not.

use std::sync::Arc;

use muster_core::test_world;

use super::fixture::*;
use crate::*;

async fn resume(feed: &Feed, shard: (&Arc<Shard>, ShardId), tag: u64, channel: &str, since: Position) -> Subscribed {
    subscribe(feed, shard.0, subscribe_request(shard.1, tag, channel, Some(since))).await
}

#[test]
fn a41_positions_that_cannot_be_resumed_have_a_reason() {
    with_feed(
        Limits { ring_frames: 20, recover: 10, ..Limits::default() },
        |FeedFixture { env, feed, shard, id, .. }| async move {
            let at = (&shard, id);
            env.publish(&feed, events("alerts", 1..=50)).await;
            env.publish(&feed, events("system", 1..=45)).await;
            let now = subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await.position;
            let other = subscribe(&feed, &shard, subscribe_request(id, 2, "system", None)).await.position;
            assert_eq!((now.offset, other.offset), (50, 45));

            let since = |offset| Position { offset, ..now.clone() };
            let found = resume(&feed, at, 3, "alerts", since(40)).await;
            assert_eq!((found.recovered, numbers(&found.missed)), (Ok(()), (41..=50).collect()));
            let up_to_date = resume(&feed, at, 4, "alerts", since(50)).await;
            assert_eq!((up_to_date.recovered, up_to_date.missed.len()), (Ok(()), 0));

            let changed = Position { epoch: "k3v9".into(), offset: 45 };
            for (tag, since, why) in [
                (5, changed, RecoveryFailure::Epoch),
                (6, since(51), RecoveryFailure::Gap),
                (7, since(u64::MAX), RecoveryFailure::Gap),
                (8, since(29), RecoveryFailure::Gap),
                (9, since(0), RecoveryFailure::Gap),
                (10, since(39), RecoveryFailure::Limit),
                (11, since(30), RecoveryFailure::Limit),
                (12, other, RecoveryFailure::Epoch),
            ] {
                let answer = resume(&feed, at, tag, "alerts", since).await;
                assert_eq!(answer.recovered, Err(why), "{tag}");
                assert_eq!((answer.missed.len(), answer.position.offset), (0, 50), "{tag}");
            }
        },
    );
}

#[test]
fn a_subscriber_that_cannot_resume_receives_the_state() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "incidents");
        let since = Position { epoch: "k3v9".into(), offset: 811 };
        feed.subscribe(SubscribeRequest { snapshot: true, ..subscribe_request(id, 1, "incidents", Some(since)) })
            .unwrap();
        source.next_request().await.reply.send(Ok(vec![item(4)]));
        let answer = shard.reply(1).await.unwrap();
        assert_eq!((answer.recovered, answer.state.unwrap().len()), (Err(RecoveryFailure::Epoch), 1));
        // A subscriber that can resume gets no state, which is not even requested.
        let answer = subscribe(
            &feed,
            &shard,
            SubscribeRequest { snapshot: true, ..subscribe_request(id, 2, "incidents", Some(answer.position)) },
        )
        .await;
        assert!(answer.recovered.is_ok() && answer.state.is_none());
    });
}

#[test]
fn a_history_expires_after_ten_minutes() {
    with_feed(Limits::default(), |FeedFixture { env, feed, .. }| async move {
        env.publish(&feed, events("alerts", 1..=5)).await;
        test_world::until(|| env.outbox() == 0).await;
        assert_eq!(feed.stats().await.unwrap().history, 5);
        test_world::after(std::time::Duration::from_secs(620)).await;
        let stats = feed.stats().await.unwrap();
        assert_eq!((stats.history, stats.history_bytes, stats.channels), (0, 0, 0), "an idle channel is dropped");
        env.publish(&feed, events("alerts", 6..=6)).await;
        test_world::until(|| env.outbox() == 0).await;
        let page = feed.history("alerts", None, 10, viewer("usr_1")).await.unwrap();
        assert_eq!((page.position.offset, numbers(&page.publications)), (6, vec![6]), "its offsets continue");
    });
}

#[test]
fn channels_and_the_total_history_are_bounded() {
    with_feed(
        Limits { channels: 10, rings_bytes: 4_000, ..Limits::default() },
        |FeedFixture { env, feed, .. }| async move {
            for number in 1..=40 {
                env.publish(&feed, vec![event(&[&format!("user:usr_{number}")], number)]).await;
            }
            test_world::until(|| env.outbox() == 0).await;
            test_world::after(std::time::Duration::from_secs(15)).await;
            // The next publication finds the others' offsets stored.
            env.publish(&feed, vec![event(&["user:usr_1"], 41)]).await;
            test_world::until(|| env.outbox() == 0).await;
            let stats = feed.stats().await.unwrap();
            assert!(stats.channels <= 10 && stats.history_bytes <= 4_000, "{stats:?}");
            let page = feed.history("user:usr_1", None, 10, viewer("usr_1")).await.unwrap();
            assert_eq!(page.position.offset, 2, "a dropped channel continues at its offset");
        },
    );
}
