//! What happened to a task: its journal and its logs, as a page or as a stream.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use futures::stream;
use muster_core::{Error, Kind, Millis};
use muster_request::Request;
use muster_tasks::task::{JournalEntry, Level, LogLine, Requester, Tasks};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::stream::Stream;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, ReadErrors};
use crate::guard::{AgentsRead, Queried, acting, staying};

/// Entries and lines of a page.
const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 1_000;

#[derive(Debug, Request)]
#[request(query)]
pub struct EventsQuery {
    /// Entries behind this `seq` only.
    #[request(default = 0)]
    after: u64,
    /// Lines behind this `n` only.
    #[request(default = 0)]
    after_line: u64,
    /// Most of each; 0 counts as 1.
    #[request(range = 0..=MAX_LIMIT, default = DEFAULT_LIMIT)]
    limit: usize,
}

/// One entry of the journal.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventBodyOfTask {
    /// The task's `seq` that it brought.
    pub seq: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    /// As on the feed: `task.state`, `task.step`, `task.end`, `control.applied`, `control.superseded`, `control.missed`, …
    pub event: String,
    #[schema(value_type = Object)]
    pub data: Value,
}

/// One line of the log; the last 2,000 are kept, none over a restart.
#[derive(Debug, Serialize, ToSchema)]
pub struct LineBody {
    pub n: u64,
    /// The step's index.
    pub step: u32,
    /// `debug`, `info`, `warn` or `error`.
    #[schema(value_type = String)]
    pub level: Level,
    pub text: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TaskEvents {
    /// In the order of `seq`.
    pub events: Vec<EventBodyOfTask>,
    pub logs: Vec<LineBody>,
    /// For `after` and `after_line` of the next page.
    pub after: u64,
    pub after_line: u64,
    /// Whether there are more entries now.
    pub more: bool,
}

/// Get the events of a task
///
/// Returns the journal and the log of a task. With `Accept: text/event-stream` they are streamed until the task has
/// ended: `event` is the name of an entry, or `log`; `id` is `<seq>-<n>`, and sent back as `Last-Event-ID` it resumes
/// the stream.
///
/// A stream ends after ten minutes or with its token. If the session or key is revoked, or the rights of the caller
/// change, it ends at once with `event: close` and a `code` and `reason` of the WebSocket's table. A caller may have
/// `agents.streams_per_key` streams (16) at a time; further ones are rejected with 429.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/events", tag = "tasks", operation_id = "task_events",
    params(("id" = String, Path), EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "Of a stream: where its reader stands")),
    responses((status = 200, description = "A page of entries and log lines, or a stream of them", content((TaskEvents = "application/json"), (String = "text/event-stream"))),
        ReadErrors<Agent>, NotFound<Agent>))]
pub async fn events(
    request: Queried<AgentsRead, EventsQuery>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let requester = Requester::of(acting(&http)?);
    let EventsQuery { after, after_line: line, limit } = request.query;
    let mut reader = Reader { app: app.clone(), id: id.into_inner(), requester, after, line, limit: limit.max(1) };
    if !wants_stream(&http) {
        return Ok(HttpResponse::Ok().json(reader.page().await?));
    }
    reader.resume(&http)?;
    // Whoever may not see it is told so before a stream begins.
    reader.tasks().get(&reader.id, &reader.requester).await?;
    let stream = Stream::open(reader, staying(&http).await?)?;
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(stream::unfold(stream, Stream::next)))
}

fn wants_stream(http: &HttpRequest) -> bool {
    let accept = http.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
}

/// Where a reader of one task stands.
pub(super) struct Reader {
    pub(super) app: web::Data<App>,
    pub(super) id: String,
    pub(super) requester: Requester,
    pub(super) after: u64,
    pub(super) line: u64,
    limit: usize,
}

impl Reader {
    pub(super) fn tasks(&self) -> &Tasks {
        &self.app.agency.tasks
    }

    /// Goes on behind `Last-Event-ID`.
    fn resume(&mut self, http: &HttpRequest) -> Result<(), Error> {
        let id = http.headers().get("Last-Event-ID").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
        let Some(id) = id else { return Ok(()) };
        let stand = id.split_once('-').and_then(|(seq, line)| Some((seq.parse().ok()?, line.parse().ok()?)));
        let wrong = || Error::field(Kind::Invalid, &["header", "Last-Event-ID"], "must be <seq>-<n>", id.into());
        (self.after, self.line) = stand.ok_or_else(wrong)?;
        Ok(())
    }

    /// What is there behind where it stands; it stands behind that then.
    pub(super) async fn page(&mut self) -> Result<TaskEvents, Error> {
        let entries = self.tasks().events(&self.id, &self.requester, self.after, self.limit).await?;
        let lines = self.tasks().logs(&self.id, &self.requester, self.line, self.limit).await?;
        self.after = entries.last().map_or(self.after, |entry| entry.seq);
        self.line = lines.last().map_or(self.line, |line| line.n);
        let event = |JournalEntry { seq, at, event, data }| EventBodyOfTask { seq, at, event, data };
        let line = |LogLine { n, step, level, text, at }| LineBody { n, step, level, text, at };
        Ok(TaskEvents {
            more: entries.len() == self.limit,
            events: entries.into_iter().map(event).collect(),
            logs: lines.into_iter().map(line).collect(),
            after: self.after,
            after_line: self.line,
        })
    }
}
