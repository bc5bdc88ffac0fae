//! Resuming within the lifetime of a server: what is sent again, and why not.

use super::*;

async fn resume(feed: &Feed, shard: (&Arc<Shard>, ShardId), tag: u64, channel: &str, since: Position) -> Subscribed {
    feed.subscribe(ask(shard.1, tag, channel, Some(since))).unwrap();
    shard.0.answered(tag).await.unwrap()
}

#[test]
fn a41_positions_that_cannot_be_resumed_have_a_reason() {
    test_world::run(|tree| async move {
        let site = ServerEnv::new();
        let limits = Limits { ring_frames: 20, recover: 10, ..Limits::default() };
        let feed = site.start_with(&tree, limits, "boot-1").await;
        let (shard, id) = Shard::attach(&feed);
        let at = (&shard, id);
        site.publish(&feed, events("alerts", 1..=50)).await;
        site.publish(&feed, events("system", 1..=45)).await;
        feed.subscribe(ask(id, 1, "alerts", None)).unwrap();
        feed.subscribe(ask(id, 2, "system", None)).unwrap();
        let now = shard.answered(1).await.unwrap().position;
        let other = shard.answered(2).await.unwrap().position;
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
    });
}

#[test]
fn a_subscriber_that_cannot_resume_receives_the_state() {
    test_world::run(|tree| async move {
        let site = ServerEnv::new();
        let feed = site.start(&tree).await;
        let source = Source::register(&feed, "incidents");
        let (shard, id) = Shard::attach(&feed);
        let since = Position { epoch: "k3v9".into(), offset: 811 };
        feed.subscribe(SubscribeRequest { snapshot: true, ..ask(id, 1, "incidents", Some(since)) }).unwrap();
        source.asked().await.reply.send(Ok(vec![item(4)]));
        let answer = shard.answered(1).await.unwrap();
        assert_eq!((answer.recovered, answer.state.unwrap().len()), (Err(RecoveryFailure::Epoch), 1));
        // A subscriber that can resume gets no state, which is not even requested.
        feed.subscribe(SubscribeRequest { snapshot: true, ..ask(id, 2, "incidents", Some(answer.position)) }).unwrap();
        let answer = shard.answered(2).await.unwrap();
        assert!(answer.recovered.is_ok() && answer.state.is_none());
    });
}

#[test]
fn a_history_expires_after_ten_minutes() {
    test_world::run(|tree| async move {
        let site = ServerEnv::new();
        let feed = site.start(&tree).await;
        site.publish(&feed, events("alerts", 1..=5)).await;
        test_world::until(|| site.outbox() == 0).await;
        assert_eq!(feed.stats().await.unwrap().history, 5);
        test_world::after(std::time::Duration::from_secs(620)).await;
        let stats = feed.stats().await.unwrap();
        assert_eq!((stats.history, stats.history_bytes, stats.channels), (0, 0, 0), "an idle channel is dropped");
        site.publish(&feed, events("alerts", 6..=6)).await;
        test_world::until(|| site.outbox() == 0).await;
        let page = feed.history("alerts", None, 10, viewer("usr_1")).await.unwrap();
        assert_eq!((page.position.offset, numbers(&page.publications)), (6, vec![6]), "its offsets continue");
    });
}

#[test]
fn channels_and_the_total_history_are_bounded() {
    test_world::run(|tree| async move {
        let site = ServerEnv::new();
        let limits = Limits { channels: 10, rings_bytes: 4_000, ..Limits::default() };
        let feed = site.start_with(&tree, limits, "boot-1").await;
        for number in 1..=40 {
            site.publish(&feed, vec![event(&[&format!("user:usr_{number}")], number)]).await;
        }
        test_world::until(|| site.outbox() == 0).await;
        test_world::after(std::time::Duration::from_secs(15)).await;
        // The next publication finds the others' offsets stored.
        site.publish(&feed, vec![event(&["user:usr_1"], 41)]).await;
        test_world::until(|| site.outbox() == 0).await;
        let stats = feed.stats().await.unwrap();
        assert!(stats.channels <= 10 && stats.history_bytes <= 4_000, "{stats:?}");
        let page = feed.history("user:usr_1", None, 10, viewer("usr_1")).await.unwrap();
        assert_eq!(page.position.offset, 2, "a dropped channel continues at its offset");
    });
}
