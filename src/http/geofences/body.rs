//! Requests and responses of geofences.

use muster_geo::{BBox, Geometry, Point};
use muster_network::geofence::{AppliesTo, Fence, FencePatch, NewFence, SubjectInside};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

/// A new geofence.
#[derive(Debug, Request)]
#[request(into = NewFence, example = {
    "name": "Evacuation area 3", "kind": "evacuation", "applies_to": "both",
    "geometry": { "type": "Circle", "center": [8.64, 49.87], "radius_m": 2000 }
})]
pub struct NewFenceBody {
    /// 1 to 200 characters.
    name: String,
    /// Purpose, such as `evacuation`: 1 to 64 characters.
    kind: Option<String>,
    /// GeoJSON Polygon, MultiPolygon or a GeometryCollection of those, or
    /// `{"type":"Circle","center":[lon,lat],"radius_m":…}`; at most 10,000 positions. An edge follows the shorter way
    /// around the globe; a ring around a pole encloses the nearer pole.
    #[request(check = Geometry::check, schema = crate::schema::GeoGeometry)]
    geometry: Geometry,
    /// Subjects of the geofence: `devices` (default), `incidents` or `both`.
    #[request(default, schema = String)]
    applies_to: AppliesTo,
    /// Tags of which a subject must have at least one. Without tags every subject counts.
    #[request(default)]
    tags: Vec<String>,
    /// Whether subjects can enter and leave the geofence.
    #[request(default = true)]
    active: bool,
}

/// Changes of a geofence. Fields that are left out keep their values.
#[derive(Debug, Request)]
#[request(into = FencePatch, example = { "name": "Evacuation area 3, widened", "active": true })]
pub struct FencePatchBody {
    name: Option<String>,
    kind: Option<String>,
    #[request(check = Geometry::check, schema = crate::schema::GeoGeometry)]
    geometry: Option<Geometry>,
    /// Subjects of the geofence: `devices`, `incidents` or `both`.
    #[request(schema = String)]
    applies_to: Option<AppliesTo>,
    tags: Option<Vec<String>>,
    active: Option<bool>,
}

/// A geofence.
#[derive(Debug, Serialize, ToSchema)]
pub struct FenceBody {
    /// Identifier, `gf_…`.
    pub id: String,
    pub name: String,
    pub kind: Option<String>,
    #[schema(value_type = crate::schema::GeoGeometry)]
    pub geometry: Geometry,
    /// Bounding box: west, south, east, north. West > east crosses the antimeridian (RFC 7946, section 5.2).
    #[schema(value_type = Option<Vec<f64>>)]
    pub bbox: Option<BBox>,
    /// Subjects of the geofence: `devices`, `incidents` or `both`.
    #[schema(value_type = String)]
    pub applies_to: AppliesTo,
    pub tags: Vec<String>,
    pub active: bool,
    /// Version of the record, for `If-Match`.
    pub version: u64,
    pub created_by: String,
    pub created_at: String,
    pub updated_at: String,
}

impl From<&Fence> for FenceBody {
    fn from(fence: &Fence) -> Self {
        Self {
            id: fence.id.clone(),
            name: fence.name.clone(),
            kind: fence.kind.clone(),
            geometry: fence.geometry.clone(),
            bbox: fence.bbox,
            applies_to: fence.applies_to,
            tags: fence.tags.clone(),
            active: fence.active,
            version: fence.version,
            created_by: fence.created_by.clone(),
            created_at: fence.created_at.rfc3339(),
            updated_at: fence.updated_at.rfc3339(),
        }
    }
}

/// A page of geofences.
#[derive(Debug, Serialize, ToSchema)]
pub struct FenceList {
    pub geofences: Vec<FenceBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A device or incident inside a geofence.
#[derive(Debug, Serialize, ToSchema)]
pub struct InsideBody {
    /// `device` or `incident`.
    pub subject_type: &'static str,
    pub subject_id: String,
    /// Time at which it entered.
    pub since: String,
    /// Last known location.
    #[schema(value_type = Option<crate::schema::GeoPoint>)]
    pub point: Option<Point>,
    pub seen_at: String,
}

impl From<&SubjectInside> for InsideBody {
    fn from(inside: &SubjectInside) -> Self {
        Self {
            subject_type: inside.subject.kind.name(),
            subject_id: inside.subject.id.to_string(),
            since: inside.since.rfc3339(),
            point: inside.point,
            seen_at: inside.seen_at.rfc3339(),
        }
    }
}

/// A page of the devices and incidents inside a geofence.
#[derive(Debug, Serialize, ToSchema)]
pub struct InsideList {
    pub inside: Vec<InsideBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}
