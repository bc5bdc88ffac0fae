//! `POST /api/v1/agents/{type}/run`

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::Millis;
use muster_request::Request;
use muster_tasks::task::{NewTask, Priority, Requester, Status};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::app::App;
use crate::ask;
use crate::envelope::Given;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, WriteErrors};
use crate::guard::{AgentsRun, Sent, acting};

const DEFAULT_SECONDS: u32 = 600;

/// What an agent is to do.
#[derive(Debug, Request)]
#[request(example = { "task": "Say what is wrong with this table", "timeout_seconds": 60, "priority": "high" })]
pub struct RunBody {
    /// The instruction, at most 64 KiB.
    #[request(check = some_text)]
    #[schema(min_length = 1)]
    task: String,
    /// As the agent's `parameters` say; what is left out has its default.
    #[request(check = is_object, default = json!({}), schema = Object)]
    params: Value,
    /// Run time: paused, queued and waiting do not count.
    #[request(range = 1..=86_400, default = DEFAULT_SECONDS)]
    timeout_seconds: u32,
    /// `low`, `normal` (default) or `high`.
    #[request(default, schema = String)]
    priority: Priority,
}

fn some_text(task: &str) -> Result<(), &'static str> {
    if task.trim().is_empty() { Err("must say what to do") } else { Ok(()) }
}

fn is_object(params: &Value) -> Result<(), &'static str> {
    if params.is_object() { Ok(()) } else { Err("must be an object") }
}

/// A task that was accepted.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskBegun {
    pub task_id: String,
    pub agent: String,
    /// `pending`.
    #[schema(value_type = String)]
    pub status: Status,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Millis,
    /// The median run time of that agent, and the expected wait; at least 1.
    pub estimated_seconds: u64,
}

/// Run an agent
///
/// Starts a task in which an agent follows an instruction. The task is durable when this returns: it is completed, or
/// its failure is recorded, even if the server restarts. `GET /api/v1/tasks/{id}` returns its state.
#[utoipa::path(post, path = "/api/v1/agents/{id}/run", tag = "agents", operation_id = "run_agent", request_body = RunBody,
    params(("id" = String, Path, description = "The agent's type"),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The accepted task", body = TaskBegun), WriteErrors<Agent>,
        NotFound<Agent>))]
pub async fn run(
    request: Sent<AgentsRun, RunBody>,
    agent: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Sent { body, sent, .. } = request;
    let requester = Requester::of(acting(&http)?);
    let named = ask::idempotency(&http, requester.by.id(), &sent)?;
    let began = app.clock.now();
    let RunBody { task, params, timeout_seconds, priority } = body;
    let new = NewTask { agent: agent.into_inner(), task, params, timeout_seconds, priority };
    let is_named = named.is_some();
    let record = app.agency.tasks.run(new, &requester, named).await?;
    let mut response = HttpResponse::build(StatusCode::CREATED);
    // One that is older than the request is the first answer, given again.
    Given::again_if(is_named && record.created_at < began).tell(&mut response);
    let estimated_seconds = (record.estimate.p50_seconds + record.estimate.queue_seconds).max(1);
    Ok(response.json(TaskBegun {
        task_id: record.id,
        agent: record.agent,
        status: record.status,
        created_at: record.created_at,
        estimated_seconds,
    }))
}
