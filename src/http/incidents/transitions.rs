//! Transitions of an incident that goes on.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::incident::Action;

use super::moves::{ActivateBody, Asks, AssignBody, EscalateBody, MoveNote, SilenceBody, TriageBody};
use super::shown::{IncidentBody, changed};

use crate::app::App;
use crate::ask;
use crate::envelope::Data;
use crate::error::HttpError;
use crate::error::sets::{Disaster, NotFound, VersionErrors, WriteErrors};
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
    let answer = app.incidents.transition(by_of(http)?, id, if_match, request.body.into_move(action)).await?;
    changed(&answer)
}

/// Triage an incident
///
/// Moves a reported incident to triaged. Severity, urgency and certainty must be set, by this request or before. A
/// responder can only act on incidents assigned to the responder.
///
/// A transition that is not allowed is rejected with 409; `details.allowed` lists the allowed ones.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/triage", tag = "incidents", operation_id = "triage_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = TriageBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn triage(
    request: Sent<IncidentsWrite, TriageBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Triage, id.into_inner(), &http, &app).await
}

/// Acknowledge an incident
///
/// Moves a reported or triaged incident to acknowledged. If it is not activated within 30 minutes, it returns to
/// triaged.
///
/// A transition that is not allowed is rejected with 409; `details.allowed` lists the allowed ones.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/acknowledge", tag = "incidents", operation_id = "acknowledge_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = MoveNote,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn acknowledge(
    request: Sent<IncidentsWrite, MoveNote>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Acknowledge, id.into_inner(), &http, &app).await
}

/// Activate an incident
///
/// Moves a triaged or acknowledged incident to active. A commander must be set, by this request or before.
///
/// A transition that is not allowed is rejected with 409; `details.allowed` lists the allowed ones.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/activate", tag = "incidents", operation_id = "activate_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ActivateBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn activate(
    request: Sent<IncidentsWrite, ActivateBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Activate, id.into_inner(), &http, &app).await
}

/// Mark an incident as contained
///
/// Moves an active incident to contained. A note is required.
///
/// A transition that is not allowed is rejected with 409; `details.allowed` lists the allowed ones.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/contain", tag = "incidents", operation_id = "contain_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = MoveNote,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn contain(
    request: Sent<IncidentsWrite, MoveNote>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Contain, id.into_inner(), &http, &app).await
}

/// Escalate or de-escalate an incident
///
/// Changes the ICS type of an active incident by one, up or down. A note is required.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/escalate", tag = "incidents", operation_id = "escalate_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = EscalateBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn escalate(
    request: Sent<IncidentsWrite, EscalateBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Escalate, id.into_inner(), &http, &app).await
}

/// Assign an incident
///
/// Sets the assignees and the commander of an open incident. Responders cannot assign.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/assign", tag = "incidents", operation_id = "assign_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = AssignBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn assign(
    request: Sent<IncidentsWrite, AssignBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Assign, id.into_inner(), &http, &app).await
}

/// Silence an incident
///
/// Silences an open incident until a time: its events are not urgent until then. The state of the incident does not
/// change.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/silence", tag = "incidents", operation_id = "silence_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = SilenceBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn silence(
    request: Sent<IncidentsWrite, SilenceBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Silence, id.into_inner(), &http, &app).await
}
