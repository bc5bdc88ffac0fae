//! The public record of a device and its parts.

use std::sync::Arc;

use muster_geo::Point;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use muster_core::Millis;

/// Kind of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// Warning siren or other loudspeaker.
    Siren,
    /// Instrument that reports readings.
    Sensor,
    /// Gateway that connects other devices.
    Gateway,
    /// Camera.
    Camera,
    /// Unmanned aircraft.
    Drone,
    /// Radio set or repeater.
    Radio,
    /// Vehicle of a response unit.
    Vehicle,
    /// Public information terminal.
    Kiosk,
}

/// Operational status of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Registered; no heartbeat has arrived yet.
    Provisioned,
    /// Heartbeats arrive, and no health rule is broken.
    Online,
    /// Heartbeats arrive, and a health rule is broken.
    Degraded,
    /// No heartbeat for three heartbeat intervals (configurable).
    Offline,
    /// Under maintenance: missing heartbeats are ignored.
    Maintenance,
    /// Not trusted: its credentials are blocked and commands to it are rejected.
    Quarantined,
    /// Removed permanently: its credentials are destroyed.
    Retired,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 7] = [
        Self::Provisioned,
        Self::Online,
        Self::Degraded,
        Self::Offline,
        Self::Maintenance,
        Self::Quarantined,
        Self::Retired,
    ];

    /// Returns the name of the status in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provisioned => "provisioned",
            Self::Online => "online",
            Self::Degraded => "degraded",
            Self::Offline => "offline",
            Self::Maintenance => "maintenance",
            Self::Quarantined => "quarantined",
            Self::Retired => "retired",
        }
    }
}

/// A firmware version that a device runs, ran or should run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirmwareVersion {
    /// Identifier of the artifact (`art_…`), if this server distributed it.
    #[serde(default)]
    pub artifact: Option<String>,
    /// Semantic version.
    pub version: String,
    /// Anti-rollback sequence number. It decreases only by a downgrade that two people approved.
    #[serde(default)]
    pub sequence: u64,
}

/// Slot of an A/B device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// First slot.
    A,
    /// Second slot.
    B,
}

/// State of a device's firmware relative to the desired version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirmwareSync {
    /// Nothing is known of the running version.
    #[default]
    Unknown,
    /// The device runs the desired version.
    InSync,
    /// The device is to install the desired version.
    Pending,
    /// The last installation failed, or the device runs another version than the desired one.
    Error,
}

/// Firmware versions of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firmware {
    /// Version that the device runs.
    pub current: Option<FirmwareVersion>,
    /// Version that the device should run: that of the last rollout that selected it; `None` if there was none.
    pub desired: Option<FirmwareVersion>,
    /// Version that the device ran before.
    pub previous: Option<FirmwareVersion>,
    /// Active slot of an A/B device.
    pub slot: Option<Slot>,
    /// Relation of the current to the desired version.
    pub sync: FirmwareSync,
    /// Time since which the current version differs from the desired one while no job is changing it.
    #[serde(default)]
    pub differs_since: Option<Millis>,
    /// Whether it has differed for longer than the grace of the settings.
    #[serde(default)]
    pub drift: bool,
}

/// Health that a device last reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Battery charge in percent, 0 to 100.
    pub battery_pct: Option<f64>,
    /// Signal strength in dBm.
    pub signal_dbm: Option<f64>,
    /// Temperature in degrees Celsius.
    pub temp_c: Option<f64>,
    /// Seconds since the device started.
    pub uptime_s: Option<u64>,
    /// The error that the device reported; empty or `None` if it has none.
    pub last_error: Option<String>,
}

/// Identification of the key with which a device signs its tokens; the key itself is not included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The JWK thumbprint (RFC 7638) of the key.
    pub kid: String,
    /// The same thumbprint, under the name that proofs of possession use.
    pub jkt: String,
    /// Signature algorithm; always `EdDSA`.
    pub alg: String,
    /// When this key became the current one.
    pub rotated_at: Millis,
}

/// A device. What it reports of itself (`last_seen`, `health`, `location`) does not increment `version`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Identifier, `dev_…`.
    pub id: Arc<str>,
    /// Name given by people.
    pub name: String,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Serial number.
    pub serial: Option<String>,
    /// Manufacturer.
    pub vendor: Option<String>,
    /// Hardware class, which firmware manifests name.
    pub hw_class: Option<String>,
    /// Hardware revision.
    pub hw_revision: Option<String>,
    /// Tags given by people.
    pub tags: Vec<String>,
    /// Groups that the device belongs to; rollouts select by them.
    pub groups: Vec<String>,
    /// Operational status.
    pub status: Status,
    /// When the status last changed.
    pub status_since: Millis,
    /// Last known location.
    pub location: Option<Point>,
    /// Accuracy of the location in metres.
    pub location_accuracy_m: Option<f64>,
    /// Geohash of the location, 9 characters.
    pub geohash: Option<String>,
    /// H3 cell of the location, resolution 7.
    pub h3: Option<String>,
    /// Firmware versions.
    pub firmware: Firmware,
    /// Health that the device last reported.
    pub health: Health,
    /// When the last heartbeat arrived.
    pub last_seen: Option<Millis>,
    /// Interval between heartbeats, in seconds.
    pub heartbeat_s: u32,
    /// The current key; `None` for a retired device.
    pub credentials: Option<Credentials>,
    /// Organisation that owns the device.
    pub owner_org: Option<String>,
    /// Capabilities, for example the commands that the device accepts.
    pub capabilities: Vec<String>,
    /// Free-form metadata, at most 8 KiB of JSON.
    pub metadata: Map<String, Value>,
    /// Version of the record for `If-Match`; starts at 1.
    pub version: u64,
    /// When the device was registered.
    pub created_at: Millis,
    /// Principal that registered it.
    pub created_by: String,
    /// When `version` was last incremented.
    pub updated_at: Millis,
}
