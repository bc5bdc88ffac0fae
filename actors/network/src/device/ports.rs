//! What other features see of devices, and what they may set.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::broadcast;

use super::record::{DeviceKind, Firmware, FirmwareVersion, Slot, Status, Sync as InSync};
use muster_core::{Error, Millis};

/// Which devices. Every part that is given must hold; nothing given is every device. Retired devices are never chosen
/// but by their status.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceFilter {
    pub status: Option<Status>,
    pub kind: Option<DeviceKind>,
    pub tag: Option<String>,
    pub group: Option<String>,
    pub hw_class: Option<String>,
    /// Part of the name, serial or identifier, without regard to case.
    pub q: Option<String>,
    /// West, south, east, north, in degrees; west > east crosses the antimeridian.
    pub bbox: Option<[f64; 4]>,
}

/// What a rollout is aimed at.
#[derive(Debug, Clone, PartialEq)]
pub enum Select {
    /// Those that exist; unknown ones are left out of the answer.
    Ids(Vec<Arc<str>>),
    Group(String),
    Query(DeviceFilter),
}

/// A device as a rollout sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub id: Arc<str>,
    pub kind: DeviceKind,
    pub vendor: Option<String>,
    pub hw_class: Option<String>,
    pub hw_revision: Option<String>,
    pub status: Status,
    pub firmware: Firmware,
    pub last_seen: Option<Millis>,
}

/// What is to be written into a device's `firmware`. `None` leaves a part as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SetFirmware {
    pub current: Option<FirmwareVersion>,
    /// `Some(None)` takes the wish away.
    pub desired: Option<Option<FirmwareVersion>>,
    pub previous: Option<FirmwareVersion>,
    pub slot: Option<Slot>,
    pub sync: Option<InSync>,
}

/// A heartbeat, as those who wait for one are told. It is told once the device's record holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Beat {
    pub device: Arc<str>,
    pub at: Millis,
    /// Changes with each start of the device, where it says so.
    pub boot_id: Option<Arc<str>>,
    /// What it says that it runs; `None` where it does not say.
    pub firmware: Option<FirmwareVersion>,
    /// After this heartbeat.
    pub status: Status,
}

/// Devices, as firmware rollouts see them.
pub trait FirmwareView: Send + std::marker::Sync + std::fmt::Debug {
    /// The chosen devices, by identifier.
    ///
    /// # Errors
    /// `Unavailable` while the actor is down or overloaded.
    fn select(&self, select: Select) -> BoxFuture<'static, Result<Vec<Target>, Error>>;

    /// Writes; durable when it resolves. Tells `device.updated`.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` of a retired device; `Unavailable`.
    fn set_firmware(&self, id: Arc<str>, set: SetFirmware) -> BoxFuture<'static, Result<(), Error>>;

    /// Every heartbeat from now on. Who lags behind is told so by the channel, and selects anew.
    fn beats(&self) -> broadcast::Receiver<Beat>;
}
