//! Snapshots of the state behind the channels of devices.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use serde_json::value::to_raw_value;

use super::actor::DeviceActor;
use super::entry::DeviceEntry;
use super::heartbeat::health_summary;
use super::messages::TakeSnapshot;
use super::record::Status;
use super::service::Devices;
use muster_core::principal::Permission;
use muster_feed::{Denied, SnapshotRequest, SnapshotSource, StateItem};

/// Largest number of devices in a snapshot of `devices`, the newest; the full list is available over HTTP.
const MAX_ITEMS: usize = 10_000;

/// Returns the state behind `devices`, `devices:{id}` or `devices:{id}:telemetry`.
pub(super) fn state(actor: &mut DeviceActor, request: &SnapshotRequest) -> Result<Vec<StateItem>, Denied> {
    let mut resources = request.channel.split(':');
    if resources.next() != Some("devices") {
        return Err(Denied::NotFound);
    }
    let (id, topic) = (resources.next(), resources.next());
    let itself = id.is_some_and(|id| *request.viewer.id == *id);
    if !itself && !request.viewer.permissions.has(Permission::DevicesRead) {
        return Err(Denied::NotFound);
    }
    let Some(id) = id else {
        let visible = actor.fleet.newest().filter(|entry| entry.device.status != Status::Retired);
        return visible.take(MAX_ITEMS).map(item).collect();
    };
    let entry = actor.fleet.entry(id).ok_or(Denied::NotFound)?;
    match (topic, resources.next()) {
        (None, None) => Ok(vec![item(entry)?]),
        (Some("telemetry"), None) => {
            let (id, version) = (Arc::clone(&entry.device.id), entry.device.version);
            let health = one("health", version, &health_summary(&entry.device))?;
            let readings = actor.readings(&id).map_err(|_| Denied::Unavailable)?;
            let readings = json!({ "id": id, "readings": readings.readings });
            Ok(vec![health, one("readings", version, &readings)?])
        }
        _ => Err(Denied::NotFound),
    }
}

fn item(entry: &DeviceEntry) -> Result<StateItem, Denied> {
    one(&entry.device.id, entry.device.version, &entry.device)
}

fn one(id: &str, version: u64, data: &impl Serialize) -> Result<StateItem, Denied> {
    let data = to_raw_value(data).map_err(|_| Denied::Unavailable)?;
    Ok(StateItem { id: id.to_owned(), version, data })
}

impl SnapshotSource for Devices {
    fn request(&self, request: SnapshotRequest) {
        // A rejected message answers when it is dropped.
        let _ = self.handle.try_send(TakeSnapshot::new(request));
    }
}
