//! Measures publishing an event, the memory of a channel, and a start with many channels.
//!
//! `cargo bench -p muster-feed --bench feed` prints a table. The journal is in a real (temporary) folder; the store is
//! in memory.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_rt::Arbiter;
use muster_core::event::Event;
use muster_core::principal::Permissions;
use muster_core::principal::Viewer;
use muster_core::supervise::Tree;
use muster_core::{Clock, Millis};
use muster_feed::{
    ChannelRule, ConnId, DISASTER, Delivery, Feed, FeedOptions, Limits, Overflow, ShardPort, SubscribeRequest,
};
use muster_store::{MemStore, StoreHandle};
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const EVENTS: u64 = 100_000;
/// Events published per call, as by a busy feature.
const AT_ONCE: u64 = 100;
const CHANNELS: u64 = 100_000;

fn main() -> Result<()> {
    actix_rt::System::new().block_on(async {
        let arbiter = Arbiter::new();
        for shards in 0..=2 {
            let home = tempfile::tempdir()?;
            let tree = Tree::new(Arbiter::current(), Clock::system());
            let feed = start(&tree, &arbiter, home.path(), &(Arc::new(MemStore::default()) as StoreHandle)).await?;
            publish(&feed, shards).await?;
            tree.stop().await;
        }
        channels(&arbiter).await?;
        arbiter.stop();
        Ok(())
    })
}

async fn start(tree: &Tree, arbiter: &Arbiter, folder: &Path, store: &StoreHandle) -> Result<Feed> {
    let options = FeedOptions {
        store: Arc::clone(store),
        folder: folder.to_owned(),
        clock: Clock::system(),
        boot_id: Some("bench".to_owned()),
        limits: Limits { waiting_events: usize::MAX, ..Limits::default() },
    };
    let rules: Vec<ChannelRule> = DISASTER.to_vec();
    let feed = Feed::start(&tree.group("feed"), arbiter.handle(), options, rules)?;
    feed.up().await;
    Ok(feed)
}

/// A shard that counts deliveries and calls.
#[derive(Debug, Default)]
struct CountingShard(AtomicU64, AtomicU64);

impl ShardPort for CountingShard {
    fn deliver(&self, deliveries: Vec<Delivery>) -> std::result::Result<(), Overflow> {
        self.0.fetch_add(deliveries.len() as u64, Ordering::Relaxed);
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn event(channels: Vec<String>, number: u64) -> Event {
    let patch = json!({ "state": "contained", "summary": "x".repeat(120), "n": number });
    let data = json!({ "id": "inc_01JD0000000000000000000000", "version": number, "patch": patch });
    Event::new("incident.updated", Millis(1_767_225_600_000), channels, &data)
}

async fn until_published(feed: &Feed, count: u64) -> Result<()> {
    while feed.stats().await?.published < count {
        tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await.unwrap_or_default();
    }
    Ok(())
}

async fn publish(feed: &Feed, shards: u64) -> Result<()> {
    let ports: Vec<Arc<CountingShard>> = (0..shards).map(|_| Arc::default()).collect();
    for port in &ports {
        let shard = feed.attach(Arc::clone(port) as _);
        let viewer = Viewer { id: "usr_1".into(), permissions: Permissions::all() };
        let (conn, channel) = (ConnId(1), "incidents".to_owned());
        let request = SubscribeRequest { shard, conn, tag: 1, channel, since: None, snapshot: false, viewer };
        feed.subscribe(request).map_err(|refused| format!("{refused:?}"))?;
    }
    let batches: Vec<Vec<Event>> = (0..EVENTS / AT_ONCE)
        .map(|batch| (0..AT_ONCE).map(|n| event(vec!["incidents".to_owned()], batch * AT_ONCE + n)).collect())
        .collect();
    let (publisher, begun) = (feed.publisher(), Instant::now());
    batches.into_iter().for_each(|batch| publisher.publish(batch));
    let handed = begun.elapsed();
    until_published(feed, EVENTS).await?;
    let add = begun.elapsed();
    let (count, rounds) = ports.first().map_or((0, 0), |p| (p.0.load(Ordering::Relaxed), p.1.load(Ordering::Relaxed)));
    println!(
        "publish, {shards} shards: {:.2} µs an event ({:.2} µs of it in the caller); a shard: {count} in {rounds} deliveries",
        micros(add) / EVENTS as f64,
        micros(handed) / EVENTS as f64,
    );
    Ok(())
}

async fn channels(arbiter: &Arbiter) -> Result<()> {
    let (home, store) = (tempfile::tempdir()?, Arc::new(MemStore::default()) as StoreHandle);
    let tree = Tree::new(Arbiter::current(), Clock::system());
    let feed = start(&tree, arbiter, home.path(), &store).await?;
    let before = resident()?;
    for number in 0..CHANNELS {
        feed.publisher().publish(vec![event(vec![format!("devices:dev_{number:026}")], number)]);
    }
    until_published(&feed, CHANNELS).await?;
    let stats = feed.stats().await?;
    let (grown, counted) = (resident()?.saturating_sub(before), stats.history_bytes as u64);
    println!(
        "{CHANNELS} channels with one publication each: {} B resident each, {} B of it counted as history",
        grown / CHANNELS,
        counted / CHANNELS,
    );
    tree.stop().await;
    let begun = Instant::now();
    let tree = Tree::new(Arbiter::current(), Clock::system());
    let feed = start(&tree, arbiter, home.path(), &store).await?;
    println!(
        "start with {} channels in the journal ({} MB): {:.0} ms",
        feed.stats().await?.channels,
        stats.journal.bytes >> 20,
        micros(begun.elapsed()) / 1_000.0,
    );
    tree.stop().await;
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns the resident memory of this process, in bytes.
fn resident() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split(' ').nth(1).ok_or("no figure")?.parse()?;
    Ok(pages * 4_096)
}
