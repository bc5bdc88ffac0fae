//! Transitions that end an incident, and the one that opens it again.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::incident::Action;

use super::moves::{DuplicateBody, MoveNote, ReasonBody};
use super::shown::IncidentBody;
use super::transitions::make;
use crate::app::App;
use crate::envelope::Data;
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{IncidentsWrite, Sent};

/// active, contained → resolved. Every resource must be released, or a note say what becomes of it. Where an alert stands,
/// an Update follows it: urgency Past, response AllClear.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/resolve", tag = "incidents", operation_id = "resolve_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = MoveNote, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn resolve(
    request: Sent<IncidentsWrite, MoveNote>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Resolve, id.into_inner(), &http, &app).await
}

/// resolved → closed: by `incidents:close` at once, by `incidents:write` after 24 h. What is closed is only annotated.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/close", tag = "incidents", operation_id = "close_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = MoveNote, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn close(
    request: Sent<IncidentsWrite, MoveNote>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Close, id.into_inner(), &http, &app).await
}

/// resolved, closed (within 30 days) → active. Needs a reason.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/reopen", tag = "incidents", operation_id = "reopen_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ReasonBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn reopen(
    request: Sent<IncidentsWrite, ReasonBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Reopen, id.into_inner(), &http, &app).await
}

/// An open incident is the same as another open one. Where an alert stands, a Cancel follows it.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/duplicate", tag = "incidents", operation_id = "mark_incident_duplicate",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = DuplicateBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn duplicate(
    request: Sent<IncidentsWrite, DuplicateBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::MarkDuplicate, id.into_inner(), &http, &app).await
}

/// An open incident was none. Where an alert stands, a Cancel follows it.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/false-alarm", tag = "incidents", operation_id = "mark_incident_false_alarm",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ReasonBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn false_alarm(
    request: Sent<IncidentsWrite, ReasonBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::FalseAlarm, id.into_inner(), &http, &app).await
}

/// An open incident is called off. Where an alert stands, a Cancel follows it.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/cancel", tag = "incidents", operation_id = "cancel_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ReasonBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn cancel(
    request: Sent<IncidentsWrite, ReasonBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Cancel, id.into_inner(), &http, &app).await
}
