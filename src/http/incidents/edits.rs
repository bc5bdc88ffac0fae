//! Reports, changes, notes and resources.

use actix_web::http::header::{ETAG, LOCATION};
use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::incident::{AlertTexts, EditRequest, ResourceRequest};

use super::body::{NoteBody, PatchBody, ReportBody, ResourceBody, ResourceChangeBody};
use super::response::{ChangedIncident, IncidentBody, IncidentView, ReportResponse, ReportedIncident, changed, of};
use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay, etag};
use crate::error::HttpError;
use crate::error::sets::{Disaster, NotFound, VersionErrors, WriteErrors};
use crate::governance;
use crate::guard::{IncidentsWrite, Sent, by_of};
use crate::parameters;

/// Report an incident
///
/// Reports an incident. A report with the `dedup_key` of an open incident is attached to that incident (200,
/// `attached`). An incident reported by a responder is assigned to the responder. Devices use `POST
/// /api/v1/device/incidents`.
#[utoipa::path(post, path = "/api/v1/incidents", tag = "incidents", operation_id = "report_incident",
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = ReportBody,
    responses((status = 201, description = "The new incident", body = Data<ReportedIncident>),
        (status = 200, description = "The open incident to which the report was attached", body = Data<ReportedIncident>),
        WriteErrors<Disaster>))]
pub async fn report(
    request: Sent<IncidentsWrite, ReportBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let answer = app.incidents.report(by, named, request.body.into()).await?;
    let incident = of(&answer)?;
    let mut response = if answer.attached { HttpResponse::Ok() } else { HttpResponse::Created() };
    response.insert_header((ETAG, etag(incident.version)));
    response.insert_header((LOCATION, format!("/api/v1/incidents/{}", incident.id)));
    IdempotencyReplay::from(answer.replayed).write_to(&mut response);
    let data = ReportResponse { incident: IncidentView::new(incident), attached: answer.attached };
    Ok(response.json(Data { success: true, data }))
}

/// Update an incident
///
/// Changes an incident that is not over. A field that is left out keeps its value; null clears an optional field.
///
/// If an alert is published for the incident and severity, area, expiry or instruction change, a CAP Update is issued.
/// The Update waits for a second person if a message of the alert was public and Severe or Extreme, and for a person who
/// may publish alerts if the caller may not; `pending_alert` of the response is then that message.
#[utoipa::path(patch, path = "/api/v1/incidents/{id}", tag = "incidents", operation_id = "change_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = PatchBody,
    responses((status = 200, description = "The changed incident", body = Data<ChangedIncident>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn patch(
    request: Sent<IncidentsWrite, PatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let if_match = parameters::if_match(&http)?;
    let PatchBody { edit, note, alert } = request.body;
    let (by, id) = (by_of(&http)?, id.into_inner());
    let alert = AlertTexts::from(alert.unwrap_or_default());
    let change = EditRequest { edit: edit.into(), note: note.note, alert };
    let why = format!("publish an update of the alert of {id}");
    let answer = governance::opening(&app, &http, &request.sent, &why, |step| {
        let (incidents, by, id) = (app.incidents.clone(), by.clone(), id.clone());
        let change = change.clone();
        async move { incidents.edit(by, id, if_match, change, step).await }
    });
    changed(&answer.await?)
}

/// Add a note to an incident
///
/// Appends a note to the timeline of an incident in any state. `If-Match` is not needed, as notes do not overwrite each
/// other.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/notes", tag = "incidents", operation_id = "annotate_incident",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = NoteBody,
    responses((status = 201, description = "The incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn note(
    request: Sent<IncidentsWrite, NoteBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let NoteBody { text, data } = request.body;
    let answer = app.incidents.note(by, named, id.into_inner(), text, data).await?;
    Ok(envelope::created(IncidentView::new(of(&answer)?), IdempotencyReplay::from(answer.replayed)))
}

/// Add a resource to an incident
///
/// Adds a resource that an incident needs or already has.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/resources", tag = "incidents", operation_id = "add_incident_resource",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *"),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = ResourceBody,
    responses((status = 201, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn add(
    request: Sent<IncidentsWrite, ResourceBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, parameters::if_match(&http)?);
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let what = ResourceRequest::Add(request.body.into());
    let answer = app.incidents.resources(by, named, id.into_inner(), if_match, what).await?;
    Ok(envelope::created(IncidentView::new(of(&answer)?), IdempotencyReplay::from(answer.replayed)))
}

/// Update a resource of an incident
///
/// Changes a resource. Its status moves one step forward (requested, committed, en route, on scene), or to released;
/// any other change of status is rejected with 409.
#[utoipa::path(patch, path = "/api/v1/incidents/{id}/resources", tag = "incidents", operation_id = "change_incident_resource",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ResourceChangeBody,
    responses((status = 200, description = "The changed incident", body = Data<ChangedIncident>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn change(
    request: Sent<IncidentsWrite, ResourceChangeBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, parameters::if_match(&http)?);
    let what = ResourceRequest::Change(request.body.into());
    changed(&app.incidents.resources(by, None, id.into_inner(), if_match, what).await?)
}
