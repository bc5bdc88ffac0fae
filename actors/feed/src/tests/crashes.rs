//! What the end of a server, clean or not, leaves for the next one.

use super::*;
use muster_core::event::Event;

/// Returns a page of a channel's history.
async fn page(feed: &Feed, channel: &str) -> HistoryPage {
    feed.history(channel, None, 500, viewer("usr_1")).await.unwrap()
}

#[test]
fn a40_a_kill_between_commit_and_publication_neither_loses_nor_duplicates() {
    let site = ServerEnv::new();
    let (first, second) = (Arc::clone(&site), Arc::clone(&site));
    let known = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&known);
    test_world::run(|tree| async move {
        let feed = first.start(&tree).await;
        let (shard, id) = Shard::attach(&feed);
        feed.subscribe(ask(id, 1, "alerts", None)).unwrap();
        *seen.lock().unwrap() = Some(shard.answered(1).await.unwrap().position);
        first.publish(&feed, events("alerts", 1..=300)).await;
        // Committed; the server is killed before they are published, and before the earlier ones leave the outbox.
        first.commit(&events("alerts", 301..=350)).await;
        shard.reaches("alerts", 300).await;
        first.kill();
    });
    site.revive();
    assert_eq!(site.outbox(), 350);
    test_world::run(|tree| async move {
        let feed = second.start(&tree).await;
        let (shard, id) = Shard::attach(&feed);
        let since = known.lock().unwrap().take().unwrap();
        feed.subscribe(ask(id, 1, "alerts", Some(since))).unwrap();
        let answer = shard.answered(1).await.unwrap();
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
    let site = ServerEnv::new();
    let mut epochs = Vec::new();
    for (round, boot) in [(1, "boot-1"), (2, "boot-1"), (3, "boot-2")] {
        let (server, out) = (Arc::clone(&site), Arc::new(Mutex::new(None)));
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
        site.revive();
        epochs.push(out.lock().unwrap().take().unwrap());
    }
    assert!(epochs.iter().all(|epoch| *epoch == epochs[0]), "{epochs:?}");
}

async fn position_after_event(site: &ServerEnv, tree: &Tree, boot: &str, number: u64) -> Position {
    let feed = site.start_with(tree, Limits::default(), boot).await;
    site.publish(&feed, events("alerts", number..=number)).await;
    test_world::until(|| site.outbox() == 0).await;
    // Beyond a checkpoint.
    test_world::after(std::time::Duration::from_secs(11)).await;
    page(&feed, "alerts").await.position
}

/// Publishes an event, kills the server, runs `between`; returns the positions before and after.
fn over_a_kill(boot: &'static str, between: impl FnOnce(&ServerEnv)) -> (Position, Position) {
    let (site, out) = (ServerEnv::new(), Arc::new(Mutex::new(Vec::new())));
    let (first, before) = (Arc::clone(&site), Arc::clone(&out));
    test_world::run(|tree| async move {
        let position = position_after_event(&first, &tree, "boot-1", 1).await;
        before.lock().unwrap().push(position);
        first.kill();
    });
    site.revive();
    between(&site);
    let (second, after) = (Arc::clone(&site), Arc::clone(&out));
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

    let (before, after) = over_a_kill("boot-1", |site| std::fs::remove_dir_all(site.folder()).unwrap());
    assert_ne!(before.epoch, after.epoch, "a lost journal");
    assert_eq!(after.offset, 2, "the store has the offset");

    let (before, after) = over_a_kill("boot-1", |site| {
        let file = std::fs::read_dir(site.folder()).unwrap().next().unwrap().unwrap().path();
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
        let site = ServerEnv::new();
        let (first, second) = (Arc::clone(&site), Arc::clone(&site));
        test_world::run(|tree| async move {
            let feed = first.start(&tree).await;
            let (shard, id) = Shard::attach(&feed);
            feed.subscribe(ask(id, 1, "alerts", None)).unwrap();
            for number in 1..=4 {
                first.publish(&feed, events("alerts", number..=number)).await;
                shard.reaches("alerts", number).await;
            }
            first.kill();
        });
        site.revive();
        let file = std::fs::read_dir(site.folder()).unwrap().next().unwrap().unwrap().path();
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
    let site = ServerEnv::new();
    let (first, second) = (Arc::clone(&site), Arc::clone(&site));
    let big = || json!({ "n": 1, "text": "x".repeat(200_000) });
    test_world::run(|tree| async move {
        let feed = first.start(&tree).await;
        let event = Event::new("alert.created", test_world::START, vec!["alerts".to_owned()], &big());
        first.publish(&feed, vec![event]).await;
        test_world::until(|| first.outbox() == 0).await;
        first.kill();
    });
    site.revive();
    test_world::run(|tree| async move {
        let feed = second.start(&tree).await;
        let page = page(&feed, "alerts").await;
        let frame: serde_json::Value = serde_json::from_slice(&page.publications[0].json).unwrap();
        assert_eq!(frame["data"], big());
    });
}

#[test]
fn the_journal_is_bounded_and_idle_channels_keep_their_offset() {
    let site = ServerEnv::new();
    let (first, second) = (Arc::clone(&site), Arc::clone(&site));
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
    site.revive();
    test_world::run(|tree| async move {
        let feed = second.start_with(&tree, limits(), "boot-1").await;
        assert_eq!(page(&feed, "alerts").await.position.offset, 3);
        assert_eq!(page(&feed, "system").await.position.offset, 3_000);
    });
}

/// Writes a restore mark, as a restore does.
fn restored(site: &ServerEnv, stamp: &str) {
    let rec = muster_store::Rec { schema: 1, bytes: stamp.into() };
    let mark = Batch::put(muster_store::Tree::Meta, muster_store::RESTORE_MARK, rec);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(site.disk_commit(mark));
}

#[test]
fn a_restored_store_begins_a_new_epoch_once() {
    let (before, after) = over_a_kill("boot-1", |site| restored(site, "one"));
    assert_ne!(before.epoch, after.epoch, "subscribers may have received events after the backup");
    let (site, out) = (ServerEnv::new(), Arc::new(Mutex::new(Vec::new())));
    restored(&site, "two");
    for number in 1..=2 {
        let (server, epochs) = (Arc::clone(&site), Arc::clone(&out));
        test_world::run(|tree| async move {
            let position = position_after_event(&server, &tree, "boot-1", number).await;
            epochs.lock().unwrap().push(position.epoch);
            server.kill();
        });
        site.revive();
    }
    let epochs = out.lock().unwrap();
    assert_eq!(epochs[0], epochs[1], "the mark is recorded");
}
