//! Reports, changes, notes and resources.

use actix_web::http::header::{ETAG, LOCATION};
use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::incident::ResourceAct;

use super::body::{NoteBody, PatchBody, ReportBody, ResourceBody, ResourceChangeBody};
use super::shown::{IncidentBody, Reported, ReportedIncident, Shown, changed, of};
use crate::app::App;
use crate::ask;
use crate::envelope::{self, Data, Given, etag};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{IncidentsWrite, Sent, by_of};

/// Reports an incident: 201. A report with the `dedup_key` of an open one attaches to it instead: 200, `attached`. What a
/// responder reports is assigned to it. Needs `incidents:write`; devices have
/// `/api/v1/device/incidents`.
#[utoipa::path(post, path = "/api/v1/incidents", tag = "incidents", operation_id = "report_incident",
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = ReportBody, security(("token" = [])),
    responses((status = 201, body = Data<ReportedIncident>), (status = 200, body = Data<ReportedIncident>),
        (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn report(
    request: Sent<IncidentsWrite, ReportBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = ask::idempotency(&http, by.id(), &request.sent)?;
    let answer = app.incidents.report(by, named, request.body.into()).await?;
    let incident = of(&answer)?;
    let mut response = if answer.attached { HttpResponse::Ok() } else { HttpResponse::Created() };
    response.insert_header((ETAG, etag(incident.version)));
    response.insert_header((LOCATION, format!("/api/v1/incidents/{}", incident.id)));
    Given::again_if(answer.replayed).tell(&mut response);
    let data = Reported { shown: Shown::new(incident), attached: answer.attached };
    Ok(response.json(Data { success: true, data }))
}

/// Changes what is known of an incident that is not over. Where an alert stands and severity, area, expiry or instruction
/// change, an Update follows it; it waits for a second person where the alert is severe and public, or where the caller
/// may not publish. Needs `incidents:write`.
#[utoipa::path(patch, path = "/api/v1/incidents/{id}", tag = "incidents", operation_id = "change_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = PatchBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn patch(
    request: Sent<IncidentsWrite, PatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let if_match = ask::if_match(&http)?;
    let PatchBody { edit, note } = request.body;
    changed(&app.incidents.edit(by_of(&http)?, id.into_inner(), if_match, edit.into(), note).await?)
}

/// Appends a note to the timeline, whatever state the incident is in. Takes no `If-Match`: notes do not overwrite one
/// another. Needs `incidents:write`.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/notes", tag = "incidents", operation_id = "annotate_incident",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = NoteBody, security(("token" = [])),
    responses((status = 201, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn note(
    request: Sent<IncidentsWrite, NoteBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = ask::idempotency(&http, by.id(), &request.sent)?;
    let NoteBody { text, data } = request.body;
    let answer = app.incidents.note(by, named, id.into_inner(), text, data).await?;
    Ok(envelope::created(Shown::new(of(&answer)?), Given::again_if(answer.replayed)))
}

/// Asks for a resource, or says that one is there. Needs `incidents:write`.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/resources", tag = "incidents", operation_id = "add_incident_resource",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *"),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = ResourceBody, security(("token" = [])),
    responses((status = 201, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn add(
    request: Sent<IncidentsWrite, ResourceBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, ask::if_match(&http)?);
    let named = ask::idempotency(&http, by.id(), &request.sent)?;
    let what = ResourceAct::Add(request.body.into());
    let answer = app.incidents.resources(by, named, id.into_inner(), if_match, what).await?;
    Ok(envelope::created(Shown::new(of(&answer)?), Given::again_if(answer.replayed)))
}

/// Moves or changes a resource: one step on, or released. Needs `incidents:write`.
#[utoipa::path(patch, path = "/api/v1/incidents/{id}/resources", tag = "incidents",
    operation_id = "change_incident_resource",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ResourceChangeBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn change(
    request: Sent<IncidentsWrite, ResourceChangeBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, ask::if_match(&http)?);
    let what = ResourceAct::Change(request.body.into());
    changed(&app.incidents.resources(by, None, id.into_inner(), if_match, what).await?)
}
