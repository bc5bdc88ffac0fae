//! What a start with 100,000 devices costs, and a heartbeat, and a search by place.
//!
//! `cargo bench -p muster-network --bench devices` prints a table. The store is on this machine's disk.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_rt::Arbiter;
use futures::stream::{self, StreamExt, TryStreamExt};
use muster_core::Clock;
use muster_core::event::{ChannelRestriction, Event, LatestValue, Publish};
use muster_core::page::PageParams;
use muster_core::supervise::Tree;
use muster_geo::{Geometry, Point};
use muster_identity::By;
use muster_network::device::{
    Description, DeviceFilter, DeviceKind, DeviceOptions, DeviceRules, Devices, Health, Heartbeat, NewDevice,
};
use muster_store::{Options, SledStore, StoreHandle};

type Outcome<T> = Result<T, Box<dyn Error>>;

const DEVICES: usize = 100_000;
const HEARTBEATS: usize = 100_000;
const QUERIES: usize = 1_000;

/// Takes what is published, and leaves it.
#[derive(Debug)]
struct DiscardingPublisher;

impl Publish for DiscardingPublisher {
    fn publish(&self, _: Vec<Event>) {}

    fn publish_transient(&self, _: Vec<Event>) {}

    fn restrict(&self, _: ChannelRestriction) {}

    fn mark_lost(&self) {}

    fn publish_latest(&self, _: LatestValue) {}
}

fn main() -> Outcome<()> {
    actix_rt::System::new().block_on(async {
        let folder = tempfile::tempdir()?;
        let store: StoreHandle = SledStore::open(Options::new(folder.path()))?.store;
        let other = Arbiter::new();
        let tree = Tree::new(Arbiter::current(), Clock::system());
        let devices = start(&tree, &other, &store).await;
        let begun = Instant::now();
        let made = stream::iter(0..DEVICES).map(|n| devices.register(device(n), By::System, None));
        let ids: Vec<Arc<str>> = made
            .buffered(500)
            .map_ok(|made| Arc::from(made.device.get("id").and_then(|id| id.as_str()).unwrap_or_default()))
            .try_collect()
            .await?;
        row("register, 500 in flight, durable", begun.elapsed() / per(DEVICES));
        let begun = Instant::now();
        heartbeats(&devices, &ids, HEARTBEATS).await?;
        row("first heartbeat (a durable change), 500 in flight", begun.elapsed() / per(HEARTBEATS));
        tree.stop().await;

        let tree = Tree::new(Arbiter::current(), Clock::system());
        let begun = Instant::now();
        let devices = start(&tree, &other, &store).await;
        row("start with 100,000 devices", begun.elapsed());
        let begun = Instant::now();
        heartbeats(&devices, &ids, HEARTBEATS).await?;
        row("quiet heartbeat, 500 in flight", begun.elapsed() / per(HEARTBEATS));
        queries(&devices).await?;
        tree.stop().await;
        other.stop();
        Ok(())
    })
}

async fn start(tree: &Tree, arbiter: &Arbiter, store: &StoreHandle) -> Devices {
    let options = DeviceOptions {
        store: Arc::clone(store),
        clock: Clock::system(),
        publisher: Arc::new(DiscardingPublisher),
        rules: DeviceRules::default(),
        location_observer: None,
    };
    let devices = Devices::start(&tree.group("devices"), arbiter.handle(), options);
    devices.up().await;
    devices
}

/// Spread over Germany's box, evenly.
fn device(n: usize) -> NewDevice {
    let place = |n: usize, span: f64| (n % 1_000) as f64 / 1_000.0 * span;
    let location = Point::new(6.0 + place(n.wrapping_mul(7_919), 9.0), 47.3 + place(n / 1_000 * 10 + n % 7, 7.7));
    NewDevice {
        name: format!("Sensor {n}"),
        kind: DeviceKind::Sensor,
        description: Description {
            serial: Some(format!("SN-{n:08}")),
            vendor: Some("example".to_owned()),
            hw_class: Some("sx1".to_owned()),
            tags: vec!["river".to_owned()],
            groups: vec![format!("group-{}", n % 100)],
            location: Some(location),
            ..Description::default()
        },
        public_key: None,
    }
}

async fn heartbeats(devices: &Devices, ids: &[Arc<str>], count: usize) -> Outcome<()> {
    let heartbeats = ids.iter().cycle().take(count).map(|id| {
        let health = Health { battery_pct: Some(80.0), temp_c: Some(20.0), ..Health::default() };
        let report = Heartbeat { health: Some(health), ..Heartbeat::default() };
        devices.heartbeat(Arc::clone(id), report, By::Device(Arc::clone(id)))
    });
    stream::iter(heartbeats).buffer_unordered(500).try_for_each(|_| std::future::ready(Ok(()))).await?;
    Ok(())
}

async fn queries(devices: &Devices) -> Outcome<()> {
    let begun = Instant::now();
    let mut found = 0;
    for n in 0..QUERIES {
        let at = device(n * 97).description.location.unwrap_or(Point::new(9.0, 50.0));
        found += devices.near(at, 10_000.0, 50).await?.len();
    }
    row(&format!("near, 10 km, {} found on average", found / QUERIES), begun.elapsed() / per(QUERIES));
    let ring = serde_json::json!([[8.0, 49.0], [8.5, 49.0], [8.5, 49.5], [8.0, 49.5], [8.0, 49.0]]);
    let area: Geometry = serde_json::from_value(serde_json::json!({ "type": "Polygon", "coordinates": [ring] }))?;
    let shape = area.shape()?;
    let (begun, mut total) = (Instant::now(), 0);
    for _ in 0..QUERIES {
        total = devices.within(shape.clone(), PageParams::default()).await?.1;
    }
    row(&format!("within, {total} found, a page of 50"), begun.elapsed() / per(QUERIES));
    let begun = Instant::now();
    for n in 0..QUERIES {
        let filter = DeviceFilter { group: Some(format!("group-{}", n % 100)), ..DeviceFilter::default() };
        devices.list(filter, PageParams::default()).await?;
    }
    row("list, one of 100 groups, a page of 50", begun.elapsed() / per(QUERIES));
    Ok(())
}

fn per(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn row(what: &str, took: Duration) {
    println!("{what:<58} {took:>12.1?}");
}
