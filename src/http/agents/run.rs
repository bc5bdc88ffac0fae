//! `POST /api/v1/agents/{type}/run`

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::Millis;
use muster_request::Request;
use muster_tasks::task::{NewTask, Priority, Requester, Start, Status};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::app::App;
use crate::envelope::IdempotencyReplay;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, WriteErrors};
use crate::guard::{AgentsRun, Sent, acting};
use crate::parameters;

const DEFAULT_SECONDS: u32 = 600;

/// The instruction and the parameters of a run.
#[derive(Debug, Request)]
#[request(example = { "task": "Find the errors in this table", "timeout_seconds": 60, "priority": "high" })]
pub struct RunBody {
    /// Instruction to the agent, at most 64 KiB, not only white space.
    #[request(check = some_text)]
    #[schema(min_length = 1)]
    task: String,
    /// Parameters as described by the agent's `parameters`; missing ones have their defaults.
    #[request(check = is_object, default = json!({}), schema = crate::schema::AnyObject)]
    params: Value,
    /// Maximum run time, in seconds. Time spent paused, queued or waiting does not count.
    #[request(range = 1..=86_400, default = DEFAULT_SECONDS)]
    timeout_seconds: u32,
    /// Priority in the queue: `low`, `normal` (default) or `high`.
    #[request(default, schema = String)]
    priority: Priority,
    /// Whether the task is paused before its first step: it can be redirected then, and runs once it is resumed.
    #[request(default = false)]
    paused: bool,
}

fn some_text(task: &str) -> Result<(), &'static str> {
    if task.trim().is_empty() { Err("must say what to do") } else { Ok(()) }
}

fn is_object(params: &Value) -> Result<(), &'static str> {
    if params.is_object() { Ok(()) } else { Err("must be an object") }
}

/// An accepted task.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskBegun {
    pub task_id: String,
    pub agent: String,
    /// Always `pending`.
    #[schema(value_type = String)]
    pub status: Status,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Millis,
    /// Median run time of the agent plus the expected time in the queue, in seconds; at least 1.
    pub estimated_seconds: u64,
}

/// Run an agent
///
/// Starts a task in which an agent follows an instruction. The task is durable when this returns: it is completed, or
/// its failure is recorded, even if the server restarts. `GET /api/v1/tasks/{id}` returns its state.
#[utoipa::path(post, path = "/api/v1/agents/{id}/run", tag = "agents", operation_id = "run_agent", request_body = RunBody,
    params(("id" = String, Path, description = "Identifier of the agent"),
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
    let named = parameters::idempotency(&http, requester.by.id(), &sent)?;
    let began = app.clock.now();
    let RunBody { task, params, timeout_seconds, priority, paused } = body;
    let start = if paused { Start::Paused } else { Start::AtOnce };
    let new = NewTask { agent: agent.into_inner(), task, params, timeout_seconds, priority, start };
    let is_named = named.is_some();
    let record = app.agency.tasks.run(new, &requester, named).await?;
    let mut response = HttpResponse::build(StatusCode::CREATED);
    // A task that is older than the request belongs to the first request with this key.
    IdempotencyReplay::from(is_named && record.created_at < began).write_to(&mut response);
    let estimated_seconds = (record.estimate.p50_seconds + record.estimate.queue_seconds).max(1);
    Ok(response.json(TaskBegun {
        task_id: record.id,
        agent: record.agent,
        status: record.status,
        created_at: record.created_at,
        estimated_seconds,
    }))
}
