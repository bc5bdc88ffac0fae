//! The state behind the channels of devices.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use serde_json::value::to_raw_value;

use super::actor::DeviceActor;
use super::beat::vitals;
use super::entry::Entry;
use super::record::Status;
use muster_core::principal::Permission;
use muster_feed::{Denied, SnapshotRequest, StateItem};

/// Devices that the state of `devices` holds at most, the newest: who needs more reads the list over HTTP.
const MAX_ITEMS: usize = 10_000;

/// `devices`, `devices:{id}` or `devices:{id}:telemetry`.
pub(super) fn state(actor: &mut DeviceActor, ask: &SnapshotRequest) -> Result<Vec<StateItem>, Denied> {
    let mut parts = ask.channel.split(':');
    if parts.next() != Some("devices") {
        return Err(Denied::NotFound);
    }
    let (id, topic) = (parts.next(), parts.next());
    let itself = id.is_some_and(|id| *ask.viewer.id == *id);
    if !itself && !ask.viewer.permissions.has(Permission::DevicesRead) {
        return Err(Denied::NotFound);
    }
    let Some(id) = id else {
        let shown = actor.fleet.newest().filter(|entry| entry.device.status != Status::Retired);
        return shown.take(MAX_ITEMS).map(item).collect();
    };
    let entry = actor.fleet.entry(id).ok_or(Denied::NotFound)?;
    match (topic, parts.next()) {
        (None, None) => Ok(vec![item(entry)?]),
        (Some("telemetry"), None) => {
            let (id, version) = (Arc::clone(&entry.device.id), entry.device.version);
            let health = one("health", version, &vitals(&entry.device))?;
            let readings = actor.readings(&id).map_err(|_| Denied::Unavailable)?;
            let readings = json!({ "id": id, "readings": readings.readings });
            Ok(vec![health, one("readings", version, &readings)?])
        }
        _ => Err(Denied::NotFound),
    }
}

fn item(entry: &Entry) -> Result<StateItem, Denied> {
    one(&entry.device.id, entry.device.version, &entry.device)
}

fn one(id: &str, version: u64, data: &impl Serialize) -> Result<StateItem, Denied> {
    let data = to_raw_value(data).map_err(|_| Denied::Unavailable)?;
    Ok(StateItem { id: id.to_owned(), version, data })
}
