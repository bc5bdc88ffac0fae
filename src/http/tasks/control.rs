//! Control of one task, in two phases: the answer is the first, an event of the task's journal the second.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::ids::{IdKind, new_id};
use muster_request::{Fields, Request};
use muster_tasks::task::{Abort, Control, ControlReply, Effective, FirstPhase, RedirectMode, Requester, Status, Verb};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, WriteErrors};
use crate::guard::{AgentsControl, Sent, acting};

/// What every control takes.
#[derive(Debug, Request)]
#[request(may_be_empty)]
pub struct ControlBody {
    /// The same gets the same answer for 24 h; made up where it is left out.
    pub request_id: Option<String>,
    /// For people: stands in the audit log.
    #[request(example = "not needed any more")]
    pub reason: Option<String>,
    /// Only if the task is still at this `seq`.
    pub if_seq: Option<u64>,
}

/// How a task is to be paused.
#[derive(Debug, Request)]
#[request(may_be_empty)]
pub struct PauseBody {
    #[request(flatten)]
    pub control: ControlBody,
    /// Aborts the step in flight, which runs again on resume; by default the pause is at the next step boundary.
    #[request(default = false, example = true)]
    pub now: bool,
}

/// What a task is to do instead.
#[derive(Debug, Request)]
#[request(example = { "instruction": "Leave the appendix out" })]
pub struct RedirectBody {
    #[request(flatten)]
    pub control: ControlBody,
    /// At most 8 KiB.
    pub instruction: String,
    /// `steer` (default): joins at the next boundary. `interrupt`: the step in flight is aborted, and what comes next is
    /// planned anew. `agent`: another agent takes over.
    #[request(default, schema = String)]
    pub mode: RedirectMode,
    /// With the mode `agent`: who takes over.
    #[request(with = successor, using = mode)]
    pub agent: Option<String>,
}

/// The agent that takes over, which the mode `agent` needs and no other takes.
pub(super) fn successor(fields: &mut Fields<'_>, name: &str, mode: &RedirectMode) -> Option<String> {
    let agent = fields.string(name);
    if (*mode == RedirectMode::Agent) != agent.is_some() {
        fields.fail(name, "names the agent that takes over, with the mode `agent` and no other");
    }
    agent
}

/// The first phase of an answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ControlAnswer {
    pub task_id: String,
    pub request_id: String,
    /// `accepted` (202: the second phase is an event, `control.applied`, `control.superseded` or `control.missed`) or
    /// `already` (200: it is so already).
    #[schema(value_type = String)]
    pub phase: FirstPhase,
    /// When it takes hold: `now`, `boundary` or `resume`.
    #[schema(value_type = String)]
    pub effective: Effective,
    /// The task's, after it.
    #[schema(value_type = String)]
    pub status: Status,
    pub seq: u64,
    /// What becomes of the step in flight. `dropped`: a provider's connection is closed, an engine's process ends, the
    /// embedded model stops at its next step. `detached`, where work went on and its late result were fenced off, is never
    /// given: there is no such step.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub abort: Option<Abort>,
}

async fn carry_out(
    http: &HttpRequest,
    app: &App,
    id: &str,
    control: ControlBody,
    verb: Verb,
) -> Result<HttpResponse, HttpError> {
    let ControlBody { request_id, reason, if_seq } = control;
    let request_id = request_id.unwrap_or_else(|| new_id(IdKind::Request));
    let control = Control { verb, request_id, if_seq, reason };
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
    let PauseBody { control, now } = request.body;
    carry_out(&http, &app, &id, control, Verb::Pause { now }).await
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
    carry_out(&http, &app, &id, request.body, Verb::Resume).await
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
    carry_out(&http, &app, &id, request.body, Verb::Kill).await
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
    let RedirectBody { control, instruction, mode, agent } = request.body;
    carry_out(&http, &app, &id, control, Verb::Redirect { mode, instruction, agent }).await
}
