//! What a device reports by itself.

use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_geo::Geometry;
use muster_network::incident::{Edit, Incident, Report};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::device;
use crate::app::App;
use crate::ask;
use crate::body::{Fields, FromJson};
use crate::envelope::{Data, Given, etag};
use crate::error::HttpError;
use crate::error::sets::{Disaster, WriteErrors};
use crate::guard::{AnyDevice, Sent, by_of};

/// An incident as a device reports it. Who works on it, who sees it and what was done is for people to say.
#[derive(Debug, ToSchema)]
#[schema(as = DeviceIncidentReport)]
#[allow(dead_code, reason = "describes what is read")]
pub struct ReportSchema {
    /// 1 to 200 characters.
    pub title: String,
    /// `flood`, `wildfire`, `earthquake`, `storm`, `landslide`, `hazmat`, `outage`, `epidemic`, `mass_casualty`,
    /// `missing_person`, `infrastructure` or `other`.
    pub kind: String,
    pub summary: Option<String>,
    /// A report with the key of an open public incident, or of one of the device's own, attaches to it.
    pub dedup_key: Option<String>,
    /// `Actual` (default), `Exercise`, `System`, `Test` or `Draft`.
    pub status: Option<String>,
    /// The device's own name for what it saw.
    pub source_ref: Option<String>,
    pub severity: Option<String>,
    pub urgency: Option<String>,
    pub certainty: Option<String>,
    pub onset: Option<String>,
    /// GeoJSON, or `{"type":"Circle","center":[lon,lat],"radius_m":…}`; the device's own location where it is left out.
    #[schema(value_type = Option<Object>)]
    pub geometry: Option<Value>,
    pub area_desc: Option<String>,
    pub tags: Option<Vec<String>>,
}

/// A device's report.
#[derive(Debug)]
pub struct ReportBody(Report);

impl FromJson for ReportBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let (title, kind) = (fields.string("title"), fields.choice("kind"));
        let said = Edit {
            title: fields.require("title", title),
            kind: fields.require("kind", kind),
            summary: fields.string("summary"),
            severity: fields.choice("severity"),
            urgency: fields.choice("urgency"),
            certainty: fields.choice("certainty"),
            onset: fields.choice("onset").map(Some),
            geometry: fields.choice("geometry").map(Some),
            area_desc: fields.string("area_desc").map(Some),
            tags: fields.choice("tags"),
            ..Edit::default()
        };
        Self(Report {
            said,
            dedup_key: fields.string("dedup_key"),
            status: fields.choice("status"),
            source_ref: fields.string("source_ref"),
            ..Report::default()
        })
    }
}

/// What a device is told of the incident that it reported: nothing that people wrote of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeviceIncident)]
pub struct ReportedBody {
    pub id: String,
    /// Year and number within it, such as `2026-000123`.
    pub number: String,
    pub state: &'static str,
    pub version: u64,
    /// It was one more report of an incident that was there.
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
    request_body = ReportSchema,
    responses((status = 201, description = "The new incident", body = Data<ReportedBody>),
        (status = 200, description = "The open incident to which the report was attached", body = Data<ReportedBody>),
        WriteErrors<Disaster>))]
pub async fn report(
    request: Sent<AnyDevice, ReportBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, id) = (by_of(&http)?, device(&http)?);
    let named = ask::idempotency(&http, by.id(), &request.sent)?;
    let ReportBody(mut report) = request.body;
    let own = app.devices.get(&id).await?;
    if report.said.geometry.is_none() {
        report.said.geometry = own.location.map(|at| Some(Geometry::Point(at)));
    }
    report.said.device_ids = Some(vec![id.as_ref().to_owned()]);
    let answer = app.incidents.report(by, named, report).await?;
    let incident = answer.incident.as_deref();
    let incident = incident.ok_or_else(|| Error::new(Kind::Internal, "a report was answered without its incident"))?;
    let mut response = if answer.attached { HttpResponse::Ok() } else { HttpResponse::Created() };
    response.insert_header((ETAG, etag(incident.version)));
    Given::again_if(answer.replayed).tell(&mut response);
    Ok(response.json(Data { success: true, data: ReportedBody::new(incident, answer.attached) }))
}
