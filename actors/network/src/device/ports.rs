//! The interface of devices for other features of this crate.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::broadcast;

use super::actions::WriteFirmware;
use super::messages::ApplyChange;
use super::record::{DeviceKind, Firmware, FirmwareSync as InSync, FirmwareVersion, Slot, Status};
use super::service::Devices;
use super::state::{Fleet, target};
use muster_core::{Error, Millis};

/// Filter of devices. All fields that are set must match; the empty filter matches every device. Retired devices match
/// only by their status.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceFilter {
    /// Status.
    pub status: Option<Status>,
    /// Kind.
    pub kind: Option<DeviceKind>,
    /// Tag.
    pub tag: Option<String>,
    /// Group.
    pub group: Option<String>,
    /// Hardware class.
    pub hw_class: Option<String>,
    /// Whether the firmware has drifted.
    pub drift: Option<bool>,
    /// Part of the name, serial number or identifier, ignoring case.
    pub q: Option<String>,
    /// Bounding box as west, south, east, north in degrees; west > east crosses the antimeridian.
    pub bbox: Option<[f64; 4]>,
}

/// Selection of the devices of a rollout.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceSelection {
    /// Devices by identifier; unknown ones are omitted from the result.
    Ids(Vec<Arc<str>>),
    /// All devices of a group.
    Group(String),
    /// All devices that match a filter.
    Query(DeviceFilter),
}

/// Fields of a device that a rollout needs; see [`super::Device`].
#[derive(Debug, Clone, PartialEq)]
pub struct RolloutTarget {
    /// Identifier.
    pub id: Arc<str>,
    /// Kind.
    pub kind: DeviceKind,
    /// Manufacturer.
    pub vendor: Option<String>,
    /// Hardware class.
    pub hw_class: Option<String>,
    /// Hardware revision.
    pub hw_revision: Option<String>,
    /// Operational status.
    pub status: Status,
    /// Firmware versions.
    pub firmware: Firmware,
    /// When the last heartbeat arrived.
    pub last_seen: Option<Millis>,
}

/// Changes of a device's firmware state. `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FirmwareStateUpdate {
    /// Version that the device runs.
    pub current: Option<FirmwareVersion>,
    /// Version that the device should run; `Some(None)` clears it.
    pub desired: Option<Option<FirmwareVersion>>,
    /// Version that the device ran before.
    pub previous: Option<FirmwareVersion>,
    /// Active slot.
    pub slot: Option<Slot>,
    /// Relation of the current to the desired version.
    pub sync: Option<InSync>,
    /// Whether the update may have been applied before, by an earlier incarnation of the server. What the device has
    /// reported since then stays.
    pub repeated: bool,
}

/// A heartbeat as it is broadcast inside the server, after the device's record holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedHeartbeat {
    /// The device.
    pub device: Arc<str>,
    /// When it arrived.
    pub at: Millis,
    /// Identifier of the boot, if the device reports one.
    pub boot_id: Option<Arc<str>>,
    /// Firmware version that the device reported; `None` if it reported none.
    pub firmware: Option<FirmwareVersion>,
    /// Status after this heartbeat.
    pub status: Status,
}

/// Access to devices for firmware rollouts.
pub trait FirmwareView: Send + std::marker::Sync + std::fmt::Debug {
    /// Returns the selected devices, ordered by identifier.
    ///
    /// # Errors
    /// `Unavailable` while the actor is down or overloaded.
    fn select(&self, select: DeviceSelection) -> BoxFuture<'static, Result<Vec<RolloutTarget>, Error>>;

    /// Updates the firmware state of a device and publishes `device.updated`; durable when it returns.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a retired device; `Unavailable`.
    fn set_firmware(&self, id: Arc<str>, set: FirmwareStateUpdate) -> BoxFuture<'static, Result<(), Error>>;

    /// Subscribes to all heartbeats from now on. A receiver that lags gets an error from the channel and must select
    /// anew.
    fn heartbeats(&self) -> broadcast::Receiver<ReceivedHeartbeat>;
}

impl Devices {
    async fn targets(&self, filter: DeviceFilter) -> Result<Vec<RolloutTarget>, Error> {
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

impl FirmwareView for Devices {
    fn select(&self, select: DeviceSelection) -> BoxFuture<'static, Result<Vec<RolloutTarget>, Error>> {
        let devices = self.clone();
        Box::pin(async move {
            match select {
                DeviceSelection::Ids(ids) => {
                    let found = move |fleet: &Fleet| {
                        let entries = ids.iter().filter_map(|id| fleet.entry(id));
                        let present = entries.filter(|entry| entry.device.status != Status::Retired);
                        present.map(|entry| target(&entry.device)).collect()
                    };
                    devices.see(found).await
                }
                DeviceSelection::Group(group) => {
                    devices.targets(DeviceFilter { group: Some(group), ..DeviceFilter::default() }).await
                }
                DeviceSelection::Query(filter) => devices.targets(filter).await,
            }
        })
    }

    fn set_firmware(&self, id: Arc<str>, set: FirmwareStateUpdate) -> BoxFuture<'static, Result<(), Error>> {
        let handle = self.handle.clone();
        Box::pin(async move { handle.ask(ApplyChange(WriteFirmware { id, set })).await? })
    }

    fn heartbeats(&self) -> broadcast::Receiver<ReceivedHeartbeat> {
        self.heartbeats.subscribe()
    }
}
