//! Registration of devices and changes of their descriptions.

use std::sync::Arc;

use muster_auth::Secret;
use muster_geo::Point;
use serde_json::{Map, Value, json};

use super::credentials::NewKey;
use super::entry::{DeviceEntry, DeviceRuntime};
use super::messages::DeviceChange;
use super::record::{Device, DeviceKind, Firmware, Health, Status};
use super::transaction::{DeviceEdit, DeviceTransaction, device_event};
use super::trust::Boots;
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};
use muster_identity::By;

/// A device to be registered.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDevice {
    /// Name given by people.
    pub name: String,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Descriptive fields.
    pub description: Description,
    /// Public key as a JWK (Ed25519); without one the server generates a pair.
    pub public_key: Option<Value>,
}

/// Descriptive fields of a new device; see [`Device`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    /// Serial number.
    pub serial: Option<String>,
    /// Manufacturer.
    pub vendor: Option<String>,
    /// Hardware class, which firmware manifests name.
    pub hw_class: Option<String>,
    /// Hardware revision.
    pub hw_revision: Option<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Groups that the device belongs to.
    pub groups: Vec<String>,
    /// Location.
    pub location: Option<Point>,
    /// Accuracy of the location in metres.
    pub location_accuracy_m: Option<f64>,
    /// Interval between heartbeats in seconds; 60 by default.
    pub heartbeat_s: Option<u32>,
    /// Organisation that owns the device.
    pub owner_org: Option<String>,
    /// Capabilities, for example the commands that the device accepts.
    pub capabilities: Vec<String>,
    /// Free-form metadata, at most 8 KiB of JSON.
    pub metadata: Map<String, Value>,
}

/// Default interval between heartbeats, in seconds.
pub(super) const DEFAULT_HEARTBEAT_S: u32 = 60;

/// Result of a registration.
#[derive(Debug, Clone)]
pub struct Registered {
    /// The device as JSON; on replay the body of the first response.
    pub device: Value,
    /// The private key as a JWK, if the server generated it. It is returned only here, not on replay.
    pub private_key: Option<Secret<Value>>,
    /// Whether this repeats the response to an earlier request with the same idempotency key.
    pub replayed: bool,
}

/// Registers a device.
#[derive(Debug)]
pub(super) struct Register {
    pub(super) id: Arc<str>,
    pub(super) new: NewDevice,
    pub(super) new_key: NewKey,
    pub(super) by: By,
    pub(super) idempotency: Option<Idempotency>,
}

impl DeviceChange for Register {
    type Output = Registered;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<Registered, Error> {
        let Self { id, new, new_key, by, idempotency } = self;
        if let Some(device) = transaction.replay(idempotency.as_ref())? {
            return Ok(Registered { device, private_key: None, replayed: true });
        }
        if transaction.fleet.len() + transaction.pending.len() >= transaction.rules.max_devices {
            let full = format!(
                "this server keeps at most {} devices: retire some, or raise the limit",
                transaction.rules.max_devices
            );
            return Err(Error::new(Kind::Conflict, full).coded("too_many_devices"));
        }
        free(transaction, &id, &new_key.key.kid)?;
        let now = transaction.now;
        let Description { serial, vendor, hw_class, hw_revision, tags, groups, location, .. } = new.description;
        let device = Device {
            id: Arc::clone(&id),
            name: new.name,
            kind: new.kind,
            serial,
            vendor,
            hw_class,
            hw_revision,
            tags,
            groups,
            status: Status::Provisioned,
            status_since: now,
            location: None,
            location_accuracy_m: None,
            geohash: None,
            h3: None,
            firmware: Firmware::default(),
            health: Health::default(),
            last_seen: None,
            heartbeat_s: new.description.heartbeat_s.unwrap_or(DEFAULT_HEARTBEAT_S),
            credentials: Some(new_key.key.credentials(now)),
            owner_org: new.description.owner_org,
            capabilities: new.description.capabilities,
            metadata: new.description.metadata,
            version: 1,
            created_at: now,
            created_by: by.id().to_owned(),
            updated_at: now,
        };
        let entry = DeviceEntry {
            published_status: device.status,
            device,
            keys: vec![new_key.key],
            boots: Boots::default(),
            history: 0,
            open: Vec::new(),
            runtime: DeviceRuntime::default(),
        };
        let mut edit = DeviceEdit::of(entry, None);
        if let Some(place) = location {
            edit.entry.place(place, new.description.location_accuracy_m);
            edit.entry.runtime.published_location = Some((place, now));
            edit.moved = Some(Some(place));
        }
        edit.note(now, by.id(), "registered", None)?;
        edit.audit(now, &by, "device.registered", json!({ "kid": edit.entry.keys.first().map(|key| &key.kid) }));
        let device = json!(edit.entry.device);
        edit.events.push(device_event("device.created", now, &edit.entry.device, &device));
        edit.answer = idempotency.map(|request| (request, device.clone()));
        transaction.save(edit)?;
        Ok(Registered { device, private_key: new_key.private, replayed: false })
    }
}

/// Checks that no other device holds a key.
pub(super) fn free(transaction: &DeviceTransaction<'_>, id: &str, kid: &str) -> Result<(), Error> {
    let holder = transaction.pending.holder(kid).or_else(|| transaction.fleet.holder(kid));
    match holder.filter(|holder| ***holder != *id) {
        None => Ok(()),
        Some(holder) => {
            let message = format!("this key is {holder}'s: each device has a pair of its own");
            Err(Error::new(Kind::Conflict, message).coded("key_in_use"))
        }
    }
}

/// Changes of a device's description; see [`Device`]. `None` leaves a field as it is; `Some(None)` clears it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DevicePatch {
    /// Name given by people.
    pub name: Option<String>,
    /// Kind of the device.
    pub kind: Option<DeviceKind>,
    /// Serial number.
    pub serial: Option<Option<String>>,
    /// Manufacturer.
    pub vendor: Option<Option<String>>,
    /// Hardware class.
    pub hw_class: Option<Option<String>>,
    /// Hardware revision.
    pub hw_revision: Option<Option<String>>,
    /// Tags; replaces all.
    pub tags: Option<Vec<String>>,
    /// Groups; replaces all.
    pub groups: Option<Vec<String>>,
    /// Location.
    pub location: Option<Option<Point>>,
    /// Accuracy of the location in metres.
    pub location_accuracy_m: Option<Option<f64>>,
    /// Interval between heartbeats, in seconds.
    pub heartbeat_s: Option<u32>,
    /// Organisation that owns the device.
    pub owner_org: Option<Option<String>>,
    /// Capabilities; replaces all.
    pub capabilities: Option<Vec<String>>,
    /// Free-form metadata; replaces all of it.
    pub metadata: Option<Map<String, Value>>,
}

/// Changes the description of a device.
#[derive(Debug)]
pub(super) struct Describe {
    pub(super) id: String,
    pub(super) patch: DevicePatch,
    pub(super) by: By,
    pub(super) version: IfMatch,
}

impl DeviceChange for Describe {
    type Output = Device;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<Device, Error> {
        let Self { id, patch, by, version } = self;
        let mut edit = transaction.edit(&id)?;
        version.check(edit.entry.device.version)?;
        if edit.entry.device.status == Status::Retired {
            return Err(retired());
        }
        let (before, place) = (edit.entry.device.clone(), edit.entry.device.location);
        apply(&mut edit, patch);
        if edit.entry.device == before {
            return Ok(before);
        }
        edit.bump(transaction.now);
        if edit.entry.device.location != place {
            edit.moved = Some(edit.entry.device.location);
            edit.entry.runtime.published_location = edit.entry.device.location.map(|place| (place, transaction.now));
        }
        edit.watch(transaction);
        let more = Map::from_iter([("by".to_owned(), json!(by.id()))]);
        edit.event("device.updated", transaction.now, more);
        let device = edit.entry.device.clone();
        transaction.save(edit)?;
        Ok(device)
    }
}

fn apply(edit: &mut DeviceEdit, patch: DevicePatch) {
    fn set<T>(to: &mut T, new: Option<T>) {
        if let Some(new) = new {
            *to = new;
        }
    }
    let accuracy = patch.location_accuracy_m.unwrap_or(edit.entry.device.location_accuracy_m);
    let device = &mut edit.entry.device;
    set(&mut device.name, patch.name);
    set(&mut device.kind, patch.kind);
    set(&mut device.serial, patch.serial);
    set(&mut device.vendor, patch.vendor);
    set(&mut device.hw_class, patch.hw_class);
    set(&mut device.hw_revision, patch.hw_revision);
    set(&mut device.tags, patch.tags);
    set(&mut device.groups, patch.groups);
    set(&mut device.heartbeat_s, patch.heartbeat_s);
    set(&mut device.owner_org, patch.owner_org);
    set(&mut device.capabilities, patch.capabilities);
    set(&mut device.metadata, patch.metadata);
    device.location_accuracy_m = accuracy;
    match patch.location {
        None => {}
        Some(Some(place)) => drop(edit.entry.place(place, accuracy)),
        Some(None) => {
            let device = &mut edit.entry.device;
            (device.location, device.location_accuracy_m, device.geohash, device.h3) = (None, None, None, None);
        }
    }
}

pub(super) fn retired() -> Error {
    Error::new(Kind::Conflict, "the device is retired: nothing of it changes any more").coded("device_retired")
}
