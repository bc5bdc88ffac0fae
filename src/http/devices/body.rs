//! Requests for devices.

use std::time::Duration;

use muster_geo::{BBox, Geometry, Point};
use muster_network::device::{
    Description, DeviceKind, DevicePatch, FirmwareVersion, Health, Heartbeat, NewCommand, NewDevice, Slot, Status,
};
use muster_request::{Fields, Request};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::parameters::{PageQuery, bbox, note};

/// Maximum size of metadata and of the arguments of a command, in bytes of JSON.
const MAX_OBJECT: usize = 8 << 10;
const MAX_LIST: usize = 32;
/// Maximum length of a reported error, in characters; the rest is discarded.
const MAX_LAST_ERROR: usize = 500;

fn short_texts(texts: &[String]) -> Result<(), String> {
    if texts.len() > MAX_LIST || texts.iter().any(|text| !(1..=64).contains(&text.chars().count())) {
        return Err(format!("must be at most {MAX_LIST} texts of 1 to 64 characters"));
    }
    Ok(())
}

fn small(object: &Map<String, Value>) -> Result<(), String> {
    if serde_json::to_vec(object).map_or(usize::MAX, |bytes| bytes.len()) > MAX_OBJECT {
        return Err(format!("must be an object of at most {MAX_OBJECT} bytes"));
    }
    Ok(())
}

/// A new device.
#[derive(Debug, Request)]
#[request(example = {
    "name": "Siren 7", "kind": "siren", "serial": "SX1-0007", "vendor": "acme", "hw_class": "siren-2",
    "tags": ["river"], "groups": ["sirens"], "location": { "type": "Point", "coordinates": [8.64, 49.87] },
    "heartbeat_s": 60
})]
pub struct NewDeviceBody {
    #[request(chars = 1..=100, no_nul)]
    name: String,
    /// Kind: `siren`, `sensor`, `gateway`, `camera`, `drone`, `radio`, `vehicle` or `kiosk`.
    #[request(schema = String)]
    kind: DeviceKind,
    #[request(chars = 1..=100, no_nul)]
    serial: Option<String>,
    #[request(chars = 1..=100, no_nul)]
    vendor: Option<String>,
    #[request(chars = 1..=64, no_nul)]
    hw_class: Option<String>,
    #[request(chars = 1..=64, no_nul)]
    hw_revision: Option<String>,
    /// Tags: at most 32 texts of 1 to 64 characters.
    #[request(check = short_texts)]
    tags: Option<Vec<String>>,
    /// Groups: at most 32 texts of 1 to 64 characters.
    #[request(check = short_texts)]
    groups: Option<Vec<String>>,
    /// Location as a GeoJSON Point: `{"type":"Point","coordinates":[lon, lat]}`.
    #[request(check = Point::check, schema = crate::schema::GeoPoint)]
    location: Option<Point>,
    #[request(range = 0.0..=1e8)]
    location_accuracy_m: Option<f64>,
    /// Interval between heartbeats, in seconds; 60 by default.
    #[request(range = 1..=86_400)]
    heartbeat_s: Option<u32>,
    #[request(chars = 1..=100, no_nul)]
    owner_org: Option<String>,
    /// Capabilities: at most 32 texts of 1 to 64 characters.
    #[request(check = short_texts)]
    capabilities: Option<Vec<String>>,
    /// Any JSON object of at most 8 KiB.
    #[request(check = small, schema = Object)]
    metadata: Option<Map<String, Value>>,
    /// Public key of the device, a JWK with kty OKP and crv Ed25519. Without one the server generates a key pair and
    /// returns the private key once.
    #[request(schema = crate::schema::PublicJwk)]
    public_key: Option<Value>,
}

impl From<NewDeviceBody> for NewDevice {
    fn from(body: NewDeviceBody) -> Self {
        Self {
            name: body.name,
            kind: body.kind,
            description: Description {
                serial: body.serial,
                vendor: body.vendor,
                hw_class: body.hw_class,
                hw_revision: body.hw_revision,
                tags: body.tags.unwrap_or_default(),
                groups: body.groups.unwrap_or_default(),
                location: body.location,
                location_accuracy_m: body.location_accuracy_m,
                heartbeat_s: body.heartbeat_s,
                owner_org: body.owner_org,
                capabilities: body.capabilities.unwrap_or_default(),
                metadata: body.metadata.unwrap_or_default(),
            },
            public_key: body.public_key,
        }
    }
}

/// Changes of a device. Fields that are left out keep their values; null clears a text, the location or its accuracy.
#[derive(Debug, Request)]
#[request(schema = DeviceChanges, into = DevicePatch, example = {
    "name": "Siren 7, town hall", "tags": ["river", "loud"], "serial": null
})]
pub struct DevicePatchBody {
    #[request(chars = 1..=100, no_nul, not_null)]
    name: Option<String>,
    /// Kind, as of a new device.
    #[request(schema = String, not_null)]
    kind: Option<DeviceKind>,
    #[request(chars = 1..=100, no_nul)]
    serial: Option<Option<String>>,
    #[request(chars = 1..=100, no_nul)]
    vendor: Option<Option<String>>,
    #[request(chars = 1..=64, no_nul)]
    hw_class: Option<Option<String>>,
    #[request(chars = 1..=64, no_nul)]
    hw_revision: Option<Option<String>>,
    #[request(check = short_texts, not_null)]
    tags: Option<Vec<String>>,
    #[request(check = short_texts, not_null)]
    groups: Option<Vec<String>>,
    /// Location as a GeoJSON Point.
    #[request(check = Point::check, schema = crate::schema::GeoPoint)]
    location: Option<Option<Point>>,
    #[request(range = 0.0..=1e8)]
    location_accuracy_m: Option<Option<f64>>,
    #[request(range = 1..=86_400, not_null)]
    heartbeat_s: Option<u32>,
    #[request(chars = 1..=100, no_nul)]
    owner_org: Option<Option<String>>,
    #[request(check = short_texts, not_null)]
    capabilities: Option<Vec<String>>,
    /// Any JSON object of at most 8 KiB, which replaces the present one.
    #[request(check = small, schema = Object, not_null)]
    metadata: Option<Map<String, Value>>,
}

/// A heartbeat. Every field is optional.
#[derive(Debug, Request)]
#[request(may_be_empty, example = {
    "boot_id": "f3a9c2", "seq": 12,
    "health": { "battery_pct": 87.5, "signal_dbm": -71, "temp_c": 21.5, "uptime_s": 86400 },
    "location": { "type": "Point", "coordinates": [8.64, 49.87] }, "location_accuracy_m": 5
})]
pub struct HeartbeatReport {
    /// Random identifier of the present start of the device, by which two devices with the same key are detected.
    #[request(chars = 1..=64, no_nul)]
    boot_id: Option<String>,
    /// Counter that rises within a `boot_id`.
    seq: Option<u64>,
    /// Health, which replaces that reported before.
    #[request(nested)]
    health: Option<HealthReport>,
    /// Location as a GeoJSON Point.
    #[request(check = Point::check, schema = crate::schema::GeoPoint)]
    location: Option<Point>,
    #[request(range = 0.0..=1e8)]
    location_accuracy_m: Option<f64>,
    /// Installed firmware.
    #[request(nested)]
    firmware: Option<FirmwareReport>,
    /// Active slot: `A` or `B`.
    #[request(schema = String)]
    slot: Option<Slot>,
}

/// The health of a device.
#[derive(Debug, Request)]
#[request(schema = DeviceHealth, into = Health)]
pub struct HealthReport {
    #[request(range = 0.0..=100.0)]
    battery_pct: Option<f64>,
    #[request(range = -200.0..=100.0)]
    signal_dbm: Option<f64>,
    #[request(range = -273.15..=2_000.0)]
    temp_c: Option<f64>,
    uptime_s: Option<u64>,
    /// Last error; the first 500 characters are stored.
    #[request(with = last_error)]
    last_error: Option<String>,
}

fn last_error(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    fields.string(name).map(|error| error.chars().take(MAX_LAST_ERROR).collect())
}

/// The firmware installed on a device.
#[derive(Debug, Request)]
#[request(into = FirmwareVersion)]
pub struct FirmwareReport {
    #[request(chars = 1..=64, no_nul)]
    version: String,
    #[request(chars = 1..=64, no_nul)]
    artifact: Option<String>,
    #[request(default)]
    sequence: u64,
}

impl From<HeartbeatReport> for Heartbeat {
    fn from(body: HeartbeatReport) -> Self {
        Self {
            boot_id: body.boot_id.map(Into::into),
            seq: body.seq,
            health: body.health.map(Into::into),
            location: body.location,
            location_accuracy_m: body.location_accuracy_m,
            firmware: body.firmware.map(Into::into),
            slot: body.slot,
        }
    }
}

/// Readings of a device.
#[derive(Debug, Request)]
#[request(example = { "values": { "water_level_m": 3.42, "pump": true } })]
pub struct ReadingsBody {
    /// Readings by name (1 to 48 letters, digits, `_`, `.`, `:`, `-`): a number, a text of at most 128 bytes, true or
    /// false; null removes a reading. A device has at most 64.
    #[request(schema = Object)]
    pub values: Map<String, Value>,
}

/// A command for a device.
#[derive(Debug, Request)]
#[request(example = { "name": "siren.sound", "args": { "pattern": "test", "seconds": 10 }, "timeout_s": 300 })]
pub struct NewCommandBody {
    /// Name of the command: letters, digits, `_`, `.`, `:`, `-`.
    #[request(chars = 1..=64, no_nul, check = command_name)]
    name: String,
    /// Arguments, a JSON object of at most 8 KiB.
    #[request(check = small, schema = Object)]
    args: Option<Map<String, Value>>,
    /// Time for which the command waits for its acknowledgement, in seconds.
    #[request(range = 1..=604_800, default = 300)]
    timeout_s: u32,
}

fn command_name(name: &str) -> Result<(), &'static str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    if name.bytes().all(fits) { Ok(()) } else { Err("must be letters, digits, `_`, `.`, `:` or `-`") }
}

impl From<NewCommandBody> for NewCommand {
    fn from(NewCommandBody { name, args, timeout_s }: NewCommandBody) -> Self {
        Self { name, args: args.unwrap_or_default(), timeout: Duration::from_secs(timeout_s.into()) }
    }
}

/// The note of an action.
#[derive(Debug, Request)]
#[request(example = { "note": "two devices use the same key" })]
#[allow(dead_code, reason = "the other name is only described")]
pub struct DeviceNoteBody {
    /// Why.
    #[request(with = note, chars = 1..=500, no_nul, schema = String)]
    pub note: String,
    /// Another name of `note`.
    #[request(described, schema = String)]
    reason: (),
}

/// Whether maintenance begins or ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Maintenance {
    #[default]
    Begin,
    End,
}

#[derive(Debug, Request)]
#[request(may_be_empty, example = { "action": "begin", "note": "new battery" })]
#[allow(dead_code, reason = "the other name is only described")]
pub struct MaintenanceBody {
    /// `begin` (default) or `end`.
    pub action: Option<Maintenance>,
    /// Why.
    #[request(with = note, chars = 1..=500, no_nul, schema = String)]
    pub note: Option<String>,
    /// Another name of `note`.
    #[request(described, schema = String)]
    reason: (),
}

#[derive(Debug, Request)]
#[request(schema = RotateCredentialsBody, may_be_empty, example = { "grace_s": 3600 })]
pub struct RotateBody {
    /// New public key of the device. Without one the server generates a key pair and returns the private key once.
    #[request(schema = crate::schema::PublicJwk)]
    pub public_key: Option<Value>,
    /// Time for which the old key is still accepted, in seconds; one day by default.
    #[request(range = 0..=2_592_000)]
    pub grace_s: Option<u32>,
}

/// An area to search.
#[derive(Debug, Request)]
#[request(example = {
    "geometry": { "type": "Polygon", "coordinates": [[[8.5, 49.8], [8.8, 49.8], [8.8, 50.0], [8.5, 50.0], [8.5, 49.8]]] },
    "limit": 50
})]
pub struct AreaBody {
    /// GeoJSON Polygon, MultiPolygon or a GeometryCollection of those, or
    /// `{"type":"Circle","center":[lon,lat],"radius_m":…}`.
    #[request(check = Geometry::check, schema = crate::schema::GeoGeometry)]
    pub geometry: Geometry,
    #[request(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Request)]
#[request(query)]
pub struct ListQuery {
    /// Returns only devices with this status. Retired devices are returned only for `retired`.
    #[request(schema = String)]
    pub status: Option<Status>,
    #[request(schema = String)]
    pub kind: Option<DeviceKind>,
    pub tag: Option<String>,
    pub group: Option<String>,
    /// Returns only devices whose name, serial or id contains this text, in any case.
    pub q: Option<String>,
    /// `true`: only devices whose firmware has drifted: it has differed from the desired version for longer than
    /// `devices.drift_grace_seconds`, while no job was changing it. `false`: only the others.
    pub drift: Option<bool>,
    /// Bounding box: `west,south,east,north` in degrees. West > east crosses the antimeridian.
    #[request(with = bbox, schema = String)]
    pub bbox: Option<BBox>,
    #[request(flatten)]
    pub page: PageQuery,
}

/// Maximum radius of a search, in metres: a little more than half the circumference of the Earth.
const MAX_DISTANCE: f64 = 20_100_000.0;

#[derive(Debug, Request)]
#[request(query)]
pub struct NearQuery {
    /// Longitude, degrees east.
    #[request(range = -180.0..=180.0, message = "must be a number of at most 180")]
    pub lon: f64,
    /// Latitude, degrees north.
    #[request(range = -90.0..=90.0, message = "must be a number of at most 90")]
    pub lat: f64,
    /// Radius, in metres.
    #[request(range = 0.0..=MAX_DISTANCE, default = 10_000.0)]
    pub r_m: f64,
    /// Maximum number of devices.
    #[request(range = 1..=200, default = 50)]
    pub limit: usize,
}
