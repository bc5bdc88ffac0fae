//! What requests for devices say.

use std::time::Duration;

use muster_geo::{Geometry, Point};
use muster_network::device::{
    Description, DeviceKind, DevicePatch, FirmwareVersion, Health, NewCommand, NewDevice, Report, Slot,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use crate::body::{Fields, FromJson};

/// Longest metadata and longest arguments of a command, bytes of JSON.
const MAX_OBJECT: usize = 8 << 10;
const MAX_LIST: usize = 32;

/// A text of 1 to `most` characters.
fn text(fields: &mut Fields<'_>, name: &str, most: usize) -> Option<String> {
    let text = fields.string(name)?;
    if !(1..=most).contains(&text.chars().count()) || text.contains('\0') {
        fields.fail(name, format!("must be 1 to {most} characters"));
        return None;
    }
    Some(text)
}

/// At most 32 texts of 1 to 64 characters.
fn texts(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    let texts: Vec<String> = fields.choice(name)?;
    if texts.len() > MAX_LIST || texts.iter().any(|text| !(1..=64).contains(&text.chars().count())) {
        fields.fail(name, format!("must be at most {MAX_LIST} texts of 1 to 64 characters"));
        return None;
    }
    Some(texts)
}

/// An object of at most 8 KiB.
fn object(fields: &mut Fields<'_>, name: &str) -> Option<Map<String, Value>> {
    let object: Map<String, Value> = fields.choice(name)?;
    if serde_json::to_vec(&object).map_or(usize::MAX, |bytes| bytes.len()) > MAX_OBJECT {
        fields.fail(name, format!("must be an object of at most {MAX_OBJECT} bytes"));
        return None;
    }
    Some(object)
}

fn point(fields: &mut Fields<'_>, name: &str) -> Option<Point> {
    let point: Point = fields.choice(name)?;
    match point.check() {
        Ok(()) => Some(point),
        Err(error) => {
            fields.fail(name, error.to_string());
            None
        }
    }
}

fn seconds(fields: &mut Fields<'_>, name: &str, range: std::ops::RangeInclusive<i64>) -> Option<u32> {
    fields.integer(name, range).and_then(|seconds| u32::try_from(seconds).ok())
}

/// A device to be registered.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct NewDeviceBody {
    /// 1 to 100 characters.
    pub name: String,
    /// `siren`, `sensor`, `gateway`, `camera`, `drone`, `radio`, `vehicle`, `kiosk`.
    #[schema(value_type = String)]
    pub kind: Option<DeviceKind>,
    pub serial: Option<String>,
    pub vendor: Option<String>,
    pub hw_class: Option<String>,
    pub hw_revision: Option<String>,
    /// At most 32, of 1 to 64 characters.
    pub tags: Option<Vec<String>>,
    /// At most 32, of 1 to 64 characters.
    pub groups: Option<Vec<String>>,
    /// GeoJSON's Point: `{"type":"Point","coordinates":[lon, lat]}`.
    #[schema(value_type = Option<Object>)]
    pub location: Option<Point>,
    pub location_accuracy_m: Option<f64>,
    /// Seconds between heartbeats: 1 to 86,400, default 60.
    #[schema(minimum = 1, maximum = 86_400)]
    pub heartbeat_s: Option<u32>,
    pub owner_org: Option<String>,
    /// At most 32, of 1 to 64 characters.
    pub capabilities: Option<Vec<String>>,
    /// At most 8 KiB.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// The device's public key, a JWK of kty OKP and crv Ed25519; without one the server makes a pair and shows the
    /// private half once.
    #[schema(value_type = Option<Object>)]
    pub public_key: Option<Value>,
}

impl FromJson for NewDeviceBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let (name, kind) = (text(fields, "name", 100), fields.choice("kind"));
        Self {
            name: fields.require("name", name).unwrap_or_default(),
            kind: fields.require("kind", kind),
            serial: text(fields, "serial", 100),
            vendor: text(fields, "vendor", 100),
            hw_class: text(fields, "hw_class", 64),
            hw_revision: text(fields, "hw_revision", 64),
            tags: texts(fields, "tags"),
            groups: texts(fields, "groups"),
            location: point(fields, "location"),
            location_accuracy_m: fields.number("location_accuracy_m", 0.0..=1e8),
            heartbeat_s: seconds(fields, "heartbeat_s", 1..=86_400),
            owner_org: text(fields, "owner_org", 100),
            capabilities: texts(fields, "capabilities"),
            metadata: object(fields, "metadata"),
            public_key: fields.value("public_key").cloned(),
        }
    }
}

impl NewDeviceBody {
    /// As the actor takes it; `kind` was required.
    pub fn into_new(self) -> NewDevice {
        NewDevice {
            name: self.name,
            kind: self.kind.unwrap_or(DeviceKind::Sensor),
            description: Description {
                serial: self.serial,
                vendor: self.vendor,
                hw_class: self.hw_class,
                hw_revision: self.hw_revision,
                tags: self.tags.unwrap_or_default(),
                groups: self.groups.unwrap_or_default(),
                location: self.location,
                location_accuracy_m: self.location_accuracy_m,
                heartbeat_s: self.heartbeat_s,
                owner_org: self.owner_org,
                capabilities: self.capabilities.unwrap_or_default(),
                metadata: self.metadata.unwrap_or_default(),
            },
            public_key: self.public_key,
        }
    }
}

/// Changes of a device: what is left out stays; null empties a text, the place or its accuracy.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct DeviceChanges {
    /// 1 to 100 characters.
    pub name: Option<String>,
    /// As of a new device.
    pub kind: Option<String>,
    pub serial: Option<String>,
    pub vendor: Option<String>,
    pub hw_class: Option<String>,
    pub hw_revision: Option<String>,
    pub tags: Option<Vec<String>>,
    pub groups: Option<Vec<String>>,
    /// GeoJSON's Point.
    #[schema(value_type = Option<Object>)]
    pub location: Option<Point>,
    pub location_accuracy_m: Option<f64>,
    #[schema(minimum = 1, maximum = 86_400)]
    pub heartbeat_s: Option<u32>,
    pub owner_org: Option<String>,
    pub capabilities: Option<Vec<String>>,
    /// At most 8 KiB; replaces what was there.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// The same, as it is read.
#[derive(Debug)]
pub struct DevicePatchBody(pub DevicePatch);

impl FromJson for DevicePatchBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        fn nullable<T>(
            fields: &mut Fields<'_>,
            name: &str,
            read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
        ) -> Option<Option<T>> {
            if fields.is_null(name) { Some(None) } else { read(fields).map(Some) }
        }
        for name in ["name", "kind", "tags", "groups", "heartbeat_s", "capabilities", "metadata"] {
            if fields.is_null(name) {
                fields.fail(name, "must not be null: leave it out, or send an empty one");
            }
        }
        Self(DevicePatch {
            name: text(fields, "name", 100),
            kind: fields.choice("kind"),
            serial: nullable(fields, "serial", |fields| text(fields, "serial", 100)),
            vendor: nullable(fields, "vendor", |fields| text(fields, "vendor", 100)),
            hw_class: nullable(fields, "hw_class", |fields| text(fields, "hw_class", 64)),
            hw_revision: nullable(fields, "hw_revision", |fields| text(fields, "hw_revision", 64)),
            tags: texts(fields, "tags"),
            groups: texts(fields, "groups"),
            location: nullable(fields, "location", |fields| point(fields, "location")),
            location_accuracy_m: nullable(fields, "location_accuracy_m", |fields| {
                fields.number("location_accuracy_m", 0.0..=1e8)
            }),
            heartbeat_s: seconds(fields, "heartbeat_s", 1..=86_400),
            owner_org: nullable(fields, "owner_org", |fields| text(fields, "owner_org", 100)),
            capabilities: texts(fields, "capabilities"),
            metadata: object(fields, "metadata"),
        })
    }
}

/// A heartbeat. Everything may be left out.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct HeartbeatReport {
    /// Random at each start of the device, 1 to 64 characters: with it, two devices under one key are found out.
    pub boot_id: Option<String>,
    /// Rising within a boot.
    pub seq: Option<u64>,
    /// `battery_pct`, `signal_dbm`, `temp_c`, `uptime_s`, `last_error`; replaces what was said before.
    #[schema(value_type = Option<Object>)]
    pub health: Option<Health>,
    /// GeoJSON's Point.
    #[schema(value_type = Option<Object>)]
    pub location: Option<Point>,
    pub location_accuracy_m: Option<f64>,
    /// What it runs: `{"version", "sequence", "artifact"?}`.
    #[schema(value_type = Option<Object>)]
    pub firmware: Option<FirmwareVersion>,
    /// `A`, `B`.
    #[schema(value_type = Option<String>)]
    pub slot: Option<Slot>,
}

impl FromJson for HeartbeatReport {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        let health = fields.object("health", |fields| Health {
            battery_pct: fields.number("battery_pct", 0.0..=100.0),
            signal_dbm: fields.number("signal_dbm", -200.0..=100.0),
            temp_c: fields.number("temp_c", -273.15..=2_000.0),
            uptime_s: fields.integer("uptime_s", 0..=i64::MAX).and_then(|uptime| u64::try_from(uptime).ok()),
            last_error: fields.string("last_error").map(|error| error.chars().take(500).collect()),
        });
        let firmware = fields.object("firmware", |fields| {
            let version = text(fields, "version", 64);
            FirmwareVersion {
                artifact: text(fields, "artifact", 64),
                version: fields.require("version", version).unwrap_or_default(),
                sequence: fields.integer("sequence", 0..=i64::MAX).and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
            }
        });
        Self {
            boot_id: text(fields, "boot_id", 64),
            seq: fields.integer("seq", 0..=i64::MAX).and_then(|seq| u64::try_from(seq).ok()),
            health,
            location: point(fields, "location"),
            location_accuracy_m: fields.number("location_accuracy_m", 0.0..=1e8),
            firmware,
            slot: fields.choice("slot"),
        }
    }
}

impl From<HeartbeatReport> for Report {
    fn from(body: HeartbeatReport) -> Self {
        Self {
            boot_id: body.boot_id.map(Into::into),
            seq: body.seq,
            health: body.health,
            location: body.location,
            location_accuracy_m: body.location_accuracy_m,
            firmware: body.firmware,
            slot: body.slot,
        }
    }
}

/// New readings.
#[derive(Debug, ToSchema)]
pub struct ReadingsBody {
    /// By name (1 to 48 letters, digits, `_`, `.`, `:`, `-`): a number, a text of at most 128 bytes, true or false; null
    /// takes one away. A device keeps 64.
    #[schema(value_type = Object)]
    pub values: Map<String, Value>,
}

impl FromJson for ReadingsBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let values = fields.choice("values");
        Self { values: fields.require("values", values).unwrap_or_default() }
    }
}

/// Something for a device to do.
#[derive(Debug, ToSchema)]
pub struct NewCommandBody {
    /// 1 to 64 letters, digits, `_`, `.`, `:`, `-`.
    pub name: String,
    /// At most 8 KiB.
    #[schema(value_type = Option<Object>)]
    pub args: Option<Map<String, Value>>,
    /// How long it waits for its answer: 1 to 604,800, default 300.
    #[schema(minimum = 1, maximum = 604_800)]
    pub timeout_s: Option<u32>,
}

impl FromJson for NewCommandBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let name = text(fields, "name", 64);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if name.as_ref().is_some_and(|name| !name.bytes().all(fits)) {
            fields.fail("name", "must be letters, digits, `_`, `.`, `:` or `-`");
        }
        Self {
            name: fields.require("name", name).unwrap_or_default(),
            args: object(fields, "args"),
            timeout_s: seconds(fields, "timeout_s", 1..=604_800),
        }
    }
}

impl From<NewCommandBody> for NewCommand {
    fn from(body: NewCommandBody) -> Self {
        let timeout = Duration::from_secs(body.timeout_s.unwrap_or(300).into());
        Self { name: body.name, args: body.args.unwrap_or_default(), timeout }
    }
}

/// Why something is done.
#[derive(Debug, ToSchema)]
pub struct ReasonBody {
    /// 1 to 500 characters.
    pub reason: String,
}

impl FromJson for ReasonBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let reason = text(fields, "reason", 500);
        Self { reason: fields.require("reason", reason).unwrap_or_default() }
    }
}

/// The beginning or the end of maintenance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Maintenance {
    #[default]
    Begin,
    End,
}

#[derive(Debug, ToSchema)]
pub struct MaintenanceBody {
    /// `begin` (default) or `end`.
    pub action: Option<Maintenance>,
    /// 1 to 500 characters.
    pub reason: Option<String>,
}

impl FromJson for MaintenanceBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self { action: fields.choice("action"), reason: text(fields, "reason", 500) }
    }
}

#[derive(Debug, ToSchema)]
#[schema(as = RotateCredentialsBody)]
pub struct RotateBody {
    /// The new public key; without one the server makes a pair and shows the private half once.
    #[schema(value_type = Option<Object>)]
    pub public_key: Option<Value>,
    /// How long the old key is taken yet: 0 to 2,592,000 (30 days), default 86,400 (a day).
    #[schema(minimum = 0, maximum = 2_592_000)]
    pub grace_s: Option<u32>,
}

impl FromJson for RotateBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        let public_key = fields.value("public_key").cloned();
        Self { public_key, grace_s: seconds(fields, "grace_s", 0..=2_592_000) }
    }
}

/// An area.
#[derive(Debug, ToSchema)]
pub struct AreaBody {
    /// GeoJSON's Polygon, MultiPolygon or GeometryCollection of those, or
    /// `{"type":"Circle","center":[lon,lat],"radius_m":…}`.
    #[schema(value_type = Object)]
    pub geometry: Option<Geometry>,
    /// 1 to 200, default 50.
    #[schema(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl FromJson for AreaBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let geometry: Option<Geometry> = fields.choice("geometry");
        if let Some(Err(error)) = geometry.as_ref().map(Geometry::check) {
            fields.fail("geometry", error.to_string());
        }
        let limit = fields.integer("limit", 1..=200).and_then(|limit| usize::try_from(limit).ok());
        Self { geometry: fields.require("geometry", geometry), limit, cursor: fields.string("cursor") }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
pub struct PageQuery {
    /// 1 to 200, default 50.
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
pub struct ListQuery {
    /// 1 to 200, default 50.
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// A status; retired devices are shown only where it is `retired`.
    pub status: Option<String>,
    pub kind: Option<String>,
    pub tag: Option<String>,
    pub group: Option<String>,
    /// Part of the name, serial or id, without regard to case.
    pub q: Option<String>,
    /// `west,south,east,north` in degrees; west > east crosses the antimeridian.
    pub bbox: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
pub struct NearQuery {
    /// Degrees east.
    pub lon: Option<String>,
    /// Degrees north.
    pub lat: Option<String>,
    /// Metres, 0 to 20,100,000; default 10,000.
    pub r_m: Option<String>,
    /// 1 to 200, default 50.
    pub limit: Option<String>,
}
