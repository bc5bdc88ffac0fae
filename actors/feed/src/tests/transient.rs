//! Transient events: not in the outbox, bounded, with losses reported.

use std::time::Duration;

use muster_core::event::{Event, EventAttributes, LatestValue};
use muster_core::principal::{Permission, Permissions, Viewer};
use muster_core::test_world;
use serde_json::json;

use super::fixture::*;
use crate::*;

fn transient_event(channels: &[&str], number: u64, owner: &str) -> Event {
    event(channels, number).with(EventAttributes { owner: Some(owner.into()), ..EventAttributes::default() })
}

fn key(id: &str) -> Viewer {
    Viewer { id: id.into(), permissions: Permissions::of(&[Permission::RealtimeSubscribe]) }
}

#[test]
fn transient_events_are_delivered_in_order_and_not_stored() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        let before = subscribe(&feed, &shard, subscribe_request(id, 1, "agents", None)).await.position;
        let frames = feed.stats().await.unwrap().journal.last;
        feed.publisher()
            .publish_transient((1..=300).map(|n| transient_event(&["agents", "tasks:task_1"], n, "key_1")).collect());
        shard.reaches("agents", 300).await;
        assert_eq!(shard.numbers("agents"), (1..=300).collect::<Vec<_>>());
        let stats = feed.stats().await.unwrap();
        assert_eq!((env.outbox(), stats.unsettled, stats.journal.last, stats.history), (0, 0, frames, 600));
        let again = subscribe(&feed, &shard, subscribe_request(id, 2, "agents", Some(before))).await;
        assert_eq!((again.recovered, again.missed.len()), (Ok(()), 300), "it resumes within the server's lifetime");
        // A checkpoint stores no offset of such a channel.
        test_world::after(Duration::from_secs(30)).await;
        assert_eq!(crate::record::offset(env.disk.as_ref(), "agents").unwrap(), 0);
    });
}

#[test]
fn transient_channels_expire_and_old_positions_stay_invalid() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "tasks");
        let follow = async |tag, since| {
            feed.subscribe(subscribe_request(id, tag, "tasks:task_7", since)).unwrap();
            source.next_request().await.reply.send(Ok(vec![item(1)]));
            shard.reply(tag).await.unwrap()
        };
        feed.publisher().publish_transient(
            (0..1_000).map(|n| transient_event(&[&format!("tasks:task_{n}")], n, "key_1")).collect(),
        );
        let known = follow(1, None).await.position;
        assert_eq!(feed.stats().await.unwrap().channels, 1_000);
        feed.unsubscribe(id, ConnId(1), "tasks:task_7");
        test_world::after(Duration::from_secs(620)).await;
        assert_eq!(feed.stats().await.unwrap().channels, 0, "they have no subscribers, and their history has expired");
        // The resource gets as many events as before.
        feed.publisher().publish_transient(vec![transient_event(&["tasks:task_7"], 8, "key_1")]);
        assert_eq!(follow(2, Some(known.clone())).await.recovered, Err(RecoveryFailure::Gap), "{known:?}");
    });
}

#[test]
fn a_lost_event_begins_a_new_epoch_and_a_conflated_one_does_not() {
    with_feed(Limits { waiting_events: 8, ..Limits::default() }, |FeedFixture { feed, shard, id, .. }| async move {
        let before = subscribe(&feed, &shard, subscribe_request(id, 1, "agents", None)).await.position;
        feed.publisher()
            .publish_transient((1..=10).map(|n| transient_event(&["agents"], n, "key_1").conflated()).collect());
        shard.reaches("agents", 4).await;
        assert_eq!(feed.stats().await.unwrap().transient_lost, 6);
        let same = subscribe(&feed, &shard, subscribe_request(id, 2, "agents", Some(before.clone()))).await;
        assert_eq!((same.recovered, same.missed.len()), (Ok(()), 4), "offsets have no gap");

        feed.publisher().publish_transient((11..=20).map(|n| transient_event(&["agents"], n, "key_1")).collect());
        test_world::until(|| shard.all().iter().any(|it| matches!(it, Delivery::Reset))).await;
        assert_eq!(feed.stats().await.unwrap().transient_lost, 8);
        let after_loss = subscribe(&feed, &shard, subscribe_request(id, 3, "agents", Some(before.clone()))).await;
        assert_eq!(after_loss.recovered, Err(RecoveryFailure::Epoch));
        feed.publisher().publish_transient(vec![transient_event(&["agents"], 21, "key_1")]);
        shard.reaches("agents", 21).await;
        let durable = subscribe(&feed, &shard, subscribe_request(id, 4, "alerts", None)).await.position;
        assert_eq!(subscribe(&feed, &shard, subscribe_request(id, 5, "alerts", Some(durable))).await.recovered, Ok(()));
    });
}

#[test]
fn a_flood_of_tasks_does_not_displace_other_histories() {
    with_feed(
        Limits { transient_bytes: 20_000, transient_channels: 40, ..Limits::default() },
        |FeedFixture { env, feed, .. }| async move {
            env.publish(&feed, events("alerts", 1..=5)).await;
            feed.publisher().publish_transient(vec![transient_event(&["agents"], 1, "key_1")]);
            feed.publisher().publish_transient(
                (0..500).map(|n| transient_event(&[&format!("tasks:task_{n}")], n, "key_1")).collect(),
            );
            test_world::until(|| env.outbox() == 0).await;
            let stats = feed.stats().await.unwrap();
            assert!(stats.channels <= 42 && stats.history_bytes < 25_000, "{stats:?}");
            for (channel, entry) in [("alerts", 5), ("agents", 1)] {
                let page = feed.history(channel, None, 10, viewer("usr_1")).await.unwrap();
                assert_eq!(page.publications.len(), entry, "{channel}");
            }
        },
    );
}

#[test]
fn owners_receive_their_own_events_and_readers_all() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        feed.publisher().publish_transient(
            (1..=20).map(|n| transient_event(&["agents"], n, if n % 2 == 0 { "key_a" } else { "key_b" })).collect(),
        );
        let own = subscribe(
            &feed,
            &shard,
            SubscribeRequest { viewer: key("key_a"), ..subscribe_request(id, 1, "agents", None) },
        )
        .await;
        assert_eq!(own.only.as_deref(), Some("key_a"));
        let page = feed.history("agents", None, 4, key("key_a")).await.unwrap();
        assert_eq!((numbers(&page.publications), page.more), (vec![2, 4, 6, 8], true));
        let since = Position { offset: 16, ..page.position };
        let rest = feed.history("agents", Some(since), 4, key("key_a")).await.unwrap();
        assert_eq!((numbers(&rest.publications), rest.more), (vec![18, 20], false));
        let all = feed.history("agents", None, 100, viewer("usr_1")).await.unwrap();
        assert_eq!(all.publications.len(), 20);
        assert_eq!(subscribe(&feed, &shard, subscribe_request(id, 2, "agents", None)).await.only, None);
    });
}

#[test]
fn metrics_are_delivered_with_their_latest_values_to_all() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        let data = serde_json::value::to_raw_value(&json!({ "running": 3 })).unwrap();
        let (channel, name, key_of) = ("agents:metrics".to_owned(), "metrics".to_owned(), "metrics".to_owned());
        feed.publisher().publish_latest(LatestValue { channel, name, at: test_world::START, key: key_of, data });
        test_world::after(Duration::from_millis(10)).await;
        let of_key = SubscribeRequest {
            viewer: key("key_a"),
            snapshot: true,
            ..subscribe_request(id, 1, "agents:metrics", None)
        };
        let answer = subscribe(&feed, &shard, of_key).await;
        assert!(answer.latest && answer.only.is_none());
        assert_eq!(answer.state.unwrap()[0].data.get(), r#"{"running":3}"#);
    });
}
