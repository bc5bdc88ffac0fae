//! How tasks stand.

use std::time::Duration;

use actix_web::{HttpRequest, web};
use muster_core::Error;
use muster_core::page::Page;
use muster_request::Request;
use muster_tasks::task::{Filter, Requester, TaskRecord};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::body::TaskBody;
use super::filter::{self, ListQuery};
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, ReadErrors};
use crate::guard::{AgentsRead, Queried, acting};

/// Longest wait for a change, in seconds.
const MAX_WAIT: u64 = 60;
/// From one look whether the server stops to the next.
const A_LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize, ToSchema)]
pub struct TaskList {
    pub tasks: Vec<TaskBody>,
    /// For the next page, with the same filters; null at the end.
    pub next_cursor: Option<String>,
}

/// List tasks
///
/// Returns a page of the tasks that the caller may see, newest first: the caller's own; with the scope `admin` or the
/// role `auditor` all tasks.
#[utoipa::path(get, path = "/api/v1/tasks", tag = "tasks", operation_id = "list_tasks",
    params(ListQuery),
    responses((status = 200, description = "A page of tasks", body = TaskList), ReadErrors<Agent>))]
pub async fn list(
    request: Queried<AgentsRead, ListQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<TaskList>, HttpError> {
    let ListQuery { filter, page } = request.query;
    let wanted = Filter::from(filter);
    let ask = filter::page(page, &wanted)?;
    let Page { items, next } = app.agency.tasks.list(wanted.clone(), ask, &Requester::of(acting(&http)?)).await?;
    let next_cursor = next.map(|last| filter::cursor(&last, &wanted));
    Ok(web::Json(TaskList { tasks: items.into_iter().map(TaskBody::from).collect(), next_cursor }))
}

#[derive(Debug, Request)]
#[request(query)]
pub struct WaitQuery {
    /// Seconds to wait for the next change; a task that has ended is told at once.
    #[request(range = 0..=MAX_WAIT, default = 0)]
    wait: u64,
    /// Waits only while the task's `seq` is not above this: no change between two calls is missed.
    after_seq: Option<u64>,
}

/// Get a task
///
/// Returns one task. A task of another owner is 404.
#[utoipa::path(get, path = "/api/v1/tasks/{id}", tag = "tasks", operation_id = "get_task",
    params(("id" = String, Path), WaitQuery),
    responses((status = 200, description = "The task", body = TaskBody), ReadErrors<Agent>, NotFound<Agent>))]
pub async fn get(
    request: Queried<AgentsRead, WaitQuery>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<TaskBody>, HttpError> {
    let WaitQuery { wait, after_seq } = request.query;
    let requester = Requester::of(acting(&http)?);
    let tasks = &app.agency.tasks;
    let record = match wait {
        0 => tasks.get(&id, &requester).await?,
        seconds => next_change(&app, &id, &requester, after_seq, Duration::from_secs(seconds)).await?,
    };
    Ok(web::Json(record.into()))
}

/// The task once it has changed, ended, or the time is over. A server that stops does not wait for it.
async fn next_change(
    app: &App,
    id: &str,
    requester: &Requester,
    after_seq: Option<u64>,
    wait: Duration,
) -> Result<TaskRecord, Error> {
    let tasks = &app.agency.tasks;
    let until = Instant::now() + wait;
    let mut record = tasks.get(id, requester).await?;
    let seen = after_seq.unwrap_or(record.seq);
    while record.seq <= seen && !record.status.ended() && !app.draining() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        record = tasks.wait(id, requester, Some(seen), left.min(A_LOOK)).await?;
    }
    Ok(record)
}
