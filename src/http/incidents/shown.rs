//! How incidents are shown.

use actix_web::HttpResponse;
use muster_core::{Error, Kind};
use muster_network::incident::{Action, Incident, IncidentResponse};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::envelope;
use crate::error::HttpError;

/// An incident as it is answered.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    #[serde(flatten)]
    pub incident: &'a Incident,
    /// What may be done in its state.
    pub allowed: Vec<Action>,
}

impl<'a> Shown<'a> {
    pub fn new(incident: &'a Incident) -> Self {
        Self { incident, allowed: incident.state.allowed() }
    }
}

/// 200 with the incident that a change left.
pub fn changed(answer: &IncidentResponse) -> Result<HttpResponse, HttpError> {
    let incident = of(answer)?;
    Ok(envelope::record(incident.version, Shown::new(incident)))
}

/// The incident of an answer.
pub fn of(answer: &IncidentResponse) -> Result<&Incident, Error> {
    answer.incident.as_deref().ok_or_else(|| Error::new(Kind::Internal, "a change was answered without its incident"))
}

/// An incident.
#[derive(Debug, ToSchema)]
#[schema(as = Incident)]
#[allow(dead_code, reason = "describes what the record's own serialisation says")]
pub struct IncidentBody {
    pub id: String,
    /// Year and number within it, such as `2026-000123`.
    pub number: String,
    /// Reports with the key of an open incident attach to it.
    pub dedup_key: Option<String>,
    pub title: String,
    pub summary: String,
    /// `flood`, `wildfire`, `earthquake`, `storm`, `landslide`, `hazmat`, `outage`, `epidemic`, `mass_casualty`,
    /// `missing_person`, `infrastructure` or `other`.
    pub kind: String,
    /// CAP's categories.
    pub category: Vec<String>,
    /// CAP's; null until it is assessed.
    pub severity: Option<String>,
    pub urgency: Option<String>,
    pub certainty: Option<String>,
    /// 5 (one or two resources) to 1 (national).
    pub ics_type: u8,
    /// 0 to 100: severity × urgency × certainty in percent (Extreme 100, Severe 75, Moderate 50, Minor 25, Unknown 40;
    /// Immediate 100, Expected 80, Future 50, Past 10, Unknown 50; Observed 100, Likely 85, Possible 50, Unlikely 20,
    /// Unknown 50), unless it was set.
    pub priority: u8,
    /// `{value, reason}` where a person set it.
    pub priority_override: Option<Value>,
    /// CAP's: `Actual`, `Exercise`, `System`, `Test` or `Draft`. What is not actual is shown to those only who may write
    /// incidents or are named in it, and no alert is ever published of it.
    pub status: String,
    pub state: String,
    pub state_since: String,
    /// `public`; `restricted`: for `incidents:write`; `private`: only for those named in it.
    pub visibility: String,
    /// `usr_…`
    pub addresses: Vec<String>,
    /// GeoJSON, or `{"type":"Circle","center":[lon,lat],"radius_m":…}`.
    #[schema(value_type = Option<Object>)]
    pub geometry: Option<Value>,
    pub area_desc: Option<String>,
    /// `{scheme, value}`
    #[schema(value_type = Vec<Object>)]
    pub geocodes: Vec<Value>,
    /// West, south, east, north.
    pub bbox: Option<Vec<f64>>,
    /// Cells of H3.
    pub h3: Vec<String>,
    pub onset: Option<String>,
    pub effective: Option<String>,
    pub expires: Option<String>,
    pub instruction: Option<String>,
    pub reported_by: String,
    /// `api`, `device`, `cap`, `agent` or `operator`.
    pub reported_via: String,
    pub source_ref: Option<String>,
    /// Reports that came of it.
    pub reports: u64,
    pub commander: Option<String>,
    pub assignees: Vec<String>,
    pub organisations: Vec<String>,
    /// `{id, type, qty, status, note, updated_at}`; status `requested`, `committed`, `en_route`, `on_scene`, `released`.
    #[schema(value_type = Vec<Object>)]
    pub resources: Vec<Value>,
    pub device_ids: Vec<String>,
    pub parent_id: Option<String>,
    pub duplicate_of: Option<String>,
    /// `{identifier, sender, references, last_msg_type}` of the latest CAP message.
    #[schema(value_type = Object)]
    pub cap: Value,
    /// `{injured, dead, missing, evacuated}`
    #[schema(value_type = Object)]
    pub casualties: Value,
    pub tags: Vec<String>,
    /// `{name, uri, mime_type, sha256}`
    #[schema(value_type = Vec<Object>)]
    pub attachments: Vec<Value>,
    /// `{by, at, expires_at}` while it is acknowledged.
    #[schema(value_type = Option<Object>)]
    pub ack: Option<Value>,
    pub silenced_until: Option<String>,
    /// The last entry of its timeline.
    pub timeline_seq: u64,
    /// For `If-Match`; also the `ETag`.
    pub version: u64,
    pub created_at: String,
    pub updated_at: String,
    pub closed_at: Option<String>,
    /// What may be done in its state.
    pub allowed: Vec<String>,
}

/// A page of incidents.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is answered")]
pub struct IncidentList {
    pub incidents: Vec<IncidentBody>,
    /// For the next page; null at the end.
    pub next_cursor: Option<String>,
}

/// What came of a report.
#[derive(Debug, Serialize)]
pub struct Reported<'a> {
    #[serde(flatten)]
    pub shown: Shown<'a>,
    pub attached: bool,
}

/// What came of a report.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is answered")]
pub struct ReportedIncident {
    #[serde(flatten)]
    pub incident: IncidentBody,
    /// It is one more report of an incident that was open already.
    pub attached: bool,
}

/// One thing that happened to an incident.
#[derive(Debug, ToSchema)]
#[schema(as = TimelineEntry)]
#[allow(dead_code, reason = "describes what the entry's own serialisation says")]
pub struct EntryBody {
    /// From 1, without gaps.
    pub seq: u64,
    pub at: String,
    /// `usr_…`, `dev_…` or `system`.
    pub actor: String,
    pub kind: String,
    /// The states, where it moved.
    pub from: Option<String>,
    pub to: Option<String>,
    pub note: Option<String>,
    pub data: Value,
}

/// A page of a timeline.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is answered")]
pub struct Timeline {
    pub entries: Vec<EntryBody>,
    pub next_cursor: Option<String>,
}
