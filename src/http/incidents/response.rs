//! Responses of incidents.

use actix_web::HttpResponse;
use muster_core::{Error, Kind};
use muster_network::alert::AlertRecord;
use muster_network::incident::{Action, Incident, IncidentDetails, IncidentResponse};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::envelope;
use crate::error::HttpError;

/// An incident in a response.
#[derive(Debug, Serialize)]
pub struct IncidentView<'a> {
    #[serde(flatten)]
    pub incident: &'a Incident,
    /// Verbs permitted in the present state; each is `POST /api/v1/incidents/{id}/{verb}`.
    pub allowed: Vec<Action>,
}

/// A changed incident in a response.
#[derive(Debug, Serialize)]
struct ChangedView<'a> {
    #[serde(flatten)]
    incident: IncidentView<'a>,
    published_alert: Option<&'a AlertRecord>,
    pending_alert: Option<&'a AlertRecord>,
}

/// One incident in a response.
#[derive(Debug, Serialize)]
struct DetailsView<'a> {
    #[serde(flatten)]
    incident: IncidentView<'a>,
    pending_alert: Option<&'a AlertRecord>,
}

impl<'a> IncidentView<'a> {
    pub fn new(incident: &'a Incident) -> Self {
        Self { incident, allowed: incident.state.allowed() }
    }
}

/// Returns 200 with the changed incident and what became of its alert.
pub fn changed(answer: &IncidentResponse) -> Result<HttpResponse, HttpError> {
    let incident = of(answer)?;
    let (published_alert, pending_alert) = (answer.published_alert.as_deref(), answer.pending_alert.as_deref());
    let view = ChangedView { incident: IncidentView::new(incident), published_alert, pending_alert };
    Ok(envelope::record(incident.version, view))
}

/// Returns 200 with an incident and the message that waits for it.
pub fn details(found: &IncidentDetails) -> HttpResponse {
    let (incident, pending_alert) = (IncidentView::new(&found.incident), found.pending_alert.as_deref());
    envelope::record(found.incident.version, DetailsView { incident, pending_alert })
}

/// Returns the incident of an actor's answer.
pub fn of(answer: &IncidentResponse) -> Result<&Incident, Error> {
    answer.incident.as_deref().ok_or_else(|| Error::new(Kind::Internal, "a change was answered without its incident"))
}

/// An incident.
#[derive(Debug, ToSchema)]
#[schema(as = Incident)]
#[allow(dead_code, reason = "describes the record's own serialization")]
pub struct IncidentBody {
    pub id: String,
    /// Year and number within the year, such as `2026-000123`.
    pub number: String,
    /// Deduplication key: reports with the key of an open incident are attached to it.
    pub dedup_key: Option<String>,
    pub title: String,
    pub summary: String,
    /// `flood`, `wildfire`, `earthquake`, `storm`, `landslide`, `hazmat`, `outage`, `epidemic`, `mass_casualty`,
    /// `missing_person`, `infrastructure` or `other`.
    pub kind: String,
    /// CAP categories.
    pub category: Vec<String>,
    /// CAP severity; null before the first assessment.
    pub severity: Option<String>,
    pub urgency: Option<String>,
    pub certainty: Option<String>,
    /// ICS type, from 5 (one or two resources) to 1 (national).
    pub ics_type: u8,
    /// Priority, 0 to 100. Unless a user set it: severity × urgency × certainty in percent (Extreme 100, Severe 75,
    /// Moderate 50, Minor 25, Unknown 40; Immediate 100, Expected 80, Future 50, Past 10, Unknown 50; Observed 100,
    /// Likely 85, Possible 50, Unlikely 20, Unknown 50).
    pub priority: u8,
    /// `{value, reason}` if a user set the priority.
    pub priority_override: Option<Value>,
    /// CAP status: `Actual`, `Exercise`, `System`, `Test` or `Draft`. An incident that is not `Actual` is visible only
    /// to its participants and to users who may write incidents, and no alert is published for it.
    pub status: String,
    pub state: String,
    pub state_since: String,
    /// Visibility: `public`; `restricted` (users with `incidents:write`); `private` (its participants only).
    pub visibility: String,
    /// Identifiers of the users who may see a private incident, `usr_…`.
    pub addresses: Vec<String>,
    /// GeoJSON, or `{"type":"Circle","center":[lon,lat],"radius_m":…}`.
    #[schema(value_type = Option<Object>)]
    pub geometry: Option<Value>,
    pub area_desc: Option<String>,
    /// Geocodes, each `{scheme, value}`.
    #[schema(value_type = Vec<Object>)]
    pub geocodes: Vec<Value>,
    /// Bounding box: west, south, east, north.
    pub bbox: Option<Vec<f64>>,
    /// H3 cells.
    pub h3: Vec<String>,
    pub onset: Option<String>,
    pub effective: Option<String>,
    pub expires: Option<String>,
    pub instruction: Option<String>,
    pub reported_by: String,
    /// Origin of the report: `api`, `device`, `cap`, `agent` or `operator`.
    pub reported_via: String,
    pub source_ref: Option<String>,
    /// Number of reports attached to the incident.
    pub reports: u64,
    pub commander: Option<String>,
    pub assignees: Vec<String>,
    pub organisations: Vec<String>,
    /// Resources: `{id, type, qty, status, note, updated_at}` with the status `requested`, `committed`, `en_route`,
    /// `on_scene` or `released`.
    #[schema(value_type = Vec<Object>)]
    pub resources: Vec<Value>,
    pub device_ids: Vec<String>,
    pub parent_id: Option<String>,
    pub duplicate_of: Option<String>,
    /// `{identifier, sender, references, last_msg_type}` of the latest CAP message.
    #[schema(value_type = Object)]
    pub cap: Value,
    /// Number of casualties: `{injured, dead, missing, evacuated}`.
    #[schema(value_type = Object)]
    pub casualties: Value,
    pub tags: Vec<String>,
    /// Attachments, each `{name, uri, mime_type, sha256}`.
    #[schema(value_type = Vec<Object>)]
    pub attachments: Vec<Value>,
    /// Acknowledgement `{by, at, expires_at}`, while it is valid.
    #[schema(value_type = Option<Object>)]
    pub ack: Option<Value>,
    pub silenced_until: Option<String>,
    /// Sequence number of the last timeline entry.
    pub timeline_seq: u64,
    /// Version of the record, for `If-Match`; also the `ETag`.
    pub version: u64,
    pub created_at: String,
    pub updated_at: String,
    pub closed_at: Option<String>,
    /// Verbs permitted in the present state; each is `POST /api/v1/incidents/{id}/{verb}`.
    pub allowed: Vec<String>,
}

/// An incident and the message that waits for it.
#[derive(Debug, ToSchema)]
#[schema(as = IncidentDetails)]
#[allow(dead_code, reason = "describes a response")]
pub struct IncidentDetailsBody {
    #[serde(flatten)]
    pub incident: IncidentBody,
    /// CAP message of the incident that waits to be confirmed or rejected, as `GET /api/v1/alerts/{id}` returns it: its
    /// `waits_for` is `second_person` or `permission`. Null if none waits or the caller may not see it.
    #[schema(value_type = Option<Object>)]
    pub pending_alert: Option<Value>,
}

/// A changed incident and what became of its alert.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct ChangedIncident {
    #[serde(flatten)]
    pub incident: IncidentBody,
    /// CAP message that the change published, as `GET /api/v1/alerts/{id}` returns it.
    #[schema(value_type = Option<Object>)]
    pub published_alert: Option<Value>,
    /// CAP message of the incident that waits to be confirmed or rejected: until then what is published stands.
    #[schema(value_type = Option<Object>)]
    pub pending_alert: Option<Value>,
}

/// A page of incidents.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct IncidentList {
    pub incidents: Vec<IncidentBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The outcome of a report.
#[derive(Debug, Serialize)]
pub struct ReportResponse<'a> {
    #[serde(flatten)]
    pub incident: IncidentView<'a>,
    pub attached: bool,
}

/// The outcome of a report.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct ReportedIncident {
    #[serde(flatten)]
    pub incident: IncidentBody,
    /// Whether the report was attached to an incident that was already open.
    pub attached: bool,
}

/// An entry of the timeline of an incident.
#[derive(Debug, ToSchema)]
#[schema(as = TimelineEntry)]
#[allow(dead_code, reason = "describes the entry's own serialization")]
pub struct EntryBody {
    /// Sequence number, from 1 without gaps.
    pub seq: u64,
    pub at: String,
    /// Identifier of the actor: `usr_…`, `dev_…` or `system`.
    pub actor: String,
    pub kind: String,
    /// State before the transition, for entries of transitions.
    pub from: Option<String>,
    pub to: Option<String>,
    pub note: Option<String>,
    pub data: Value,
}

/// A page of a timeline.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct Timeline {
    pub entries: Vec<EntryBody>,
    pub next_cursor: Option<String>,
}
