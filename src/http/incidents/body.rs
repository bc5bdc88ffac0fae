//! Requests that report and edit an incident.

use muster_core::Millis;
use muster_geo::Geometry;
use muster_network::alert::{Category, Certainty, Severity, Status, Urgency};
use muster_network::incident::{
    Attachment, Casualties, Geocode, IncidentEdit, IncidentKind, NewReport, NewResource, PriorityOverride, ReportedVia,
    ResourceChange, ResourceStatus, Visibility,
};
use muster_request::Request;
use serde_json::Value;

use crate::alert_texts::TextsBody;
use crate::parameters::NoteFields;

/// Maximum size of the data of a note, in bytes of JSON.
const MAX_NOTE_DATA: usize = 16 << 10;

/// The editable fields of an incident.
#[derive(Debug, Request)]
#[request(into = IncidentEdit)]
pub struct IncidentFields {
    /// 1 to 200 characters.
    title: Option<String>,
    summary: Option<String>,
    /// `flood`, `wildfire`, `earthquake`, `storm`, `landslide`, `hazmat`, `outage`, `epidemic`, `mass_casualty`,
    /// `missing_person`, `infrastructure` or `other`.
    #[request(schema = String)]
    kind: Option<IncidentKind>,
    /// CAP categories; derived from the kind by default.
    #[request(schema = Vec<String>)]
    category: Option<Vec<Category>>,
    #[request(schema = String)]
    severity: Option<Severity>,
    #[request(schema = String)]
    urgency: Option<Urgency>,
    #[request(schema = String)]
    certainty: Option<Certainty>,
    #[request(serde)]
    #[schema(minimum = 1, maximum = 5)]
    ics_type: Option<u8>,
    /// Priority `{value, reason}` in place of the computed one; null restores the computed one.
    #[request(schema = Object)]
    priority: Option<Option<PriorityOverride>>,
    #[request(schema = String)]
    visibility: Option<Visibility>,
    addresses: Option<Vec<String>>,
    /// GeoJSON, or `{"type":"Circle","center":[lon,lat],"radius_m":…}`.
    #[request(schema = crate::schema::GeoGeometry)]
    geometry: Option<Option<Geometry>>,
    area_desc: Option<Option<String>>,
    #[request(schema = Vec<Object>)]
    geocodes: Option<Vec<Geocode>>,
    #[request(schema = String)]
    onset: Option<Option<Millis>>,
    #[request(schema = String)]
    effective: Option<Option<Millis>>,
    #[request(schema = String)]
    expires: Option<Option<Millis>>,
    instruction: Option<Option<String>>,
    organisations: Option<Vec<String>>,
    device_ids: Option<Vec<String>>,
    parent_id: Option<Option<String>>,
    #[request(schema = Object)]
    casualties: Option<Casualties>,
    tags: Option<Vec<String>>,
    #[request(schema = Vec<Object>)]
    attachments: Option<Vec<Attachment>>,
}

/// Changes of an incident. Fields that are left out keep their values; null clears an optional field.
#[derive(Debug, Request)]
#[request(schema = IncidentPatch, example = {
    "summary": "Waist deep in the lower town.", "urgency": "Immediate", "note": "seen from the bridge"
})]
pub struct PatchBody {
    #[request(flatten)]
    pub edit: IncidentFields,
    #[request(flatten)]
    pub note: NoteFields,
    /// Texts of the CAP Update that the change causes. Only if an alert is published and the change causes one.
    #[request(nested)]
    pub alert: Option<TextsBody>,
}

/// A report of an incident.
#[derive(Debug, Request)]
#[request(schema = IncidentReport, into = NewReport, required = title + kind, example = {
    "title": "Water over the dyke at Rossdorf", "kind": "flood", "summary": "Knee deep in the lower town.",
    "severity": "Severe", "urgency": "Immediate", "certainty": "Observed",
    "geometry": { "type": "Circle", "center": [8.64, 49.87], "radius_m": 1500 }, "area_desc": "Rossdorf, lower town"
})]
pub struct ReportBody {
    #[request(flatten)]
    fields: IncidentFields,
    /// Deduplication key. A report with the key of an open incident is attached to that incident.
    dedup_key: Option<String>,
    /// `Actual` (default), `Exercise`, `System`, `Test` or `Draft`.
    #[request(schema = String)]
    status: Option<Status>,
    /// `operator` (default), `api`, `device`, `agent` or `cap`.
    #[request(rename = "reported_via", schema = String)]
    via: Option<ReportedVia>,
    source_ref: Option<String>,
    commander: Option<String>,
    #[request(default)]
    assignees: Vec<String>,
}

/// A note for the timeline.
#[derive(Debug, Request)]
#[request(schema = IncidentNote)]
pub struct NoteBody {
    /// 1 to 10,000 characters.
    #[request(example = "The bridge is closed.")]
    pub text: String,
    /// Data for programs, stored unchanged; at most 16 KiB of JSON.
    #[request(default, check = short, example = { "bridge": "B7" })]
    pub data: Value,
}

fn short(data: &Value) -> Result<(), &'static str> {
    if data.to_string().len() > MAX_NOTE_DATA { Err("must be at most 16 KiB") } else { Ok(()) }
}

/// A resource needed at an incident.
#[derive(Debug, Request)]
#[request(schema = NewIncidentResource, into = NewResource)]
pub struct ResourceBody {
    /// Type of the resource, such as `ambulance`.
    #[request(rename = "type", example = "boat")]
    kind: String,
    /// Quantity.
    #[request(range = 1..=1_000_000, default = 1, example = 2)]
    qty: u32,
    /// Status: `requested` (default), `committed`, `en_route`, `on_scene` or `released`.
    #[request(schema = String, example = "requested")]
    status: Option<ResourceStatus>,
    #[request(example = "flat bottom")]
    note: Option<String>,
}

/// A change of a resource. The status moves one step forward (requested, committed, en_route, on_scene), or to
/// released.
#[derive(Debug, Request)]
#[request(schema = IncidentResourceChange, into = ResourceChange)]
pub struct ResourceChangeBody {
    /// Number of the resource within the incident.
    #[request(range = 1..=u32::MAX, example = 1)]
    id: u32,
    #[request(range = 1..=1_000_000)]
    qty: Option<u32>,
    #[request(schema = String, example = "committed")]
    status: Option<ResourceStatus>,
    note: Option<String>,
}
