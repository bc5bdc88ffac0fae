//! How tasks stand.

use std::time::Duration;

use actix_web::{HttpRequest, web};
use muster_core::page::Page;
use muster_core::{Error, Kind};
use muster_tasks::task::{Asker, TaskRecord};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};

use super::body::TaskBody;
use super::filter::{self, Pairs};
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, ReadErrors};
use crate::guard::{AgentsRead, Guarded, acting};

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
    params(
        ("status" = Option<Vec<String>>, Query, description = "Repeatable, or with commas between"),
        ("agent" = Option<String>, Query, description = "An agent's id"),
        ("priority" = Option<String>, Query, description = "`low`, `normal` or `high`"),
        ("from" = Option<String>, Query, description = "The earliest `created_at`, RFC 3339"),
        ("to" = Option<String>, Query, description = "The first `created_at` that is too late, RFC 3339"),
        ("limit" = Option<String>, Query, description = "1 to 200, default 50"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before, with the same filters"),
    ),
    responses((status = 200, description = "A page of tasks", body = TaskList), ReadErrors<Agent>))]
pub async fn list(
    _guard: Guarded<AgentsRead>,
    query: web::Query<Pairs>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<TaskList>, HttpError> {
    let wanted = filter::read("query", &query)?;
    let ask = filter::page(&query, &wanted)?;
    let Page { items, next } = app.agency.tasks.list(wanted.clone(), ask, &Asker::of(acting(&http)?)).await?;
    let next_cursor = next.map(|last| filter::cursor(&last, &wanted));
    Ok(web::Json(TaskList { tasks: items.into_iter().map(TaskBody::from).collect(), next_cursor }))
}

#[derive(Debug, Deserialize, IntoParams)]
pub struct WaitQuery {
    /// Seconds to wait for the next change, 0 to 60; a task that has ended is told at once.
    wait: Option<String>,
    /// Waits only while the task's `seq` is not above this: no change between two calls is missed.
    after_seq: Option<String>,
}

/// Get a task
///
/// Returns one task. A task of another owner is 404.
#[utoipa::path(get, path = "/api/v1/tasks/{id}", tag = "tasks", operation_id = "get_task",
    params(("id" = String, Path), WaitQuery),
    responses((status = 200, description = "The task", body = TaskBody), ReadErrors<Agent>, NotFound<Agent>))]
pub async fn get(
    _guard: Guarded<AgentsRead>,
    id: web::Path<String>,
    query: web::Query<WaitQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<TaskBody>, HttpError> {
    let wait = number("wait", query.wait.as_deref(), MAX_WAIT)?.unwrap_or(0);
    let after_seq = number("after_seq", query.after_seq.as_deref(), u64::MAX)?;
    let asker = Asker::of(acting(&http)?);
    let tasks = &app.agency.tasks;
    let record = match wait {
        0 => tasks.get(&id, &asker).await?,
        seconds => next_change(&app, &id, &asker, after_seq, Duration::from_secs(seconds)).await?,
    };
    Ok(web::Json(record.into()))
}

/// The task once it has changed, ended, or the time is over. A server that stops does not wait for it.
async fn next_change(
    app: &App,
    id: &str,
    asker: &Asker,
    after_seq: Option<u64>,
    wait: Duration,
) -> Result<TaskRecord, Error> {
    let tasks = &app.agency.tasks;
    let until = Instant::now() + wait;
    let mut record = tasks.get(id, asker).await?;
    let seen = after_seq.unwrap_or(record.seq);
    while record.seq <= seen && !record.status.ended() && !app.draining() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        record = tasks.wait(id, asker, Some(seen), left.min(A_LOOK)).await?;
    }
    Ok(record)
}

/// A whole number of the query, at most `most`.
pub(super) fn number(field: &str, text: Option<&str>, most: u64) -> Result<Option<u64>, Error> {
    let Some(text) = text else { return Ok(None) };
    let read = text.parse().ok().filter(|number| *number <= most);
    let wrong = || Error::field(Kind::Invalid, &["query", field], format!("must be 0 to {most}"), text.into());
    read.ok_or_else(wrong).map(Some)
}
