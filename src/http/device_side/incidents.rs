//! Incidents reported by devices.

use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind, Millis};
use muster_geo::Geometry;
use muster_network::alert::{Certainty, Severity, Status, Urgency};
use muster_network::incident::{Incident, IncidentEdit, IncidentKind, NewReport};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use super::device;
use crate::app::App;
use crate::envelope::{Data, IdempotencyReplay, etag};
use crate::error::HttpError;
use crate::error::sets::{Disaster, WriteErrors};
use crate::guard::{AnyDevice, Sent, by_of};
use crate::parameters;

/// An incident reported by a device. Assignment, visibility and resources are set by users.
#[derive(Debug, Request)]
#[request(schema = DeviceIncidentReport, example = {
    "title": "Shaking of intensity VI", "kind": "earthquake", "severity": "Severe", "urgency": "Immediate",
    "certainty": "Observed", "dedup_key": "quake-2026-11-21-rossdorf"
})]
pub struct ReportBody {
    /// 1 to 200 characters.
    title: String,
    /// `flood`, `wildfire`, `earthquake`, `storm`, `landslide`, `hazmat`, `outage`, `epidemic`, `mass_casualty`,
    /// `missing_person`, `infrastructure` or `other`.
    #[request(schema = String)]
    kind: IncidentKind,
    summary: Option<String>,
    /// Deduplication key. A report with the key of an open public incident, or of an incident of the same device, is
    /// attached to it.
    dedup_key: Option<String>,
    /// `Actual` (default), `Exercise`, `System`, `Test` or `Draft`.
    #[request(schema = String)]
    status: Option<Status>,
    /// Identifier of the observation on the device.
    source_ref: Option<String>,
    #[request(schema = String)]
    severity: Option<Severity>,
    #[request(schema = String)]
    urgency: Option<Urgency>,
    #[request(schema = String)]
    certainty: Option<Certainty>,
    #[request(schema = String)]
    onset: Option<Millis>,
    /// GeoJSON, or `{"type":"Circle","center":[lon,lat],"radius_m":…}`. By default the location of the device.
    #[request(schema = crate::schema::GeoGeometry)]
    geometry: Option<Geometry>,
    area_desc: Option<String>,
    tags: Option<Vec<String>>,
}

impl From<ReportBody> for NewReport {
    fn from(body: ReportBody) -> Self {
        let fields = IncidentEdit {
            title: Some(body.title),
            kind: Some(body.kind),
            summary: body.summary,
            severity: body.severity,
            urgency: body.urgency,
            certainty: body.certainty,
            onset: body.onset.map(Some),
            geometry: body.geometry.map(Some),
            area_desc: body.area_desc.map(Some),
            tags: body.tags,
            ..IncidentEdit::default()
        };
        Self { fields, dedup_key: body.dedup_key, status: body.status, source_ref: body.source_ref, ..Self::default() }
    }
}

/// The part of an incident that is returned to the device that reported it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeviceIncident)]
pub struct ReportedBody {
    pub id: String,
    /// Year and number within the year, such as `2026-000123`.
    pub number: String,
    pub state: &'static str,
    pub version: u64,
    /// Whether the report was attached to an existing incident.
    pub attached: bool,
}

impl ReportedBody {
    fn new(incident: &Incident, attached: bool) -> Self {
        let (id, number) = (incident.id.clone(), incident.number.clone());
        Self { id, number, state: incident.state.name(), version: incident.version, attached }
    }
}

/// Report an incident from a device
///
/// Reports an incident with `reported_via` set to `device`. If no geometry is sent, the position of the device is used.
/// A report with the `dedup_key` of an open public incident is attached to that incident (200, `attached`).
#[utoipa::path(post, path = "/api/v1/device/incidents", tag = "device side", operation_id = "report_device_incident",
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = ReportBody,
    responses((status = 201, description = "The new incident", body = Data<ReportedBody>),
        (status = 200, description = "The open incident to which the report was attached", body = Data<ReportedBody>),
        WriteErrors<Disaster>))]
pub async fn report(
    request: Sent<AnyDevice, ReportBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, id) = (by_of(&http)?, device(&http)?);
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let mut report = NewReport::from(request.body);
    let own = app.devices.get(&id).await?;
    if report.fields.geometry.is_none() {
        report.fields.geometry = own.location.map(|at| Some(Geometry::Point(at)));
    }
    report.fields.device_ids = Some(vec![id.as_ref().to_owned()]);
    let answer = app.incidents.report(by, named, report).await?;
    let incident = answer.incident.as_deref();
    let incident = incident.ok_or_else(|| Error::new(Kind::Internal, "a report was answered without its incident"))?;
    let mut response = if answer.attached { HttpResponse::Ok() } else { HttpResponse::Created() };
    response.insert_header((ETAG, etag(incident.version)));
    IdempotencyReplay::from(answer.replayed).write_to(&mut response);
    Ok(response.json(Data { success: true, data: ReportedBody::new(incident, answer.attached) }))
}
