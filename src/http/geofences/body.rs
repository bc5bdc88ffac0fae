//! What requests for geofences say, and what they are told.

use muster_geo::{BBox, Geometry, Point};
use muster_network::geofence::{AppliesTo, Fence, FencePatch, NewFence, SubjectInside};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

/// A geofence to be drawn.
#[derive(Debug, Request)]
#[request(into = NewFence, example = {
    "name": "Evacuation area 3", "kind": "evacuation", "applies_to": "both",
    "geometry": { "type": "Circle", "center": [8.64, 49.87], "radius_m": 2000 }
})]
pub struct NewFenceBody {
    /// 1 to 200 characters.
    name: String,
    /// What it is for, such as `evacuation`: 1 to 64 characters.
    kind: Option<String>,
    /// GeoJSON's Polygon, MultiPolygon or GeometryCollection of those, or
    /// `{"type":"Circle","center":[lon,lat],"radius_m":…}`; at most 10,000 positions. An edge goes the shorter way
    /// around the globe; a ring around a pole encloses the nearer one.
    #[request(check = Geometry::check, schema = Object)]
    geometry: Geometry,
    /// `devices` (default), `incidents`, `both`.
    #[request(default, schema = String)]
    applies_to: AppliesTo,
    /// Only subjects that have one of these; everything where there are none.
    #[request(default)]
    tags: Vec<String>,
    /// Whether anything enters or leaves it.
    #[request(default = true)]
    active: bool,
}

/// Changes of a geofence; what is left out stays.
#[derive(Debug, Request)]
#[request(into = FencePatch, example = { "name": "Evacuation area 3, widened", "active": true })]
pub struct FencePatchBody {
    name: Option<String>,
    kind: Option<String>,
    #[request(check = Geometry::check, schema = Object)]
    geometry: Option<Geometry>,
    /// `devices`, `incidents`, `both`.
    #[request(schema = String)]
    applies_to: Option<AppliesTo>,
    tags: Option<Vec<String>>,
    active: Option<bool>,
}

/// A geofence.
#[derive(Debug, Serialize, ToSchema)]
pub struct FenceBody {
    /// `gf_…`.
    pub id: String,
    pub name: String,
    pub kind: Option<String>,
    #[schema(value_type = Object)]
    pub geometry: Geometry,
    /// West, south, east, north; west > east where it crosses the antimeridian (RFC 7946, 5.2).
    #[schema(value_type = Option<Vec<f64>>)]
    pub bbox: Option<BBox>,
    /// `devices`, `incidents`, `both`.
    #[schema(value_type = String)]
    pub applies_to: AppliesTo,
    pub tags: Vec<String>,
    pub active: bool,
    /// For `If-Match`.
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
    /// For the next page; null at the end.
    pub next_cursor: Option<String>,
}

/// What is inside a geofence.
#[derive(Debug, Serialize, ToSchema)]
pub struct InsideBody {
    /// `device` or `incident`.
    pub subject_type: &'static str,
    pub subject_id: String,
    /// When it entered.
    pub since: String,
    /// Where it was last seen.
    #[schema(value_type = Option<Object>)]
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

/// A page of what is inside.
#[derive(Debug, Serialize, ToSchema)]
pub struct InsideList {
    pub inside: Vec<InsideBody>,
    /// For the next page; null at the end.
    pub next_cursor: Option<String>,
}
