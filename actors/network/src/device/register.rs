//! Devices are registered and described.

use std::sync::Arc;

use muster_auth::Secret;
use muster_geo::Point;
use serde_json::{Map, Value, json};

use super::entry::{Entry, Live};
use super::key::Given;
use super::messages::Act;
use super::record::{Device, DeviceKind, Firmware, Health, Status};
use super::trust::Boots;
use super::turn::{Edit, Turn, told};
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};
use muster_identity::By;

/// What a new device is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDevice {
    pub name: String,
    pub kind: DeviceKind,
    pub description: Description,
    /// Its public key as a JWK; where there is none, the server makes a pair.
    pub public_key: Option<Value>,
}

/// What people say of a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    pub serial: Option<String>,
    pub vendor: Option<String>,
    pub hw_class: Option<String>,
    pub hw_revision: Option<String>,
    pub tags: Vec<String>,
    pub groups: Vec<String>,
    pub location: Option<Point>,
    pub location_accuracy_m: Option<f64>,
    pub heartbeat_s: Option<u32>,
    pub owner_org: Option<String>,
    pub capabilities: Vec<String>,
    pub metadata: Map<String, Value>,
}

/// Seconds between heartbeats where nobody says otherwise.
pub const DEFAULT_HEARTBEAT_S: u32 = 60;

/// A device was registered.
#[derive(Debug, Clone)]
pub struct Registered {
    pub device: Value,
    /// The private half of a key that the server made. It is shown this once.
    pub private_key: Option<Secret<Value>>,
    pub replayed: bool,
}

/// Registers a device.
#[derive(Debug)]
pub(super) struct Register {
    pub(super) id: Arc<str>,
    pub(super) new: NewDevice,
    pub(super) given: Given,
    pub(super) by: By,
    pub(super) idempotency: Option<Idempotency>,
}

impl Act for Register {
    type Answer = Registered;

    fn act(self, turn: &mut Turn<'_>) -> Result<Registered, Error> {
        let Self { id, new, given, by, idempotency } = self;
        if let Some(device) = turn.replay(idempotency.as_ref())? {
            return Ok(Registered { device, private_key: None, replayed: true });
        }
        if turn.fleet.len() + turn.pending.len() >= turn.rules.max_devices {
            let full = format!(
                "this server keeps at most {} devices: retire some, or raise the limit",
                turn.rules.max_devices
            );
            return Err(Error::new(Kind::Conflict, full).coded("too_many_devices"));
        }
        free(turn, &id, &given.key.kid)?;
        let now = turn.now;
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
            credentials: Some(given.key.credentials(now)),
            owner_org: new.description.owner_org,
            capabilities: new.description.capabilities,
            metadata: new.description.metadata,
            version: 1,
            created_at: now,
            created_by: by.id().to_owned(),
            updated_at: now,
        };
        let entry = Entry {
            told: device.status,
            device,
            keys: vec![given.key],
            boots: Boots::default(),
            history: 0,
            open: Vec::new(),
            live: Live::default(),
        };
        let mut edit = Edit::of(entry, None);
        if let Some(place) = location {
            edit.entry.place(place, new.description.location_accuracy_m);
            edit.entry.live.located = Some((place, now));
            edit.moved = Some(Some(place));
        }
        edit.note(now, by.id(), "registered", None)?;
        edit.audit(now, &by, "device.registered", json!({ "kid": edit.entry.keys.first().map(|key| &key.kid) }));
        let device = json!(edit.entry.device);
        let data = json!({ "id": id, "version": 1, "data": device });
        edit.events.push(told("device.created", now, &edit.entry.device, &data));
        edit.answer = idempotency.map(|asked| (asked, device.clone()));
        turn.save(edit)?;
        Ok(Registered { device, private_key: given.private, replayed: false })
    }
}

/// A key belongs to one device.
pub(super) fn free(turn: &Turn<'_>, id: &str, kid: &str) -> Result<(), Error> {
    let holder = turn.pending.holder(kid).or_else(|| turn.fleet.holder(kid));
    match holder.filter(|holder| ***holder != *id) {
        None => Ok(()),
        Some(holder) => {
            let message = format!("this key is {holder}'s: each device has a pair of its own");
            Err(Error::new(Kind::Conflict, message).coded("key_in_use"))
        }
    }
}

/// What is to be changed in a description. `None` leaves a part as it is; `Some(None)` empties it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DevicePatch {
    pub name: Option<String>,
    pub kind: Option<DeviceKind>,
    pub serial: Option<Option<String>>,
    pub vendor: Option<Option<String>>,
    pub hw_class: Option<Option<String>>,
    pub hw_revision: Option<Option<String>>,
    pub tags: Option<Vec<String>>,
    pub groups: Option<Vec<String>>,
    pub location: Option<Option<Point>>,
    pub location_accuracy_m: Option<Option<f64>>,
    pub heartbeat_s: Option<u32>,
    pub owner_org: Option<Option<String>>,
    pub capabilities: Option<Vec<String>>,
    pub metadata: Option<Map<String, Value>>,
}

/// Changes a description.
#[derive(Debug)]
pub(super) struct Describe {
    pub(super) id: String,
    pub(super) patch: DevicePatch,
    pub(super) by: By,
    pub(super) version: IfMatch,
}

impl Act for Describe {
    type Answer = Device;

    fn act(self, turn: &mut Turn<'_>) -> Result<Device, Error> {
        let Self { id, patch, by, version } = self;
        let mut edit = turn.edit(&id)?;
        version.check(edit.entry.device.version)?;
        if edit.entry.device.status == Status::Retired {
            return Err(retired());
        }
        let (before, place) = (edit.entry.device.clone(), edit.entry.device.location);
        apply(&mut edit, patch);
        if edit.entry.device == before {
            return Ok(before);
        }
        edit.bump(turn.now);
        if edit.entry.device.location != place {
            edit.moved = Some(edit.entry.device.location);
            edit.entry.live.located = edit.entry.device.location.map(|place| (place, turn.now));
        }
        edit.watch(turn);
        let more = Map::from_iter([("by".to_owned(), json!(by.id()))]);
        edit.event("device.updated", turn.now, more);
        let device = edit.entry.device.clone();
        turn.save(edit)?;
        Ok(device)
    }
}

fn apply(edit: &mut Edit, patch: DevicePatch) {
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
