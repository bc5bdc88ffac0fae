//! Responses of devices: describes the records that the actor returns.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A device. Its `version` counts changes by users and by the server, not heartbeats.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct DeviceBody {
    pub id: String,
    pub name: String,
    /// Kind: `siren`, `sensor`, `gateway`, `camera`, `drone`, `radio`, `vehicle` or `kiosk`.
    pub kind: String,
    pub serial: Option<String>,
    pub vendor: Option<String>,
    pub hw_class: Option<String>,
    pub hw_revision: Option<String>,
    pub tags: Vec<String>,
    pub groups: Vec<String>,
    /// Status: `provisioned`, `online`, `degraded`, `offline`, `maintenance`, `quarantined` or `retired`.
    pub status: String,
    pub status_since: String,
    /// Location as a GeoJSON Point.
    #[schema(value_type = Option<Object>)]
    pub location: Option<Value>,
    pub location_accuracy_m: Option<f64>,
    pub geohash: Option<String>,
    /// H3 cell of resolution 7.
    pub h3: Option<String>,
    pub firmware: FirmwareBody,
    pub health: HealthBody,
    pub last_seen: Option<String>,
    pub heartbeat_s: u32,
    /// Credentials; null for a retired device.
    pub credentials: Option<CredentialsBody>,
    pub owner_org: Option<String>,
    pub capabilities: Vec<String>,
    #[schema(value_type = Object)]
    pub metadata: Value,
    pub version: u64,
    pub created_at: String,
    pub created_by: String,
    pub updated_at: String,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct FirmwareBody {
    /// Version that the device runs.
    pub current: Option<FirmwareVersionBody>,
    /// Version that the device should run: that of the last job that selected it.
    pub desired: Option<FirmwareVersionBody>,
    pub previous: Option<FirmwareVersionBody>,
    /// Active slot: `A` or `B`.
    pub slot: Option<String>,
    /// State of the firmware: `unknown`, `in_sync`, `pending` (a job is changing it) or `error` (the last installation
    /// failed, or the device runs another version than the desired one).
    pub sync: String,
    /// Time since which `current` differs from `desired` while no job is changing it.
    pub differs_since: Option<String>,
    /// Whether it has differed for longer than `devices.drift_grace_seconds`.
    pub drift: bool,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct FirmwareVersionBody {
    pub artifact: Option<String>,
    pub version: String,
    pub sequence: u64,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct HealthBody {
    pub battery_pct: Option<f64>,
    pub signal_dbm: Option<f64>,
    pub temp_c: Option<f64>,
    pub uptime_s: Option<u64>,
    pub last_error: Option<String>,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct CredentialsBody {
    /// RFC 7638 thumbprint of the device's key.
    pub kid: String,
    pub jkt: String,
    pub alg: String,
    pub rotated_at: String,
}

/// A device, with the private key if the server generated it.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyedBody {
    #[schema(value_type = DeviceBody)]
    pub device: Value,
    /// Private key as a JWK. It is returned once and not stored; a replayed response has none.
    #[schema(value_type = Option<Object>)]
    pub private_key: Option<Value>,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct DeviceList {
    pub devices: Vec<DeviceBody>,
    /// Cursor of the next page; null on the last page. A page of a selective filter may be short or empty without being
    /// the last.
    pub next_cursor: Option<String>,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct WithinList {
    pub devices: Vec<DeviceBody>,
    /// Total number of devices found.
    pub total: u64,
    pub next_cursor: Option<String>,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct NearList {
    pub devices: Vec<NearBody>,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct NearBody {
    pub device: DeviceBody,
    pub distance_m: f64,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
#[schema(as = DeviceCommandBody)]
pub struct CommandBody {
    pub id: String,
    pub device_id: String,
    pub name: String,
    #[schema(value_type = Object)]
    pub args: Value,
    /// State: `queued`, `sent`, `acked`, `failed`, `expired` or `refused`.
    pub state: String,
    pub created_at: String,
    pub created_by: String,
    pub expires_at: String,
    pub sent_at: Option<String>,
    pub deliveries: u32,
    pub finished_at: Option<String>,
    /// Result reported by the device, or the reason why the server withdrew the command.
    pub result: Option<Value>,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct CommandList {
    pub commands: Vec<CommandBody>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct HistoryList {
    pub history: Vec<HistoryBody>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct HistoryBody {
    pub seq: u64,
    pub at: String,
    pub actor: String,
    /// Kind of the event: `registered`, `status`, `command`, `credentials`, `firmware` or `drift`.
    pub kind: String,
    pub from: Option<String>,
    pub to: Option<String>,
    pub note: Option<String>,
}

/// The latest readings of a device.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct TelemetryBody {
    /// Readings by name: `{"value": …, "at": …}`.
    #[schema(value_type = Object)]
    pub readings: Value,
}

/// The response to a heartbeat.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeartbeatBody {
    pub status: String,
    pub server_time: String,
    pub heartbeat_s: u32,
    pub commands_waiting: usize,
    /// Firmware that the device should install.
    #[schema(value_type = Option<FirmwareVersionBody>)]
    pub desired: Option<Value>,
}
