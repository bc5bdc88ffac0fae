//! Fixture of the feed's tests: a disk, a running feed, shards that record deliveries, a feature with a state.

use std::future::Future;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use actix_rt::Arbiter;
use muster_store::{Batch, MemStore, Store, StoreError, StoreHandle};
use serde_json::json;
use tempfile::TempDir;

use crate::*;
use muster_core::event::Event;
use muster_core::principal::{Permissions, Viewer};
use muster_core::supervise::Tree;
use muster_core::{Clock, Error, test_world};

/// A running feed with one attached shard.
pub(super) struct FeedFixture {
    pub(super) tree: Tree,
    pub(super) env: Arc<ServerEnv>,
    pub(super) feed: Feed,
    pub(super) shard: Arc<Shard>,
    /// Identifier of `shard`.
    pub(super) id: ShardId,
}

/// Runs a test with a feed of its own.
pub(super) fn with_feed<F, Fut>(limits: Limits, test: F)
where
    F: FnOnce(FeedFixture) -> Fut,
    Fut: Future<Output = ()>,
{
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let feed = env.start_with(&tree, limits, "boot-1").await;
        let (shard, id) = Shard::attach(&feed);
        test(FeedFixture { tree, env, feed, shard, id }).await;
    });
}

/// Subscribes with a request that is expected to succeed; returns the reply.
pub(super) async fn subscribe(feed: &Feed, shard: &Shard, request: SubscribeRequest) -> Subscribed {
    let tag = request.tag;
    feed.subscribe(request).unwrap();
    shard.reply(tag).await.unwrap()
}

/// The disk and the journal folder, which survive a server.
pub(super) struct ServerEnv {
    pub(super) disk: Arc<MemStore>,
    home: TempDir,
}

impl ServerEnv {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { disk: Arc::default(), home: tempfile::tempdir().unwrap() })
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.home.path().join("feed")
    }

    pub(super) async fn start(&self, tree: &Tree) -> Feed {
        self.start_with(tree, Limits::default(), "boot-1").await
    }

    /// Starts a feed, as `feed/hub` in the tree.
    pub(super) async fn start_with(&self, tree: &Tree, limits: Limits, boot: &str) -> Feed {
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
    pub(super) fn kill(&self) {
        self.fail_commits(Some(StoreError::Io("the server is dead".to_owned())));
    }

    pub(super) fn revive(&self) {
        self.fail_commits(None);
    }

    /// Commits events as features do.
    pub(super) async fn commit(&self, events: &[Event]) {
        let ops = events.iter().map(|event| event.op().unwrap()).collect();
        self.try_commit(Batch { ops, ..Batch::default() }).await.unwrap();
    }

    /// Commits a batch, or returns the error that a feature receives.
    pub(super) async fn try_commit(&self, batch: Batch) -> Result<(), StoreError> {
        self.disk.commit(batch).await
    }

    /// Makes every further commit fail, or succeed again.
    pub(super) fn fail_commits(&self, error: Option<StoreError>) {
        self.disk.fail_commits(error);
    }

    /// Commits events and publishes them.
    pub(super) async fn publish(&self, feed: &Feed, events: Vec<Event>) {
        self.try_publish(feed, events).await.unwrap();
    }

    /// Commits events and publishes them once they are durable, as a feature does; returns the error that its caller
    /// receives if the store rejects them.
    pub(super) async fn try_publish(&self, feed: &Feed, events: Vec<Event>) -> Result<(), Error> {
        let ops = events.iter().map(|event| event.op().unwrap()).collect();
        self.try_commit(Batch { ops, ..Batch::default() }).await?;
        feed.publisher().publish(events);
        Ok(())
    }

    /// Returns the number of events in the outbox.
    pub(super) fn outbox(&self) -> usize {
        crate::outbox::ids(self.disk.as_ref()).unwrap().len()
    }
}

pub(super) fn event(channels: &[&str], number: u64) -> Event {
    let channels = channels.iter().map(|&channel| channel.to_owned()).collect();
    Event::new("incident.updated", test_world::START, channels, &json!({ "n": number }))
}

pub(super) fn events(channel: &str, numbers: RangeInclusive<u64>) -> Vec<Event> {
    numbers.map(|number| event(&[channel], number)).collect()
}

/// A shard that records its deliveries while it has capacity.
#[derive(Debug, Default)]
pub(super) struct Shard {
    deliveries: Mutex<Vec<Delivery>>,
    pub(super) rounds: AtomicUsize,
    /// Whether deliveries are rejected.
    pub(super) full: AtomicBool,
}

impl ShardPort for Shard {
    fn deliver(&self, deliveries: Vec<Delivery>) -> Result<(), Overflow> {
        if self.full.load(Ordering::SeqCst) {
            return Err(Overflow);
        }
        self.rounds.fetch_add(1, Ordering::SeqCst);
        self.deliveries.lock().unwrap().extend(deliveries);
        Ok(())
    }
}

impl Shard {
    pub(super) fn attach(feed: &Feed) -> (Arc<Self>, ShardId) {
        let shard = Arc::new(Self::default());
        let id = feed.attach(Arc::clone(&shard) as _);
        (shard, id)
    }

    pub(super) fn all(&self) -> Vec<Delivery> {
        self.deliveries.lock().unwrap().clone()
    }

    /// Returns the `data.n` of the publications on a channel, after checking the offset in each frame.
    pub(super) fn numbers(&self, channel: &str) -> Vec<u64> {
        let numbers = self.all().into_iter().filter_map(|delivery| match delivery {
            Delivery::Publication(publication) if *publication.channel == *channel => Some(number(&publication)),
            _ => None,
        });
        numbers.collect()
    }

    /// Returns the reply to the subscription request with this tag, if it was delivered.
    pub(super) fn reply_if_any(&self, tag: u64) -> Option<Result<Subscribed, Refused>> {
        self.all().into_iter().find_map(|delivery| match delivery {
            Delivery::Subscribed { tag: found, answer, .. } if found == tag => Some(answer.map(|answer| *answer)),
            _ => None,
        })
    }

    /// Waits for the reply to the subscription request with this tag.
    pub(super) async fn reply(&self, tag: u64) -> Result<Subscribed, Refused> {
        test_world::until(|| self.reply_if_any(tag).is_some()).await;
        self.reply_if_any(tag).unwrap()
    }

    /// Waits until the last publication of a channel has this number.
    pub(super) async fn reaches(&self, channel: &str, number: u64) {
        test_world::until(|| self.numbers(channel).last() == Some(&number)).await;
    }
}

pub(super) fn number(publication: &Publication) -> u64 {
    let frame: serde_json::Value = serde_json::from_slice(&publication.json).unwrap();
    assert_eq!(frame["off"], publication.offset);
    assert_eq!(frame["ch"], *publication.channel);
    frame["data"]["n"].as_u64().unwrap()
}

pub(super) fn numbers(publications: &[Arc<Publication>]) -> Vec<u64> {
    publications.iter().map(|publication| number(publication)).collect()
}

pub(super) fn viewer(id: &str) -> Viewer {
    Viewer { id: id.into(), permissions: Permissions::all() }
}

pub(super) fn subscribe_request(shard: ShardId, tag: u64, channel: &str, since: Option<Position>) -> SubscribeRequest {
    let viewer = viewer("usr_1");
    SubscribeRequest { shard, conn: ConnId(1), tag, channel: channel.to_owned(), since, snapshot: false, viewer }
}

/// A feature that keeps requests until the test replies.
#[derive(Debug, Default)]
pub(super) struct Source {
    requests: Mutex<Vec<SnapshotRequest>>,
}

impl SnapshotSource for Source {
    fn request(&self, request: SnapshotRequest) {
        self.requests.lock().unwrap().push(request);
    }
}

impl Source {
    pub(super) fn register(feed: &Feed, prefix: &str) -> Arc<Self> {
        let source = Arc::new(Self::default());
        feed.register_source(prefix, Arc::clone(&source) as _);
        source
    }

    /// Waits for the next request.
    pub(super) async fn next_request(&self) -> SnapshotRequest {
        test_world::until(|| !self.requests.lock().unwrap().is_empty()).await;
        self.requests.lock().unwrap().remove(0)
    }
}

pub(super) fn item(number: u64) -> StateItem {
    StateItem { id: "inc_1".to_owned(), version: number, data: serde_json::value::to_raw_value(&number).unwrap() }
}
