//! Reading tasks: one, waiting for a change, and lists.

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

/// Maximum time to wait for a change, in seconds.
const MAX_WAIT: u64 = 60;
/// Interval at which a waiting request checks whether the server stops.
const STOP_CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize, ToSchema)]
pub struct TaskList {
    pub tasks: Vec<TaskBody>,
    /// Cursor of the next page, with the same filters; null on the last page.
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
    let page = filter::page(page, &wanted)?;
    let Page { items, next } = app.agency.tasks.list(wanted.clone(), page, &Requester::of(acting(&http)?)).await?;
    let next_cursor = next.map(|last| filter::cursor(&last, &wanted));
    Ok(web::Json(TaskList { tasks: items.into_iter().map(TaskBody::from).collect(), next_cursor }))
}

#[derive(Debug, Request)]
#[request(query)]
pub struct WaitQuery {
    /// Maximum time to wait for the next change, in seconds. A task that has ended is returned at once.
    #[request(range = 0..=MAX_WAIT, default = 0)]
    wait: u64,
    /// Waits only while the task's `seq` is at most this, so that no change between two requests is missed.
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

/// Returns the task once it has changed or ended, the time is over, or the server stops.
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
        record = tasks.wait(id, requester, Some(seen), left.min(STOP_CHECK_INTERVAL)).await?;
    }
    Ok(record)
}
