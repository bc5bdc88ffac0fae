//! What requests for geofences say, and what they are told.

use muster_geo::{BBox, Geometry, Point};
use muster_network::geofence::{AppliesTo, Change, Fence, Inside, NewFence};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::body::{Fields, FromJson};

/// What a new geofence is to be.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct NewFenceBody {
    /// 1 to 200 characters.
    pub name: String,
    /// What it is for, such as `evacuation`: 1 to 64 characters.
    pub kind: Option<String>,
    /// GeoJSON's Polygon, MultiPolygon or GeometryCollection of those, or
    /// `{"type":"Circle","center":[lon,lat],"radius_m":…}`; at most 10,000 positions. An edge goes the shorter way
    /// around the globe; a ring around a pole encloses the nearer one.
    #[schema(value_type = Object)]
    pub geometry: Option<Geometry>,
    /// `devices` (default), `incidents`, `both`.
    #[schema(value_type = Option<String>)]
    pub applies_to: Option<AppliesTo>,
    /// Only subjects that have one of these; everything where there are none.
    pub tags: Option<Vec<String>>,
    /// Whether anything enters or leaves it; true by default.
    pub active: Option<bool>,
}

impl FromJson for NewFenceBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let (name, geometry) = (fields.string("name"), geometry(fields));
        Self {
            name: fields.require("name", name).unwrap_or_default(),
            kind: fields.string("kind"),
            geometry: fields.require("geometry", geometry),
            applies_to: fields.choice("applies_to"),
            tags: fields.choice("tags"),
            active: fields.bool("active"),
        }
    }
}

/// A geometry, checked here so that its faults are told with the others.
fn geometry(fields: &mut Fields<'_>) -> Option<Geometry> {
    let geometry: Geometry = fields.choice("geometry")?;
    match geometry.check() {
        Ok(()) => Some(geometry),
        Err(error) => {
            fields.fail("geometry", error.to_string());
            None
        }
    }
}

impl NewFenceBody {
    /// `None` where there is no geometry, which reading has refused.
    pub fn fence(self) -> Option<NewFence> {
        let Self { name, kind, geometry, applies_to, tags, active } = self;
        Some(NewFence {
            name,
            kind,
            geometry: geometry?,
            applies_to: applies_to.unwrap_or_default(),
            tags: tags.unwrap_or_default(),
            active: active.unwrap_or(true),
        })
    }
}

/// What is to change of a geofence; what is left out stays.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct FencePatchBody {
    pub name: Option<String>,
    pub kind: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub geometry: Option<Geometry>,
    /// `devices`, `incidents`, `both`.
    #[schema(value_type = Option<String>)]
    pub applies_to: Option<AppliesTo>,
    pub tags: Option<Vec<String>>,
    pub active: Option<bool>,
}

impl FromJson for FencePatchBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            name: fields.string("name"),
            kind: fields.string("kind"),
            geometry: geometry(fields),
            applies_to: fields.choice("applies_to"),
            tags: fields.choice("tags"),
            active: fields.bool("active"),
        }
    }
}

impl From<FencePatchBody> for Change {
    fn from(body: FencePatchBody) -> Self {
        let FencePatchBody { name, kind, geometry, applies_to, tags, active } = body;
        Self { name, kind, geometry, applies_to, tags, active }
    }
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

impl From<&Inside> for InsideBody {
    fn from(inside: &Inside) -> Self {
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

#[derive(Debug, Deserialize, IntoParams)]
pub struct PageQuery {
    /// 1 to 200, default 50.
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}
