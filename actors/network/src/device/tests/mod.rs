//! The actor in its own world, on paused time.

mod commands;
mod faults;
mod heartbeats;
mod looks;
mod trust;

use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use muster_auth::PrivateKey;
use muster_store::MemStore;
use serde_json::{Map, Value};

use super::*;
use muster_core::event::RecordingPublisher;
use muster_core::supervise::Tree;
use muster_core::{Clock, test_world};
use muster_identity::By;

/// A world with devices in it.
struct World {
    tree: Tree,
    store: Arc<MemStore>,
    feed: Arc<RecordingPublisher>,
    clock: Clock,
    devices: Devices,
}

/// A device, and the key that it signs with.
struct Unit {
    id: Arc<str>,
    key: PrivateKey,
}

impl World {
    async fn start(tree: Tree) -> Self {
        Self::start_with(tree, Arc::default(), DeviceRules::default()).await
    }

    async fn start_with(tree: Tree, store: Arc<MemStore>, rules: DeviceRules) -> Self {
        let (feed, clock) = (Arc::<RecordingPublisher>::default(), Clock::tokio(test_world::START));
        let options = DeviceOptions {
            store: Arc::clone(&store) as _,
            clock: clock.clone(),
            publisher: Arc::clone(&feed) as _,
            rules,
            watcher: None,
        };
        let devices = Devices::start(&tree.group("devices"), Arbiter::current(), options);
        devices.up().await;
        Self { tree, store, feed, clock, devices }
    }

    async fn unit(&self) -> Unit {
        let key = PrivateKey::generate().unwrap();
        let new = NewDevice { public_key: Some(key.public().to_jwk()), ..new_device() };
        let made = self.devices.register(new, By::System, None).await.unwrap();
        Unit { id: made.device["id"].as_str().unwrap().into(), key }
    }

    /// A device that was heard of.
    async fn online(&self) -> Unit {
        let unit = self.unit().await;
        self.beat(&unit, Report::default()).await.unwrap();
        self.feed.take();
        unit
    }

    fn token(&self, unit: &Unit) -> String {
        muster_auth::device::sign(&unit.key, &unit.id, self.clock.now().seconds(), 60).unwrap()
    }

    fn let_in(&self, unit: &Unit) -> Result<Arc<str>, muster_core::Error> {
        self.devices.directory().authenticate(&self.token(unit), self.clock.now())
    }

    async fn beat(&self, unit: &Unit, report: Report) -> Result<HeartbeatAnswer, muster_core::Error> {
        self.devices.heartbeat(Arc::clone(&unit.id), report, By::Device(Arc::clone(&unit.id))).await
    }

    async fn status(&self, unit: &Unit) -> Status {
        self.devices.get(&unit.id).await.unwrap().status
    }

    async fn shift(&self, unit: &Unit, deed: Deed) -> Result<Device, muster_core::Error> {
        let reason = Some("test".to_owned());
        self.devices.shift(unit.id.to_string(), deed, reason, By::System, muster_core::precondition::IfMatch::Any).await
    }

    /// The names and data of what was published since it was last asked.
    fn told(&self) -> Vec<(String, Value)> {
        let events = self.feed.take();
        events.into_iter().map(|event| (event.name, serde_json::from_str(event.data.get()).unwrap())).collect()
    }

    fn names(&self) -> Vec<String> {
        self.told().into_iter().map(|(name, _)| name).collect()
    }

    fn commits(&self) -> u64 {
        muster_store::Store::stats(&*self.store).commits
    }
}

fn new_device() -> NewDevice {
    NewDevice { name: "Siren 7".into(), kind: DeviceKind::Siren, description: Description::default(), public_key: None }
}

fn ill() -> Report {
    Report { health: Some(Health { battery_pct: Some(1.0), ..Health::default() }), ..Report::default() }
}

fn well() -> Report {
    Report { health: Some(Health { battery_pct: Some(90.0), ..Health::default() }), ..Report::default() }
}

fn order(name: &str) -> NewCommand {
    NewCommand { name: name.into(), args: Map::new(), timeout: Duration::from_secs(300) }
}

const SECOND: Duration = Duration::from_secs(1);
