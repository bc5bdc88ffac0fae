//! Restarts after a kill, a power cut, a clean shutdown and a restore.

use std::sync::{Arc, Mutex};

use muster_core::event::Event;
use muster_core::supervise::Tree;
use muster_core::test_world;
use muster_store::Batch;
use serde_json::json;

use super::fixture::*;
use crate::*;

/// Returns a page of a channel's history.
async fn page(feed: &Feed, channel: &str) -> HistoryPage {
    feed.history(channel, None, 500, viewer("usr_1")).await.unwrap()
}

#[test]
fn a40_a_kill_between_commit_and_publication_neither_loses_nor_duplicates() {
    let env = ServerEnv::new();
    let (first, second) = (Arc::clone(&env), Arc::clone(&env));
    let known = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&known);
    test_world::run(|tree| async move {
        let feed = first.start(&tree).await;
        let (shard, id) = Shard::attach(&feed);
        feed.subscribe(subscribe_request(id, 1, "alerts", None)).unwrap();
        *seen.lock().unwrap() = Some(shard.reply(1).await.unwrap().position);
        first.publish(&feed, events("alerts", 1..=300)).await;
        // Committed; the server is killed before they are published, and before the earlier ones leave the outbox.
        first.commit(&events("alerts", 301..=350)).await;
        shard.reaches("alerts", 300).await;
        first.kill();
    });
    env.revive();
    assert_eq!(env.outbox(), 350);
    test_world::run(|tree| async move {
        let feed = second.start(&tree).await;
        let (shard, id) = Shard::attach(&feed);
        let since = known.lock().unwrap().take().unwrap();
        let answer = subscribe(&feed, &shard, subscribe_request(id, 1, "alerts", Some(since))).await;
        assert_eq!(answer.recovered, Ok(()));
        let mut got = numbers(&answer.missed);
        // Identifiers of events within one millisecond, and so their order in the outbox, are random.
        got[300..].sort_unstable();
        assert_eq!(got, (1..=350).collect::<Vec<_>>());
        test_world::until(|| second.outbox() == 0).await;
        assert!(shard.numbers("alerts").is_empty(), "nothing is published twice");
    });
}

#[test]
fn a_subscriber_resumes_across_a_kill_and_a_clean_shutdown() {
    let env = ServerEnv::new();
    let mut epochs = Vec::new();
    for (round, boot) in [(1, "boot-1"), (2, "boot-1"), (3, "boot-2")] {
        let (server, out) = (Arc::clone(&env), Arc::new(Mutex::new(None)));
        let seen = Arc::clone(&out);
        test_world::run(|tree| async move {
            let feed = server.start_with(&tree, Limits::default(), boot).await;
            server.publish(&feed, events("alerts", round..=round)).await;
            test_world::until(|| server.outbox() == 0).await;
            let page = page(&feed, "alerts").await;
            assert_eq!((page.position.offset, numbers(&page.publications)), (round, (1..=round).collect()));
            *seen.lock().unwrap() = Some(page.position.epoch);
            // The first server is killed; the second shuts down cleanly, then the machine reboots.
            if round == 1 {
                server.kill();
            }
        });
        env.revive();
        epochs.push(out.lock().unwrap().take().unwrap());
    }
    assert!(epochs.iter().all(|epoch| *epoch == epochs[0]), "{epochs:?}");
}

async fn position_after_event(env: &ServerEnv, tree: &Tree, boot: &str, number: u64) -> Position {
    let feed = env.start_with(tree, Limits::default(), boot).await;
    env.publish(&feed, events("alerts", number..=number)).await;
    test_world::until(|| env.outbox() == 0).await;
    // Beyond a checkpoint.
    test_world::after(std::time::Duration::from_secs(11)).await;
    page(&feed, "alerts").await.position
}

/// Publishes an event, kills the server, runs `between`; returns the positions before and after.
fn over_a_kill(boot: &'static str, between: impl FnOnce(&ServerEnv)) -> (Position, Position) {
    let (env, out) = (ServerEnv::new(), Arc::new(Mutex::new(Vec::new())));
    let (first, before) = (Arc::clone(&env), Arc::clone(&out));
    test_world::run(|tree| async move {
        let position = position_after_event(&first, &tree, "boot-1", 1).await;
        before.lock().unwrap().push(position);
        first.kill();
    });
    env.revive();
    between(&env);
    let (second, after) = (Arc::clone(&env), Arc::clone(&out));
    test_world::run(|tree| async move {
        let position = position_after_event(&second, &tree, boot, 2).await;
        after.lock().unwrap().push(position);
    });
    let mut positions = out.lock().unwrap().drain(..).collect::<Vec<_>>();
    (positions.remove(0), positions.remove(0))
}

#[test]
fn a_new_epoch_begins_if_completeness_is_not_proven() {
    let (before, after) = over_a_kill("boot-1", |_| {});
    assert_eq!(
        (&before.epoch, before.offset, after.offset),
        (&after.epoch, 1, 2),
        "a kill alone does not begin a new epoch"
    );

    let (before, after) = over_a_kill("boot-2", |_| {});
    assert_ne!(before.epoch, after.epoch, "a power cut");
    assert_eq!(after.offset, 2, "offsets continue");

    let (before, after) = over_a_kill("boot-1", |env| std::fs::remove_dir_all(env.folder()).unwrap());
    assert_ne!(before.epoch, after.epoch, "a lost journal");
    assert_eq!(after.offset, 2, "the store has the offset");

    let (before, after) = over_a_kill("boot-1", |env| {
        let file = std::fs::read_dir(env.folder()).unwrap().next().unwrap().unwrap().path();
        let mut bytes = std::fs::read(&file).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&file, bytes).unwrap();
    });
    assert_ne!(before.epoch, after.epoch, "a damaged frame before the stored position");
}

#[test]
fn a_torn_write_is_published_from_the_outbox() {
    // The last event takes at least one frame, so that the cut is within it or removes it entirely.
    for cut in [1, 2, 15, 16, 17, 40, 90] {
        let env = ServerEnv::new();
        let (first, second) = (Arc::clone(&env), Arc::clone(&env));
        test_world::run(|tree| async move {
            let feed = first.start(&tree).await;
            let (shard, id) = Shard::attach(&feed);
            feed.subscribe(subscribe_request(id, 1, "alerts", None)).unwrap();
            for number in 1..=4 {
                first.publish(&feed, events("alerts", number..=number)).await;
                shard.reaches("alerts", number).await;
            }
            first.kill();
        });
        env.revive();
        let file = std::fs::read_dir(env.folder()).unwrap().next().unwrap().unwrap().path();
        let length = std::fs::metadata(&file).unwrap().len();
        std::fs::File::options().write(true).open(&file).unwrap().set_len(length - cut).unwrap();
        test_world::run(|tree| async move {
            let feed = second.start(&tree).await;
            test_world::until(|| second.outbox() == 0).await;
            let page = page(&feed, "alerts").await;
            assert_eq!((page.position.offset, numbers(&page.publications)), (4, vec![1, 2, 3, 4]), "{cut}");
        });
    }
}

#[test]
fn an_event_larger_than_a_journal_frame_is_restored() {
    let env = ServerEnv::new();
    let (first, second) = (Arc::clone(&env), Arc::clone(&env));
    let big = || json!({ "n": 1, "text": "x".repeat(200_000) });
    test_world::run(|tree| async move {
        let feed = first.start(&tree).await;
        let event = Event::new("alert.created", test_world::START, vec!["alerts".to_owned()], &big());
        first.publish(&feed, vec![event]).await;
        test_world::until(|| first.outbox() == 0).await;
        first.kill();
    });
    env.revive();
    test_world::run(|tree| async move {
        let feed = second.start(&tree).await;
        let page = page(&feed, "alerts").await;
        let frame: serde_json::Value = serde_json::from_slice(&page.publications[0].json).unwrap();
        assert_eq!(frame["data"], big());
    });
}

#[test]
fn the_journal_is_bounded_and_idle_channels_keep_their_offset() {
    let env = ServerEnv::new();
    let (first, second) = (Arc::clone(&env), Arc::clone(&env));
    let limits = || {
        let journal = muster_store::JournalOptions { segment_bytes: 8 << 10, ..Limits::default().journal };
        Limits { ring_age: std::time::Duration::from_secs(20), journal, ..Limits::default() }
    };
    test_world::run(|tree| async move {
        let feed = first.start_with(&tree, limits(), "boot-1").await;
        first.publish(&feed, events("alerts", 1..=3)).await;
        for round in 0..60 {
            first.publish(&feed, events("system", round * 50 + 1..=round * 50 + 50)).await;
            test_world::after(std::time::Duration::from_secs(3)).await;
        }
        let journal = feed.stats().await.unwrap().journal;
        assert!(journal.bytes < 150_000 && journal.files < 20, "{journal:?}");
        first.kill();
    });
    env.revive();
    test_world::run(|tree| async move {
        let feed = second.start_with(&tree, limits(), "boot-1").await;
        assert_eq!(page(&feed, "alerts").await.position.offset, 3);
        assert_eq!(page(&feed, "system").await.position.offset, 3_000);
    });
}

/// Writes a restore mark, as a restore does.
fn restored(env: &ServerEnv, stamp: &str) {
    let rec = muster_store::Rec { schema: 1, bytes: stamp.into() };
    let mark = Batch::put(muster_store::Tree::Meta, muster_store::RESTORE_MARK, rec);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(env.try_commit(mark)).unwrap();
}

#[test]
fn a_restored_store_begins_a_new_epoch_once() {
    let (before, after) = over_a_kill("boot-1", |env| restored(env, "one"));
    assert_ne!(before.epoch, after.epoch, "subscribers may have received events after the backup");
    let (env, out) = (ServerEnv::new(), Arc::new(Mutex::new(Vec::new())));
    restored(&env, "two");
    for number in 1..=2 {
        let (server, epochs) = (Arc::clone(&env), Arc::clone(&out));
        test_world::run(|tree| async move {
            let position = position_after_event(&server, &tree, "boot-1", number).await;
            epochs.lock().unwrap().push(position.epoch);
            server.kill();
        });
        env.revive();
    }
    let epochs = out.lock().unwrap();
    assert_eq!(epochs[0], epochs[1], "the mark is recorded");
}
