//! The feed with subscribers, faults and kills.

mod answers;
mod crashes;
mod faults;
mod properties;
mod ring;
mod transient;

use muster_core::event::Event;
use muster_core::principal::Viewer;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use actix_rt::Arbiter;
use muster_store::{Batch, MemStore, StoreError, StoreHandle};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use muster_core::principal::Permissions;
use muster_core::supervise::Tree;
use muster_core::{Clock, Millis, test_world};

/// What survives a server.
struct ServerEnv {
    disk: Arc<MemStore>,
    home: TempDir,
}

impl ServerEnv {
    fn new() -> Arc<Self> {
        Arc::new(Self { disk: Arc::default(), home: tempfile::tempdir().unwrap() })
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("feed")
    }

    async fn start(&self, tree: &Tree) -> Feed {
        self.start_with(tree, Limits::default(), "boot-1").await
    }

    /// Starts a feed, as `feed/hub` in the tree.
    async fn start_with(&self, tree: &Tree, limits: Limits, boot: &str) -> Feed {
        let options = FeedOptions {
            store: Arc::clone(&self.disk) as StoreHandle,
            folder: self.folder(),
            clock: Clock::tokio(test_world::START),
            boot_id: Some(boot.to_owned()),
            limits,
        };
        let feed = Feed::start(
            &tree.group("feed"),
            Arbiter::current(),
            options,
            DISASTER.iter().chain(AGENTS).copied().collect(),
        )
        .unwrap();
        feed.up().await;
        feed
    }

    /// Discards all further writes of this server, as if it had been killed.
    fn kill(&self) {
        self.disk.fail_commits(Some(StoreError::Io("the server is dead".to_owned())));
    }

    fn revive(&self) {
        self.disk.fail_commits(None);
    }

    /// Commits events as features do.
    async fn commit(&self, events: &[Event]) {
        let ops = events.iter().map(|event| event.op().unwrap()).collect();
        self.disk_commit(Batch { ops, ..Batch::default() }).await;
    }

    async fn disk_commit(&self, batch: Batch) {
        muster_store::Store::commit(self.disk.as_ref(), batch).await.unwrap();
    }

    /// Commits events and publishes them.
    async fn publish(&self, feed: &Feed, events: Vec<Event>) {
        self.commit(&events).await;
        feed.publisher().publish(events);
    }

    fn outbox(&self) -> usize {
        super::outbox::ids(self.disk.as_ref()).unwrap().len()
    }
}

fn event(channels: &[&str], number: u64) -> Event {
    let channels = channels.iter().map(|&channel| channel.to_owned()).collect();
    Event::new("incident.updated", test_world::START, channels, &json!({ "n": number }))
}

fn events(channel: &str, numbers: std::ops::RangeInclusive<u64>) -> Vec<Event> {
    numbers.map(|number| event(&[channel], number)).collect()
}

/// A shard that records its deliveries while it has capacity.
#[derive(Debug, Default)]
struct Shard {
    deliveries: Mutex<Vec<Delivery>>,
    rounds: AtomicUsize,
    full: AtomicBool,
}

impl ShardPort for Shard {
    fn deliver(&self, what: Vec<Delivery>) -> Result<(), Overflow> {
        if self.full.load(Ordering::SeqCst) {
            return Err(Overflow);
        }
        self.rounds.fetch_add(1, Ordering::SeqCst);
        self.deliveries.lock().unwrap().extend(what);
        Ok(())
    }
}

impl Shard {
    fn attach(feed: &Feed) -> (Arc<Self>, ShardId) {
        let shard = Arc::new(Self::default());
        let id = feed.attach(Arc::clone(&shard) as _);
        (shard, id)
    }

    fn all(&self) -> Vec<Delivery> {
        self.deliveries.lock().unwrap().clone()
    }

    /// Returns the `data.n` of the publications on a channel, after checking the offset in each frame.
    fn numbers(&self, channel: &str) -> Vec<u64> {
        let numbers = self.all().into_iter().filter_map(|delivery| match delivery {
            Delivery::Publication(publication) if *publication.channel == *channel => Some(number(&publication)),
            _ => None,
        });
        numbers.collect()
    }

    fn answer(&self, tag: u64) -> Option<Result<Subscribed, Refused>> {
        self.all().into_iter().find_map(|delivery| match delivery {
            Delivery::Subscribed { tag: found, answer, .. } if found == tag => Some(answer.map(|answer| *answer)),
            _ => None,
        })
    }

    async fn answered(&self, tag: u64) -> Result<Subscribed, Refused> {
        test_world::until(|| self.answer(tag).is_some()).await;
        self.answer(tag).unwrap()
    }

    /// Waits until the last publication of a channel has this number.
    async fn reaches(&self, channel: &str, number: u64) {
        test_world::until(|| self.numbers(channel).last() == Some(&number)).await;
    }
}

fn number(publication: &Publication) -> u64 {
    let frame: serde_json::Value = serde_json::from_slice(&publication.json).unwrap();
    assert_eq!(frame["off"], publication.offset);
    assert_eq!(frame["ch"], *publication.channel);
    frame["data"]["n"].as_u64().unwrap()
}

fn numbers(publications: &[Arc<Publication>]) -> Vec<u64> {
    publications.iter().map(|publication| number(publication)).collect()
}

fn viewer(id: &str) -> Viewer {
    Viewer { id: id.into(), permissions: Permissions::all() }
}

fn ask(shard: ShardId, tag: u64, channel: &str, since: Option<Position>) -> SubscribeRequest {
    let viewer = viewer("usr_1");
    SubscribeRequest { shard, conn: ConnId(1), tag, channel: channel.to_owned(), since, snapshot: false, viewer }
}

/// A feature that keeps requests until the test replies.
#[derive(Debug, Default)]
struct Source {
    asked: Mutex<Vec<SnapshotRequest>>,
}

impl SnapshotSource for Source {
    fn ask(&self, ask: SnapshotRequest) {
        self.asked.lock().unwrap().push(ask);
    }
}

impl Source {
    fn register(feed: &Feed, prefix: &str) -> Arc<Self> {
        let source = Arc::new(Self::default());
        feed.register_source(prefix, Arc::clone(&source) as _);
        source
    }

    async fn asked(&self) -> SnapshotRequest {
        test_world::until(|| !self.asked.lock().unwrap().is_empty()).await;
        self.asked.lock().unwrap().remove(0)
    }
}

fn item(number: u64) -> StateItem {
    StateItem { id: "inc_1".to_owned(), version: number, data: serde_json::value::to_raw_value(&number).unwrap() }
}
