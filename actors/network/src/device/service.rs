//! The public face of devices.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::future::BoxFuture;
use muster_geo::{Point, Shape};
use muster_store::StoreHandle;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};

use super::actor::{DeviceActor, Parts};
use super::beat::{Hear, HeartbeatAnswer};
use super::changes::Changes;
use super::command::{Answer, Command};
use super::directory::{DeviceDirectory, Noted};
use super::entry::Report;
use super::history::{self, HistoryEntry};
use super::key::Given;
use super::messages::{Do, Handed, Heartbeat, Measured, Next, Readings, See, Snapshot};
use super::options::DeviceRules;
use super::orders::{Acknowledge, Give, NewCommand, Ordered};
use super::ports::{Beat, DeviceFilter, FirmwareView, Select, SetFirmware, Target};
use super::read;
use super::record::{Device, Status};
use super::register::{Describe, DevicePatch, NewDevice, Register, Registered};
use super::shift::{Deed, Rotate, Rotated, Shift, WriteFirmware};
use super::state::{Fleet, target};
use super::telemetry::Telemetry;
use super::turn::no_device;
use crate::geofence::Watcher;
use crate::journal::Incarnations;
use muster_core::event::Publisher;
use muster_core::idempotency::Idempotency;
use muster_core::ids::{IdKind, new_id};
use muster_core::page::{Page, PageAsk};
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error};
use muster_feed::{SnapshotRequest, SnapshotSource};
use muster_identity::By;

/// Heartbeats that a slow receiver of [`FirmwareView::beats`] may lag behind.
const BEATS: usize = 8_192;
/// Calls that may wait at a time.
const CALLS: usize = 8_192;

/// What devices need.
#[derive(Clone)]
pub struct DeviceOptions {
    pub store: StoreHandle,
    pub clock: Clock,
    pub publisher: Publisher,
    pub rules: DeviceRules,
    /// Told where devices are.
    pub watcher: Option<Arc<dyn Watcher>>,
}

impl std::fmt::Debug for DeviceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceOptions").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// The devices of the network. Cheap to clone.
#[derive(Clone)]
pub struct Devices {
    handle: Handle<DeviceActor>,
    directory: DeviceDirectory,
    beats: broadcast::Sender<Beat>,
    store: StoreHandle,
}

impl std::fmt::Debug for Devices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Devices").field(&self.handle).finish()
    }
}

impl Devices {
    /// Starts the actor. Nobody is let in until it runs: await [`Devices::up`] before serving.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: DeviceOptions) -> Self {
        let (directory, present) = watch::channel(Arc::default());
        let (beats, _) = broadcast::channel(BEATS);
        let (noted, changes) = (Arc::new(Noted::new()), Arc::new(Changes::new()));
        let DeviceOptions { store, clock, publisher, rules, watcher } = options;
        let parts = Parts {
            store: Arc::clone(&store),
            clock,
            publisher,
            rules,
            directory,
            changes: Arc::clone(&changes),
            beats: beats.clone(),
            noted: Arc::clone(&noted),
            watcher,
            incarnations: Incarnations::default(),
        };
        let handle = group.start(
            ChildSpec::new("devices", arbiter, move |_| {
                let parts = parts.clone();
                async move { DeviceActor::load(parts).await }
            })
            .capacity(CALLS),
        );
        Self { handle, directory: DeviceDirectory::new(present, changes, noted), beats, store }
    }

    /// Waits until the records were read and the actor answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Who is let in, for the guard.
    pub fn directory(&self) -> &DeviceDirectory {
        &self.directory
    }

    /// Registers a device; durable when this resolves.
    ///
    /// # Errors
    /// `Invalid` key; `Conflict` where the key is another device's or there are too many; `IdempotencyConflict`.
    pub async fn register(
        &self,
        new: NewDevice,
        by: By,
        idempotency: Option<Idempotency>,
    ) -> Result<Registered, Error> {
        let given = Given::take(new.public_key.as_ref())?;
        let id = new_id(IdKind::Device).into();
        self.handle.ask(Do(Register { id, new, given, by, idempotency })).await?
    }

    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, id: &str) -> Result<Device, Error> {
        let wanted = id.to_owned();
        let found = self.see(move |fleet| fleet.entry(&wanted).map(|entry| entry.device.clone())).await?;
        found.ok_or_else(|| no_device(id))
    }

    /// A page, newest first. A page may be short of its limit and still have a next one: a page looks at 20,000 devices.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, filter: DeviceFilter, ask: PageAsk) -> Result<Page<Device>, Error> {
        self.see(move |fleet| fleet.list(&filter, &ask)).await
    }

    /// The nearest devices, nearest first, with their distance in metres.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn near(&self, at: Point, radius_m: f64, limit: usize) -> Result<Vec<(Device, f64)>, Error> {
        self.see(move |fleet| fleet.near(&at, radius_m, limit)).await
    }

    /// A page of the devices in a shape, newest first, and how many there are in all.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn within(&self, shape: Shape, ask: PageAsk) -> Result<(Page<Device>, usize), Error> {
        self.see(move |fleet| fleet.within(&shape, &ask)).await
    }

    /// Changes what people say of a device.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Conflict` of a retired device.
    pub async fn describe(&self, id: String, patch: DevicePatch, by: By, version: IfMatch) -> Result<Device, Error> {
        self.handle.ask(Do(Describe { id, patch, by, version })).await?
    }

    /// Does something with a device.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Conflict` with the allowed moves.
    pub async fn shift(
        &self,
        id: String,
        deed: Deed,
        reason: Option<String>,
        by: By,
        version: IfMatch,
    ) -> Result<Device, Error> {
        self.handle.ask(Do(Shift { id, deed, reason, by, version })).await?
    }

    /// Gives a device another key: this public JWK, or a new pair. The old one is taken for `grace` yet.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` key; `Conflict` of a retired device or a key in use.
    pub async fn rotate(&self, id: String, jwk: Option<Value>, grace: Duration, by: By) -> Result<Rotated, Error> {
        let given = Given::take(jwk.as_ref())?;
        self.handle.ask(Do(Rotate { id, given, grace, by })).await?
    }

    /// A heartbeat.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` of a quarantined or retired device.
    pub async fn heartbeat(&self, id: Arc<str>, report: Report, by: By) -> Result<HeartbeatAnswer, Error> {
        self.handle.ask(Heartbeat(Hear { id, report: Arc::new(report), by })).await?
    }

    /// New readings; gives all of the device's. Written within a minute, not before this resolves.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` names the reading; `Conflict` of a quarantined or retired device.
    pub async fn measured(&self, device: Arc<str>, values: Map<String, Value>, by: By) -> Result<Telemetry, Error> {
        self.handle.ask(Measured { device, values, by }).await?
    }

    /// The latest readings.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn telemetry(&self, device: String) -> Result<Telemetry, Error> {
        self.handle.ask(Readings { device }).await?
    }

    /// Gives a device something to do; durable when this resolves.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` of a device that is not trusted or has too many; `IdempotencyConflict`.
    pub async fn command(
        &self,
        device: String,
        new: NewCommand,
        by: By,
        idempotency: Option<Idempotency>,
    ) -> Result<Ordered, Error> {
        let id = new_id(IdKind::Command);
        self.handle.ask(Do(Give { id, device, new, by, idempotency })).await?
    }

    /// The next command of a device: at once where one waits, else as soon as one is given, `None` after `wait`.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn next_command(&self, device: Arc<str>, wait: Duration) -> Result<Option<Command>, Error> {
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            match self.handle.ask(Next { device: Arc::clone(&device) }).await?? {
                Handed::Command(command) => return Ok(Some(*command)),
                Handed::Wait(woken) => match tokio::time::timeout_at(deadline, woken).await {
                    Ok(Ok(())) => {}
                    // A later call of the device waits in its place, the actor is gone, or the time is over.
                    Ok(Err(_)) | Err(_) => return Ok(None),
                },
            }
        }
    }

    /// A device's answer to a command. The same answer again is none.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` where the command ended otherwise.
    pub async fn acknowledge(
        &self,
        device: Arc<str>,
        command: String,
        answer: Answer,
        result: Option<Value>,
    ) -> Result<Command, Error> {
        self.handle.ask(Do(Acknowledge { device, command, answer, result })).await?
    }

    /// A page of a device's commands, newest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn commands(&self, device: &str, ask: PageAsk) -> Result<Page<Command>, Error> {
        self.get(device).await?;
        read::commands(&self.store, device, &ask)
    }

    /// A page of what happened to a device, newest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn history(&self, device: &str, ask: PageAsk) -> Result<Page<HistoryEntry>, Error> {
        self.get(device).await?;
        history::read(&self.store, device, &ask)
    }

    async fn see<R: Send + 'static>(&self, look: impl FnOnce(&Fleet) -> R + Send + 'static) -> Result<R, Error> {
        Ok(self.handle.ask(See::new(look)).await?)
    }

    async fn targets(&self, filter: DeviceFilter) -> Result<Vec<Target>, Error> {
        let (mut all, mut after) = (Vec::new(), None::<Arc<str>>);
        loop {
            let (filter, from) = (filter.clone(), after.take());
            let (targets, next) = self.see(move |fleet| fleet.targets(&filter, from.as_deref())).await?;
            all.extend(targets);
            after = next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }
}

impl SnapshotSource for Devices {
    fn request(&self, ask: SnapshotRequest) {
        // One that is refused answers by its drop.
        let _ = self.handle.try_send(Snapshot::new(ask));
    }
}

impl FirmwareView for Devices {
    fn select(&self, select: Select) -> BoxFuture<'static, Result<Vec<Target>, Error>> {
        let devices = self.clone();
        Box::pin(async move {
            match select {
                Select::Ids(ids) => {
                    let found = move |fleet: &Fleet| {
                        let entries = ids.iter().filter_map(|id| fleet.entry(id));
                        let present = entries.filter(|entry| entry.device.status != Status::Retired);
                        present.map(|entry| target(&entry.device)).collect()
                    };
                    devices.see(found).await
                }
                Select::Group(group) => {
                    devices.targets(DeviceFilter { group: Some(group), ..DeviceFilter::default() }).await
                }
                Select::Query(filter) => devices.targets(filter).await,
            }
        })
    }

    fn set_firmware(&self, id: Arc<str>, set: SetFirmware) -> BoxFuture<'static, Result<(), Error>> {
        let handle = self.handle.clone();
        Box::pin(async move { handle.ask(Do(WriteFirmware { id, set })).await? })
    }

    fn beats(&self) -> broadcast::Receiver<Beat> {
        self.beats.subscribe()
    }
}

impl muster_identity::DeviceDirectory for DeviceDirectory {
    fn authenticate(&self, token: &str, now: muster_core::Millis) -> Result<Arc<str>, Error> {
        Self::authenticate(self, token, now)
    }
}
