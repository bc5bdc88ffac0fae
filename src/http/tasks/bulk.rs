//! `POST /api/v1/tasks/control`: the same control for several tasks.

use std::ops::ControlFlow;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::ids::{IdKind, new_id};
use muster_request::{Fields, Request};
use muster_tasks::task::{BulkOutcome, BulkReply, Control, DryRun, FirstPhase, Requester, Verb};
use serde::Serialize;
use utoipa::ToSchema;

use super::filter::TaskFilter;
use crate::agents::control::successor;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, BodyErrors, Gone};
use crate::governance;
use crate::guard::{AgentsControl, Sent, acting};

/// A control of several tasks.
#[derive(Debug, Request)]
#[request(example = { "filter": { "status": ["queued"], "agent": "data-cleaner" }, "verb": "kill", "dry_run": true })]
#[allow(dead_code, reason = "some members are only described")]
pub struct BulkBody {
    /// Tasks to control; `{}` selects every live task that the caller may control.
    #[request(nested)]
    filter: TaskFilter,
    /// Verb: `pause`, `resume`, `kill` or `redirect`.
    #[request(with = verb, schema = String)]
    verb: Verb,
    /// For a pause: aborts the step in progress, which runs again on resume.
    #[request(described, schema = bool)]
    now: (),
    /// For a redirect: text of the instruction, 1 byte to 8 KiB.
    #[request(described, schema = String)]
    instruction: (),
    /// For a redirect: `steer` (default), `interrupt` or `agent`.
    #[request(described, schema = String)]
    mode: (),
    /// For a redirect with the mode `agent`: identifier of the agent that continues the task.
    #[request(described, schema = String)]
    agent: (),
    /// Identifies the control of each task for 24 h: a repetition gets the first response. At most 512 bytes; generated
    /// if it is left out.
    request_id: Option<String>,
    reason: Option<String>,
    /// Returns the matching tasks without controlling them.
    #[request(default = false)]
    dry_run: bool,
}

fn verb(fields: &mut Fields<'_>, name: &str) -> Option<Verb> {
    Some(match fields.string(name)?.as_str() {
        "pause" => Verb::Pause { now: fields.bool("now").unwrap_or_default() },
        "kill" => Verb::Kill,
        "redirect" => {
            let mode = fields.choice("mode").unwrap_or_default();
            let agent = successor(fields, "agent", &mode);
            Verb::Redirect { mode, instruction: fields.required_string("instruction"), agent }
        }
        "resume" => Verb::Resume,
        _ => {
            fields.fail(name, "must be pause, resume, kill or redirect");
            return None;
        }
    })
}

/// The outcome for one task.
#[derive(Debug, Serialize, ToSchema)]
pub struct BulkEntry {
    pub task_id: String,
    /// First phase: `accepted`, `already` or `refused`; null in a dry run.
    pub phase: Option<&'static str>,
    /// Reason for which the control was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct BulkAnswer {
    pub request_id: String,
    pub dry_run: bool,
    /// Number of matching tasks, at most 10,000; further ones need another request.
    pub matched: usize,
    pub outcomes: Vec<BulkEntry>,
}

fn entry(outcome: BulkOutcome) -> BulkEntry {
    let BulkOutcome { task_id, phase, refused } = outcome;
    let phase = match (phase, &refused) {
        (_, Some(_)) => Some("refused"),
        (Some(FirstPhase::Accepted), _) => Some("accepted"),
        (Some(FirstPhase::Already), _) => Some("already"),
        (None, None) => None,
    };
    BulkEntry { task_id, phase, detail: refused.map(|error| error.message) }
}

/// Control several tasks
///
/// Pauses, resumes, kills or redirects every live task that matches a filter and that the caller may control. With
/// `dry_run` the matching tasks are returned and nothing is changed. A kill of more than 50 tasks of others needs an approval
/// (`tasks.kill`).
#[utoipa::path(post, path = "/api/v1/tasks/control", tag = "tasks", operation_id = "control_tasks", request_body = BulkBody,
    responses((status = 200, description = "The outcome for each task", body = BulkAnswer), BodyErrors<Agent>, Gone<Agent>))]
pub async fn control(
    request: Sent<AgentsControl, BulkBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let BulkBody { filter, verb, request_id, reason, dry_run, .. } = request.body;
    let request_id = request_id.unwrap_or_else(|| new_id(IdKind::Request));
    let control = Control { verb, request_id: request_id.clone(), if_seq: None, reason };
    let dry = if dry_run { DryRun::Yes } else { DryRun::No };
    let requester = Requester::of(acting(&http)?);
    let (tasks, filter) = (app.agency.tasks.clone(), filter.into());
    let run = move |permit| async move { tasks.control_many_permitted(filter, control, dry, &requester, permit).await };
    let BulkReply { matched, outcomes } = match governance::guarded(&app, &http, &request.sent, run).await? {
        ControlFlow::Break(opened) => return Ok(opened),
        ControlFlow::Continue(reply) => reply,
    };
    let outcomes = outcomes.into_iter().map(entry).collect();
    Ok(HttpResponse::Ok().json(BulkAnswer { request_id, dry_run, matched, outcomes }))
}
