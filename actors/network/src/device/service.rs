//! The service of devices.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_geo::{Point, Shape};
use muster_store::StoreHandle;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};

use super::actions::{ApplyAction, DeviceAction, Rotate, Rotated};
use super::actor::{DeviceActor, DeviceResources};
use super::command::{Command, CommandOutcome};
use super::command_changes::{AcknowledgeCommand, NewCommand, QueueCommand, QueuedCommand};
use super::credential_changes::CredentialChanges;
use super::credentials::NewKey;
use super::directory::{BadSignatureQueue, DeviceDirectory};
use super::entry::Heartbeat;
use super::heartbeat::{HeartbeatResponse, RecordHeartbeat};
use super::history::{self, HistoryEntry};
use super::messages::{
    ApplyChange, GetReadings, HandleHeartbeat, NextCommand, NextCommandReply, ReadFleet, RecordReadings,
};
use super::options::DeviceRules;
use super::ports::{DeviceFilter, ReceivedHeartbeat};
use super::queries;
use super::record::Device;
use super::register::{Describe, DevicePatch, NewDevice, Register, Registered};
use super::state::Fleet;
use super::telemetry::Telemetry;
use super::transaction::no_device;
use crate::geofence::LocationObserver;
use crate::journal::Incarnations;
use muster_core::event::Publisher;
use muster_core::idempotency::Idempotency;
use muster_core::ids::{IdKind, new_id};
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error};
use muster_identity::By;

/// Number of heartbeats that a receiver of [`super::FirmwareView::heartbeats`] may lag behind.
const BEATS: usize = 8_192;
/// Largest number of messages that may wait for the actor.
const CALLS: usize = 8_192;

/// Dependencies and rules of [`Devices`].
#[derive(Clone)]
pub struct DeviceOptions {
    /// Store of the records.
    pub store: StoreHandle,
    /// Clock of the server.
    pub clock: Clock,
    /// Publisher of the device events.
    pub publisher: Publisher,
    /// Rules by which devices are judged and bounded.
    pub rules: DeviceRules,
    /// Notified of the locations of devices.
    pub location_observer: Option<Arc<dyn LocationObserver>>,
}

impl std::fmt::Debug for DeviceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceOptions").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Service of the network's devices. Cheap to clone.
#[derive(Clone)]
pub struct Devices {
    pub(super) handle: Handle<DeviceActor>,
    directory: DeviceDirectory,
    pub(super) heartbeats: broadcast::Sender<ReceivedHeartbeat>,
    store: StoreHandle,
}

impl std::fmt::Debug for Devices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Devices").field(&self.handle).finish()
    }
}

impl Devices {
    /// Starts the actor. No device can authenticate until it runs: await [`Devices::up`] before serving.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: DeviceOptions) -> Self {
        let (directory, present) = watch::channel(Arc::default());
        let (heartbeats, _) = broadcast::channel(BEATS);
        let (bad_signatures, changes) = (Arc::new(BadSignatureQueue::new()), Arc::new(CredentialChanges::new()));
        let DeviceOptions { store, clock, publisher, rules, location_observer } = options;
        let resources = DeviceResources {
            store: Arc::clone(&store),
            clock,
            publisher,
            rules,
            directory,
            changes: Arc::clone(&changes),
            heartbeats: heartbeats.clone(),
            bad_signatures: Arc::clone(&bad_signatures),
            location_observer,
            incarnations: Incarnations::default(),
        };
        let handle = group.start(
            ChildSpec::new("devices", arbiter, move |_| {
                let resources = resources.clone();
                async move { DeviceActor::load(resources).await }
            })
            .capacity(CALLS),
        );
        Self { handle, directory: DeviceDirectory::new(present, changes, bad_signatures), heartbeats, store }
    }

    /// Waits until the actor has read its records and answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Returns the view by which requests of devices are authenticated.
    pub fn directory(&self) -> &DeviceDirectory {
        &self.directory
    }

    /// Registers a device; durable when this returns.
    ///
    /// # Errors
    /// `Invalid` for a malformed key; `Conflict` if another device holds the key or the number of devices is exhausted;
    /// `IdempotencyConflict`.
    pub async fn register(
        &self,
        new: NewDevice,
        by: By,
        idempotency: Option<Idempotency>,
    ) -> Result<Registered, Error> {
        let new_key = NewKey::from_jwk(new.public_key.as_ref())?;
        let id = new_id(IdKind::Device).into();
        self.handle.ask(ApplyChange(Register { id, new, new_key, by, idempotency })).await?
    }

    /// Returns a device.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, id: &str) -> Result<Device, Error> {
        let wanted = id.to_owned();
        let found = self.see(move |fleet| fleet.entry(&wanted).map(|entry| entry.device.clone())).await?;
        found.ok_or_else(|| no_device(id))
    }

    /// Returns a page of the matching devices, newest first. A page may hold fewer devices than its limit and still
    /// have a successor, because one page scans at most 20,000 devices.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, filter: DeviceFilter, params: PageParams) -> Result<Page<Device>, Error> {
        self.see(move |fleet| fleet.list(&filter, &params)).await
    }

    /// Returns the number of devices whose firmware has drifted.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn drifted(&self) -> Result<usize, Error> {
        self.see(Fleet::drifted).await
    }

    /// Returns the devices within `radius_m` metres of a point, nearest first, with their distance in metres.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn near(&self, at: Point, radius_m: f64, limit: usize) -> Result<Vec<(Device, f64)>, Error> {
        self.see(move |fleet| fleet.near(&at, radius_m, limit)).await
    }

    /// Returns a page of the devices in a shape, newest first, and how many there are in all.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn within(&self, shape: Shape, params: PageParams) -> Result<(Page<Device>, usize), Error> {
        self.see(move |fleet| fleet.within(&shape, &params)).await
    }

    /// Changes the description of a device.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed` if `version` is not the current one; `Conflict` for a retired device.
    pub async fn describe(&self, id: String, patch: DevicePatch, by: By, version: IfMatch) -> Result<Device, Error> {
        self.handle.ask(ApplyChange(Describe { id, patch, by, version })).await?
    }

    /// Applies an action of an operator to a device.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Conflict` with the allowed actions.
    pub async fn apply_action(
        &self,
        id: String,
        action: DeviceAction,
        reason: Option<String>,
        by: By,
        version: IfMatch,
    ) -> Result<Device, Error> {
        self.handle.ask(ApplyChange(ApplyAction { id, action, reason, by, version })).await?
    }

    /// Replaces the key of a device by this public JWK, or by a generated pair. The old key stays valid for `grace`.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a malformed key; `Conflict` for a retired device or a key in use.
    pub async fn rotate(&self, id: String, jwk: Option<Value>, grace: Duration, by: By) -> Result<Rotated, Error> {
        let new_key = NewKey::from_jwk(jwk.as_ref())?;
        self.handle.ask(ApplyChange(Rotate { id, new_key, grace, by })).await?
    }

    /// Applies a heartbeat. What it changes is durable when this returns, except for `last_seen`, `health` and small
    /// movements, which are stored within a minute.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a quarantined or retired device.
    pub async fn heartbeat(&self, id: Arc<str>, report: Heartbeat, by: By) -> Result<HeartbeatResponse, Error> {
        self.handle.ask(HandleHeartbeat(RecordHeartbeat { id, report: Arc::new(report), by })).await?
    }

    /// Merges new readings and returns all readings of the device. They are stored within a minute, not before this
    /// returns.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` with the reading; `Conflict` for a quarantined or retired device.
    pub async fn measured(&self, device: Arc<str>, values: Map<String, Value>, by: By) -> Result<Telemetry, Error> {
        self.handle.ask(RecordReadings { device, values, by }).await?
    }

    /// Returns the latest readings of a device.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn telemetry(&self, device: String) -> Result<Telemetry, Error> {
        self.handle.ask(GetReadings { device }).await?
    }

    /// Queues a command for a device; durable when this returns.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the device is not trusted or has too many unfinished commands; `IdempotencyConflict`.
    pub async fn command(
        &self,
        device: String,
        new: NewCommand,
        by: By,
        idempotency: Option<Idempotency>,
    ) -> Result<QueuedCommand, Error> {
        let id = new_id(IdKind::Command);
        self.handle.ask(ApplyChange(QueueCommand { id, device, new, by, idempotency })).await?
    }

    /// Delivers the next command of a device: at once if one waits, otherwise as soon as one is queued, `None` after
    /// `wait`.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn next_command(&self, device: Arc<str>, wait: Duration) -> Result<Option<Command>, Error> {
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            match self.handle.ask(NextCommand { device: Arc::clone(&device) }).await?? {
                NextCommandReply::Command(command) => return Ok(Some(*command)),
                NextCommandReply::Wait(woken) => match tokio::time::timeout_at(deadline, woken).await {
                    Ok(Ok(())) => {}
                    // A later call of the device has replaced this one, the actor is gone, or the time is over.
                    Ok(Err(_)) | Err(_) => return Ok(None),
                },
            }
        }
    }

    /// Acknowledges a command. Repeating the same outcome changes nothing.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the command has finished with another outcome.
    pub async fn acknowledge(
        &self,
        device: Arc<str>,
        command: String,
        answer: CommandOutcome,
        result: Option<Value>,
    ) -> Result<Command, Error> {
        self.handle.ask(ApplyChange(AcknowledgeCommand { device, command, answer, result })).await?
    }

    /// Returns a page of the commands of a device, newest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn commands(&self, device: &str, params: PageParams) -> Result<Page<Command>, Error> {
        self.get(device).await?;
        queries::commands(&self.store, device, &params)
    }

    /// Returns a page of the history of a device, newest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn history(&self, device: &str, params: PageParams) -> Result<Page<HistoryEntry>, Error> {
        self.get(device).await?;
        history::read(&self.store, device, &params)
    }

    pub(super) async fn see<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Fleet) -> R + Send + 'static,
    ) -> Result<R, Error> {
        Ok(self.handle.ask(ReadFleet::new(look)).await?)
    }
}

impl muster_identity::DeviceDirectory for DeviceDirectory {
    fn authenticate(&self, token: &str, now: muster_core::Millis) -> Result<Arc<str>, Error> {
        Self::authenticate(self, token, now)
    }
}
