//! A device as it is shown, and the parts of it.

use std::sync::Arc;

use muster_geo::Point;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use muster_core::Millis;

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    Siren,
    Sensor,
    Gateway,
    Camera,
    Drone,
    Radio,
    Vehicle,
    Kiosk,
}

/// How a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Known, not heard of yet.
    Provisioned,
    Online,
    /// Heard of, and not well by a rule of health.
    Degraded,
    /// Not heard of for three of its intervals.
    Offline,
    /// Somebody works on it: whether it is heard of does not count.
    Maintenance,
    /// Not trusted: its credentials are blocked, commands to it refused.
    Quarantined,
    /// Gone for good: its credentials are destroyed.
    Retired,
}

impl Status {
    pub const ALL: [Self; 7] = [
        Self::Provisioned,
        Self::Online,
        Self::Degraded,
        Self::Offline,
        Self::Maintenance,
        Self::Quarantined,
        Self::Retired,
    ];

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

/// A firmware that a device has, had or is to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirmwareVersion {
    /// `art_…`, where it came from this server.
    #[serde(default)]
    pub artifact: Option<String>,
    /// Semantic version.
    pub version: String,
    /// Never falls but by a downgrade that two people approved.
    #[serde(default)]
    pub sequence: u64,
}

/// The half of an A/B device that it runs from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    A,
    B,
}

/// Whether a device has the firmware that it is to have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    #[default]
    Unknown,
    InSync,
    Pending,
    Error,
}

/// A device's firmware.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firmware {
    pub current: Option<FirmwareVersion>,
    pub desired: Option<FirmwareVersion>,
    pub previous: Option<FirmwareVersion>,
    pub slot: Option<Slot>,
    pub sync: Sync,
}

/// What a device last said of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// 0 to 100.
    pub battery_pct: Option<f64>,
    /// Decibels of a milliwatt.
    pub signal_dbm: Option<f64>,
    /// Degrees Celsius.
    pub temp_c: Option<f64>,
    pub uptime_s: Option<u64>,
    /// What is wrong with it, in its own words.
    pub last_error: Option<String>,
}

/// The key that a device signs its tokens with; the key itself is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The JWK thumbprint (RFC 7638) of the key.
    pub kid: String,
    /// The same, as proofs of possession name it.
    pub jkt: String,
    /// `EdDSA`.
    pub alg: String,
    pub rotated_at: Millis,
}

/// A device. What it says of itself (`last_seen`, `health`, `location`) does not count up `version`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// `dev_…`.
    pub id: Arc<str>,
    pub name: String,
    pub kind: DeviceKind,
    pub serial: Option<String>,
    pub vendor: Option<String>,
    pub hw_class: Option<String>,
    pub hw_revision: Option<String>,
    pub tags: Vec<String>,
    pub groups: Vec<String>,
    pub status: Status,
    pub status_since: Millis,
    pub location: Option<Point>,
    pub location_accuracy_m: Option<f64>,
    /// Of the location, 9 characters.
    pub geohash: Option<String>,
    /// The H3 cell of resolution 7 of the location.
    pub h3: Option<String>,
    pub firmware: Firmware,
    pub health: Health,
    pub last_seen: Option<Millis>,
    /// How often it is to be heard of.
    pub heartbeat_s: u32,
    /// `None` of a retired device.
    pub credentials: Option<Credentials>,
    pub owner_org: Option<String>,
    pub capabilities: Vec<String>,
    /// At most 8 KiB.
    pub metadata: Map<String, Value>,
    pub version: u64,
    pub created_at: Millis,
    pub created_by: String,
    pub updated_at: Millis,
}
