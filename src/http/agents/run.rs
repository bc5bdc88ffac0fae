//! `POST /api/v1/agents/{type}/run`

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::Millis;
use muster_tasks::task::{Asker, NewTask, Priority, Status};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::ask;
use crate::body::{Fields, FromJson};
use crate::envelope::Given;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, WriteErrors};
use crate::guard::{AgentsRun, Sent, acting};

const DEFAULT_SECONDS: u32 = 600;

/// What an agent is to do.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "the description reads its fields")]
pub struct RunBody {
    /// The instruction, at most 64 KiB.
    #[schema(min_length = 1)]
    pub task: String,
    /// As the agent's `parameters` say; what is left out has its default.
    #[schema(value_type = Option<Object>)]
    pub params: Value,
    /// Run time: paused, queued and waiting do not count.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 86_400, default = 600)]
    pub timeout_seconds: u32,
    /// `low`, `normal` (default) or `high`.
    #[schema(value_type = Option<String>)]
    pub priority: Priority,
}

impl FromJson for RunBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let task = fields.string("task");
        if task.as_ref().is_some_and(|task| task.trim().is_empty()) {
            fields.fail("task", "must say what to do");
        }
        let seconds = fields.integer("timeout_seconds", 1..=86_400).and_then(|seconds| u32::try_from(seconds).ok());
        let params = fields.value("params").cloned();
        if params.as_ref().is_some_and(|params| !params.is_object()) {
            fields.fail("params", "must be an object");
        }
        Self {
            task: fields.require("task", task).unwrap_or_default(),
            params: params.unwrap_or_else(|| serde_json::json!({})),
            timeout_seconds: seconds.unwrap_or(DEFAULT_SECONDS),
            priority: fields.choice("priority").unwrap_or_default(),
        }
    }
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
    let asker = Asker::of(acting(&http)?);
    let named = ask::idempotency(&http, asker.by.id(), &sent)?;
    let began = app.clock.now();
    let RunBody { task, params, timeout_seconds, priority } = body;
    let new = NewTask { agent: agent.into_inner(), task, params, timeout_seconds, priority };
    let is_named = named.is_some();
    let record = app.agency.tasks.run(new, &asker, named).await?;
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
