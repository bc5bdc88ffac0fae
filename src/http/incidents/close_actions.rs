//! Transitions that end an incident, and the one that reopens it.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::incident::Action;

use super::response::IncidentBody;
use super::transition_requests::{DuplicateBody, ReasonBody, TransitionNote};
use super::transitions::make;
use crate::app::App;
use crate::envelope::Data;
use crate::error::HttpError;
use crate::error::sets::{Disaster, NotFound, VersionErrors, WriteErrors};
use crate::guard::{IncidentsWrite, Sent};

/// Resolve an incident
///
/// Moves an active or contained incident to resolved. Every resource must be released, or a note must state what
/// becomes of it.
///
/// If an alert is published for the incident, a CAP Update with the urgency Past and the response type AllClear is
/// issued.
///
/// A transition that is not allowed is rejected with 409; `details.allowed` lists the allowed ones.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/resolve", tag = "incidents", operation_id = "resolve_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = TransitionNote,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn resolve(
    request: Sent<IncidentsWrite, TransitionNote>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Resolve, id.into_inner(), &http, &app).await
}

/// Close an incident
///
/// Moves a resolved incident to closed: with the permission `incidents:close` at once, otherwise after 24 hours. A
/// closed incident accepts notes only.
///
/// A transition that is not allowed is rejected with 409; `details.allowed` lists the allowed ones.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/close", tag = "incidents", operation_id = "close_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = TransitionNote,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn close(
    request: Sent<IncidentsWrite, TransitionNote>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Close, id.into_inner(), &http, &app).await
}

/// Reopen an incident
///
/// Moves an incident that is resolved, or was closed within the last 30 days, to active. A reason is required.
///
/// A transition that is not allowed is rejected with 409; `details.allowed` lists the allowed ones.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/reopen", tag = "incidents", operation_id = "reopen_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ReasonBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn reopen(
    request: Sent<IncidentsWrite, ReasonBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Reopen, id.into_inner(), &http, &app).await
}

/// Mark an incident as a duplicate
///
/// Marks an open incident as a duplicate of another open incident.
///
/// If an alert is published for the incident, a CAP Cancel is issued.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/duplicate", tag = "incidents", operation_id = "mark_incident_duplicate",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = DuplicateBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn duplicate(
    request: Sent<IncidentsWrite, DuplicateBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::MarkDuplicate, id.into_inner(), &http, &app).await
}

/// Mark an incident as a false alarm
///
/// Marks an open incident as a false alarm: it was reported but did not happen.
///
/// If an alert is published for the incident, a CAP Cancel is issued.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/false-alarm", tag = "incidents", operation_id = "mark_incident_false_alarm",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ReasonBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn false_alarm(
    request: Sent<IncidentsWrite, ReasonBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::FalseAlarm, id.into_inner(), &http, &app).await
}

/// Cancel an incident
///
/// Cancels an open incident.
///
/// If an alert is published for the incident, a CAP Cancel is issued.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/cancel", tag = "incidents", operation_id = "cancel_incident",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = ReasonBody,
    responses((status = 200, description = "The changed incident", body = Data<IncidentBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn cancel(
    request: Sent<IncidentsWrite, ReasonBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    make(request, Action::Cancel, id.into_inner(), &http, &app).await
}
