//! Tests of the device actor with an in-memory store and paused time.

mod commands;
mod faults;
mod heartbeats;
mod queries;
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

/// A device service with its store, clock and recorded events.
struct DeviceWorld {
    tree: Tree,
    store: Arc<MemStore>,
    feed: Arc<RecordingPublisher>,
    clock: Clock,
    devices: Devices,
}

/// A device and the key that it signs with.
struct TestDevice {
    id: Arc<str>,
    key: PrivateKey,
}

impl DeviceWorld {
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
            location_observer: None,
        };
        let devices = Devices::start(&tree.group("devices"), Arbiter::current(), options);
        devices.up().await;
        Self { tree, store, feed, clock, devices }
    }

    async fn device(&self) -> TestDevice {
        let key = PrivateKey::generate().unwrap();
        let new = NewDevice { public_key: Some(key.public().to_jwk()), ..new_device() };
        let made = self.devices.register(new, By::System, None).await.unwrap();
        TestDevice { id: made.device["id"].as_str().unwrap().into(), key }
    }

    /// Registers a device that has sent a heartbeat.
    async fn online(&self) -> TestDevice {
        let device = self.device().await;
        self.heartbeat(&device, Heartbeat::default()).await.unwrap();
        self.feed.take();
        device
    }

    fn token(&self, device: &TestDevice) -> String {
        muster_auth::device::sign(&device.key, &device.id, self.clock.now().seconds(), 60).unwrap()
    }

    fn authenticate(&self, device: &TestDevice) -> Result<Arc<str>, muster_core::Error> {
        self.devices.directory().authenticate(&self.token(device), self.clock.now())
    }

    async fn heartbeat(&self, device: &TestDevice, report: Heartbeat) -> Result<HeartbeatResponse, muster_core::Error> {
        self.devices.heartbeat(Arc::clone(&device.id), report, By::Device(Arc::clone(&device.id))).await
    }

    async fn status(&self, device: &TestDevice) -> Status {
        self.devices.get(&device.id).await.unwrap().status
    }

    async fn apply(&self, device: &TestDevice, action: DeviceAction) -> Result<Device, muster_core::Error> {
        let reason = Some("test".to_owned());
        self.devices
            .apply_action(device.id.to_string(), action, reason, By::System, muster_core::precondition::IfMatch::Any)
            .await
    }

    /// Takes the names and data of the events published since the last call.
    fn published(&self) -> Vec<(String, Value)> {
        let events = self.feed.take();
        events.into_iter().map(|event| (event.name, serde_json::from_str(event.data.get()).unwrap())).collect()
    }

    fn published_names(&self) -> Vec<String> {
        self.published().into_iter().map(|(name, _)| name).collect()
    }

    fn commits(&self) -> u64 {
        muster_store::Store::stats(&*self.store).commits
    }
}

fn new_device() -> NewDevice {
    NewDevice { name: "Siren 7".into(), kind: DeviceKind::Siren, description: Description::default(), public_key: None }
}

fn unhealthy() -> Heartbeat {
    Heartbeat { health: Some(Health { battery_pct: Some(1.0), ..Health::default() }), ..Heartbeat::default() }
}

fn healthy() -> Heartbeat {
    Heartbeat { health: Some(Health { battery_pct: Some(90.0), ..Health::default() }), ..Heartbeat::default() }
}

fn new_command(name: &str) -> NewCommand {
    NewCommand { name: name.into(), args: Map::new(), timeout: Duration::from_secs(300) }
}

const SECOND: Duration = Duration::from_secs(1);
