//! Replies to subscribers, and what they receive afterwards.

use std::sync::atomic::Ordering;

use muster_core::event::{ChannelRestriction, Event, LatestValue};
use muster_core::principal::{Permission, Permissions, Viewer};
use muster_core::test_world;
use serde_json::json;

use super::fixture::*;
use crate::*;

#[test]
fn a_subscriber_receives_publications_after_its_position_only() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        env.publish(&feed, events("alerts", 1..=3)).await;
        let answer = subscribe(&feed, &shard, subscribe_request(id, 7, "alerts", None)).await;
        assert_eq!((answer.position.offset, answer.recovered, answer.missed.len()), (3, Ok(()), 0));
        env.publish(&feed, events("alerts", 4..=5)).await;
        shard.reaches("alerts", 5).await;
        assert_eq!(shard.numbers("alerts"), [4, 5]);
        feed.unsubscribe(id, ConnId(1), "alerts");
        env.publish(&feed, events("alerts", 6..=6)).await;
        test_world::until(|| env.outbox() == 0).await;
        assert_eq!(shard.numbers("alerts"), [4, 5]);
        assert!(feed.presence("alerts").await.unwrap().is_empty());
    });
}

#[test]
fn a_round_is_one_delivery_and_an_event_is_published_on_each_channel() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        feed.subscribe(subscribe_request(id, 1, "alerts", None)).unwrap();
        subscribe(&feed, &shard, subscribe_request(id, 2, "system", None)).await;
        let before = shard.rounds.load(Ordering::SeqCst);
        let all: Vec<Event> = (1..=100).map(|number| event(&["alerts", "system"], number)).collect();
        env.publish(&feed, all).await;
        shard.reaches("system", 100).await;
        assert_eq!(shard.rounds.load(Ordering::SeqCst), before + 1);
        assert_eq!(shard.numbers("alerts"), (1..=100).collect::<Vec<_>>());
        let stats = feed.stats().await.unwrap();
        assert_eq!((stats.published, stats.channels, stats.subscriptions), (200, 2, 2));
    });
}

#[test]
fn urgent_publications_come_first() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        feed.subscribe(subscribe_request(id, 1, "alerts", None)).unwrap();
        subscribe(&feed, &shard, subscribe_request(id, 2, "system", None)).await;
        env.publish(&feed, vec![event(&["system"], 1), event(&["alerts"], 2).urgent()]).await;
        shard.reaches("system", 1).await;
        let order = shard.all().into_iter().filter_map(|delivery| match delivery {
            Delivery::Publication(publication) => Some(publication.channel.to_string()),
            _ => None,
        });
        assert_eq!(order.collect::<Vec<_>>(), ["alerts", "system"]);
    });
}

#[test]
fn a_snapshot_has_the_position_at_which_it_was_read() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "incidents");
        feed.subscribe(SubscribeRequest { snapshot: true, ..subscribe_request(id, 1, "incidents", None) }).unwrap();
        let request = source.next_request().await;
        // The state contains what the feature published before reading it; later publications are delivered.
        env.publish(&feed, events("incidents", 1..=2)).await;
        request.reply.send(Ok(vec![item(2)]));
        env.publish(&feed, events("incidents", 3..=3)).await;
        let answer = shard.reply(1).await.unwrap();
        assert_eq!((answer.position.offset, answer.state.unwrap()[0].version), (2, 2));
        shard.reaches("incidents", 3).await;
        assert_eq!(shard.numbers("incidents"), [3]);
    });
}

#[test]
fn missing_and_hidden_channels_are_indistinguishable() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        feed.subscribe(subscribe_request(id, 1, "incidents:inc_1", None)).unwrap();
        let unavailable = Refused::Denied(Denied::Unavailable);
        assert_eq!(shard.reply(1).await.unwrap_err(), unavailable, "its feature is not registered yet");
        let source = Source::register(&feed, "incidents");
        feed.subscribe(subscribe_request(id, 2, "incidents:inc_1", None)).unwrap();
        source.next_request().await.reply.send(Err(Denied::NotFound));
        feed.subscribe(subscribe_request(id, 3, "user:usr_2", None)).unwrap();
        for tag in [2, 3] {
            assert_eq!(shard.reply(tag).await.unwrap_err(), Refused::Denied(Denied::NotFound));
        }
        feed.subscribe(subscribe_request(id, 4, "incidents:*", None)).unwrap();
        assert_eq!(shard.reply(4).await.unwrap_err(), Refused::NoChannel);
        let limited = Viewer { id: "usr_1".into(), permissions: Permissions::of(&[Permission::RealtimeSubscribe]) };
        feed.subscribe(SubscribeRequest { viewer: limited, ..subscribe_request(id, 5, "alerts", None) }).unwrap();
        assert_eq!(shard.reply(5).await.unwrap_err(), Refused::Forbidden("alerts:read"));
        assert_eq!(feed.stats().await.unwrap().subscriptions, 0);
    });
}

#[test]
fn a_feature_that_does_not_reply_is_unavailable_after_five_seconds() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "incidents");
        feed.subscribe(subscribe_request(id, 1, "incidents:inc_1", None)).unwrap();
        let request = source.next_request().await;
        let begun = tokio::time::Instant::now();
        let page = feed.history("incidents:inc_1", None, 10, viewer("usr_1")).await;
        assert_eq!(page.unwrap_err(), HistoryError::Refused(Refused::Denied(Denied::Unavailable)));
        assert_eq!(shard.reply(1).await.unwrap_err(), Refused::Denied(Denied::Unavailable));
        let waited = begun.elapsed().as_millis();
        assert!((4_500..6_000).contains(&waited), "{waited}");
        // Too late: the request has expired.
        request.reply.send(Ok(Vec::new()));
        assert_eq!(feed.stats().await.unwrap().pending_snapshots, 0);
    });
}

#[test]
fn requests_of_a_closed_connection_are_dropped() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "incidents");
        feed.subscribe(subscribe_request(id, 1, "incidents:inc_1", None)).unwrap();
        let request = source.next_request().await;
        feed.connection_closed(id, ConnId(1));
        request.reply.send(Ok(Vec::new()));
        subscribe(&feed, &shard, SubscribeRequest { conn: ConnId(2), ..subscribe_request(id, 2, "alerts", None) })
            .await;
        assert!(shard.reply_if_any(1).is_none());
        assert_eq!(feed.stats().await.unwrap().subscriptions, 1);
    });
}

#[test]
fn history_is_paged() {
    with_feed(Limits::default(), |FeedFixture { env, feed, .. }| async move {
        env.publish(&feed, events("alerts", 1..=5)).await;
        test_world::until(|| env.outbox() == 0).await;
        let first = feed.history("alerts", None, 2, viewer("usr_1")).await.unwrap();
        assert_eq!((numbers(&first.publications), first.more, first.position.offset), (vec![1, 2], true, 5));
        let since = Position { offset: 2, ..first.position };
        let rest = feed.history("alerts", Some(since), 10, viewer("usr_1")).await.unwrap();
        assert_eq!((numbers(&rest.publications), rest.more, rest.recovered), (vec![3, 4, 5], false, Ok(())));
    });
}

#[test]
fn only_the_latest_values_are_delivered() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "devices");
        let channel = "devices:dev_1:telemetry";
        let put = |number: u64| {
            let data = serde_json::value::to_raw_value(&json!({ "n": number })).unwrap();
            let (name, key) = ("device.telemetry".to_owned(), "battery".to_owned());
            feed.publisher().publish_latest(LatestValue {
                channel: channel.to_owned(),
                name,
                at: test_world::START,
                key,
                data,
            });
        };
        (1..=50).for_each(put);
        feed.subscribe(SubscribeRequest { snapshot: true, ..subscribe_request(id, 1, channel, None) }).unwrap();
        source.next_request().await.reply.send(Ok(vec![item(0)]));
        let answer = shard.reply(1).await.unwrap();
        let state = answer.state.unwrap();
        assert!(answer.latest && state.len() == 1);
        assert_eq!((state[0].id.as_str(), state[0].data.get()), ("battery", r#"{"n":50}"#));
        (51..=99).for_each(put);
        let values = || {
            shard.all().into_iter().filter_map(|delivery| match delivery {
                Delivery::Latest { json, offset, .. } => Some((json, offset)),
                _ => None,
            })
        };
        test_world::until(|| values().count() > 0).await;
        let deliveries: Vec<_> = values().collect();
        assert_eq!(deliveries.len(), 1, "fifty values published at once are one delivery");
        let frame: serde_json::Value = serde_json::from_slice(&deliveries[0].0).unwrap();
        assert_eq!((&frame["data"]["n"], &frame["off"]), (&json!(99), &json!(deliveries[0].1)));
    });
}

#[test]
fn a_closed_channel_ends_its_subscriptions() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", None)).await;
        feed.close("alerts", "gone");
        let ended = |delivery: &Delivery| matches!(delivery, Delivery::Unsubscribed { reason: "gone", .. });
        test_world::until(|| shard.all().iter().any(ended)).await;
        assert_eq!(feed.stats().await.unwrap().subscriptions, 0);
    });
}

/// Returns the reasons for which a connection's subscriptions ended.
fn ends(shard: &Shard, conn: u64) -> Vec<&'static str> {
    let ends = shard.all().into_iter().filter_map(|delivery| match delivery {
        Delivery::Unsubscribed { conn: of, reason, .. } if of == ConnId(conn) => Some(reason),
        _ => None,
    });
    ends.collect()
}

/// Subscribes two viewers to a channel.
async fn subscribe_two(feed: &Feed, shard: &Shard, id: ShardId, source: &Source, channel: &str) {
    for (tag, user) in [(1, "usr_1"), (2, "usr_2")] {
        let request =
            SubscribeRequest { conn: ConnId(tag), viewer: viewer(user), ..subscribe_request(id, tag, channel, None) };
        feed.subscribe(request).unwrap();
        source.next_request().await.reply.send(Ok(Vec::new()));
        shard.reply(tag).await.unwrap();
    }
}

#[test]
fn a_restricted_channel_ends_subscriptions_before_later_events() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "incidents");
        let channel = "incidents:inc_1";
        subscribe_two(&feed, &shard, id, &source, channel).await;
        // One more was replied to before, and is not subscribed yet.
        feed.subscribe(SubscribeRequest { conn: ConnId(3), ..subscribe_request(id, 3, channel, None) }).unwrap();
        source.next_request().await.reply.send(Ok(Vec::new()));
        let only = |viewer: &Viewer| *viewer.id == *"usr_2";
        feed.publisher().restrict(ChannelRestriction::new(channel.to_owned(), "withdrawn", only));
        env.publish(&feed, events(channel, 1..=1)).await;
        shard.reaches(channel, 1).await;
        assert_eq!((ends(&shard, 1), ends(&shard, 2), ends(&shard, 3)), (vec!["withdrawn"], vec![], vec!["withdrawn"]));
        let deliveries = shard.all();
        let event = deliveries.iter().position(|one| matches!(one, Delivery::Publication(_))).unwrap();
        let last = deliveries.iter().rposition(|one| matches!(one, Delivery::Unsubscribed { .. })).unwrap();
        assert!(last < event, "the end of the subscription comes first");
        assert_eq!(feed.stats().await.unwrap().subscriptions, 1);
    });
}

#[test]
fn changed_permissions_are_checked_again_with_the_feature() {
    with_feed(Limits::default(), |FeedFixture { feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "incidents");
        subscribe_two(&feed, &shard, id, &source, "incidents:inc_1").await;
        let less = Permissions::of(&[Permission::IncidentsRead]);
        for (conn, answer) in [(2, Ok(Vec::new())), (1, Err(Denied::NotFound))] {
            feed.update_viewer(id, ConnId(conn), Viewer { id: "usr_1".into(), permissions: less });
            let request = source.next_request().await;
            assert_eq!(request.viewer.permissions, less, "with the current permissions");
            request.reply.send(answer);
        }
        test_world::until(|| !ends(&shard, 1).is_empty()).await;
        assert_eq!((ends(&shard, 1), ends(&shard, 2)), (vec!["permission_revoked"], vec![]));
        assert_eq!(feed.stats().await.unwrap().pending_snapshots, 0);
    });
}

#[test]
fn a_resuming_subscriber_is_checked_with_the_feature_too() {
    with_feed(Limits::default(), |FeedFixture { env, feed, shard, id, .. }| async move {
        let source = Source::register(&feed, "incidents");
        let channel = "incidents:inc_1";
        env.publish(&feed, events(channel, 1..=3)).await;
        feed.subscribe(subscribe_request(id, 1, channel, None)).unwrap();
        source.next_request().await.reply.send(Ok(Vec::new()));
        let known = shard.reply(1).await.unwrap().position;
        feed.unsubscribe(id, ConnId(1), channel);
        feed.subscribe(subscribe_request(id, 2, channel, Some(Position { offset: 1, ..known }))).unwrap();
        source.next_request().await.reply.send(Err(Denied::NotFound));
        assert_eq!(shard.reply(2).await.unwrap_err(), Refused::Denied(Denied::NotFound));
    });
}
