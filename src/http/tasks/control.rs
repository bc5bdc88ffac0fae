//! Control of one task, in two phases: the response is the first, an event of the task's journal the second.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_tasks::task::{Abort, Control, ControlReply, Effective, FirstPhase, Requester, Status, Verb};
use serde::Serialize;
use utoipa::ToSchema;

use crate::agents::control::{ControlBody, PauseBody, RedirectBody};
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, WriteErrors};
use crate::guard::{AgentsControl, Sent, acting};

/// The first phase of a control.
#[derive(Debug, Serialize, ToSchema)]
pub struct ControlAnswer {
    pub task_id: String,
    pub request_id: String,
    /// `accepted` (202: the second phase is an event, `control.applied`, `control.superseded` or `control.missed`) or
    /// `already` (200: the task is in the requested state already).
    #[schema(value_type = String)]
    pub phase: FirstPhase,
    /// When the control takes effect: `now`, `boundary` (the next step boundary) or `resume`.
    #[schema(value_type = String)]
    pub effective: Effective,
    /// Status of the task after the control was accepted.
    #[schema(value_type = String)]
    pub status: Status,
    /// Sequence number of the task's journal after the control was accepted.
    pub seq: u64,
    /// Effect on the step in progress. `dropped`: a provider's connection is closed, an engine's process ends, the embedded
    /// model stops at its next token. `detached` (the work continues and its late result is discarded) is reserved: no
    /// step of the present version is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub abort: Option<Abort>,
}

async fn carry_out(http: &HttpRequest, app: &App, id: &str, control: Control) -> Result<HttpResponse, HttpError> {
    let reply = app.agency.tasks.control(id, control, &Requester::of(acting(http)?)).await?;
    let ControlReply { task_id, request_id, phase, effective, status, seq, abort } = reply;
    let code = if phase == FirstPhase::Accepted { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok(HttpResponse::build(code).json(ControlAnswer { task_id, request_id, phase, effective, status, seq, abort }))
}

/// Pause a task
///
/// Pauses a task at the next step boundary, or at once with `now`. 409 with the current status is returned if it cannot
/// be paused.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/pause", tag = "tasks", operation_id = "pause_task",
    params(("id" = String, Path)), request_body = PauseBody,
    responses((status = 200, description = "The command has taken effect", body = ControlAnswer),
        (status = 202, description = "The command is accepted and takes effect at the next step", body = ControlAnswer),
        WriteErrors<Agent>, NotFound<Agent>))]
pub async fn pause(
    request: Sent<AgentsControl, PauseBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    carry_out(&http, &app, &id, request.body.into()).await
}

/// Resume a task
///
/// Returns a paused task to the queue, where its age counts.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/resume", tag = "tasks", operation_id = "resume_task",
    params(("id" = String, Path)), request_body = ControlBody,
    responses((status = 200, description = "The command has taken effect", body = ControlAnswer),
        (status = 202, description = "The command is accepted and takes effect at the next step", body = ControlAnswer),
        WriteErrors<Agent>, NotFound<Agent>))]
pub async fn resume(
    request: Sent<AgentsControl, ControlBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    carry_out(&http, &app, &id, request.body.of(Verb::Resume)).await
}

/// Kill a task
///
/// Ends a task. The step in progress is aborted at once, and no output of it is published afterwards.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/kill", tag = "tasks", operation_id = "kill_task", params(("id" = String, Path)),
    request_body = ControlBody,
    responses((status = 200, description = "The command has taken effect", body = ControlAnswer),
        (status = 202, description = "The command is accepted and takes effect at the next step", body = ControlAnswer),
        WriteErrors<Agent>, NotFound<Agent>))]
pub async fn kill(
    request: Sent<AgentsControl, ControlBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    carry_out(&http, &app, &id, request.body.of(Verb::Kill)).await
}

/// Redirect a task
///
/// Gives a task a new instruction, or hands it over to another agent. Its `revision` is incremented.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/redirect", tag = "tasks", operation_id = "redirect_task",
    params(("id" = String, Path)), request_body = RedirectBody,
    responses((status = 200, description = "The command has taken effect", body = ControlAnswer),
        (status = 202, description = "The command is accepted and takes effect at the next step", body = ControlAnswer),
        WriteErrors<Agent>, NotFound<Agent>))]
pub async fn redirect(
    request: Sent<AgentsControl, RedirectBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    carry_out(&http, &app, &id, request.body.into()).await
}
