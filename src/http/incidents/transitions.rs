//! Transitions of an incident that goes on.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::incident::Action;

use super::moves::{ActivateBody, Asks, AssignBody, EscalateBody, MoveNote, SilenceBody, TriageBody};
use super::shown::{IncidentBody, changed};

use crate::app::App;
use crate::ask;
use crate::envelope::Data;
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{IncidentsWrite, Sent, by_of};

/// Asks for a transition, at the version that the caller has read.
pub async fn make<T: Asks>(
    request: Sent<IncidentsWrite, T>,
    action: Action,
    id: String,
    http: &HttpRequest,
    app: &App,
) -> Result<HttpResponse, HttpError> {
    let if_match = ask::if_match(http)?;
    let answer = app.incidents.act(by_of(http)?, id, if_match, request.body.into_move(action)).await?;
    changed(&answer)
}

/// reported → triaged. Severity, urgency and certainty must be set, here or before. Needs `incidents:write`; a responder
/// only acts on incidents that are assigned to it. An illegal move is 409 with the allowed ones in `details.allowed`.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/triage", tag = "incidents", operation_id = "triage_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = TriageBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn triage(
    request: Sent<IncidentsWrite, TriageBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Triage, id.into_inner(), &http, &app).await
}

/// reported, triaged → acknowledged. Without activation within 30 minutes it is triaged again.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/acknowledge", tag = "incidents", operation_id = "acknowledge_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = MoveNote, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn acknowledge(
    request: Sent<IncidentsWrite, MoveNote>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Acknowledge, id.into_inner(), &http, &app).await
}

/// triaged, acknowledged → active. A commander must be set, here or before.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/activate", tag = "incidents", operation_id = "activate_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ActivateBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn activate(
    request: Sent<IncidentsWrite, ActivateBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Activate, id.into_inner(), &http, &app).await
}

/// active → contained. Needs a note.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/contain", tag = "incidents", operation_id = "contain_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = MoveNote, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn contain(
    request: Sent<IncidentsWrite, MoveNote>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Contain, id.into_inner(), &http, &app).await
}

/// Changes the ICS type of an active incident by one, up or down. Needs a note.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/escalate", tag = "incidents", operation_id = "escalate_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = EscalateBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn escalate(
    request: Sent<IncidentsWrite, EscalateBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Escalate, id.into_inner(), &http, &app).await
}

/// Says who works on an open incident, and who commands. Not for responders.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/assign", tag = "incidents", operation_id = "assign_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = AssignBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn assign(
    request: Sent<IncidentsWrite, AssignBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Assign, id.into_inner(), &http, &app).await
}

/// Silences an open incident until a time: a flag, not a state. Its events are then never urgent.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/silence", tag = "incidents", operation_id = "silence_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = SilenceBody, security(("token" = [])),
    responses((status = 200, body = Data<IncidentBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn silence(
    request: Sent<IncidentsWrite, SilenceBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Silence, id.into_inner(), &http, &app).await
}
