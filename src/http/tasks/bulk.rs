//! `POST /api/v1/tasks/control`: the same control of many tasks.

use actix_web::{HttpRequest, web};
use muster_core::ids::{IdKind, new_id};
use muster_request::{Fields, Request};
use muster_tasks::task::{BulkOutcome, BulkReply, Control, DryRun, FirstPhase, Requester, Verb};
use serde::Serialize;
use utoipa::ToSchema;

use super::control::successor;
use super::filter::TaskFilter;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, BodyErrors};
use crate::guard::{AgentsControl, Sent, acting};

/// What is to be done with many tasks.
#[derive(Debug, Request)]
#[request(example = { "filter": { "status": ["queued"], "agent": "data-cleaner" }, "verb": "kill", "dry_run": true })]
#[allow(dead_code, reason = "some members are only described")]
pub struct BulkBody {
    /// `{}` means every live task that the caller may control.
    #[request(nested)]
    filter: TaskFilter,
    /// `pause`, `resume`, `kill` or `redirect`.
    #[request(with = verb, schema = String)]
    verb: Verb,
    /// Of a pause.
    #[request(described, schema = bool)]
    now: (),
    /// Of a redirect: what to do instead, at most 8 KiB.
    #[request(described, schema = String)]
    instruction: (),
    /// Of a redirect: `steer` (default), `interrupt` or `agent`.
    #[request(described, schema = String)]
    mode: (),
    /// Of a redirect with the mode `agent`: who takes over.
    #[request(described, schema = String)]
    agent: (),
    /// For each task, the same gets the same answer for 24 h; made up where it is left out.
    request_id: Option<String>,
    reason: Option<String>,
    /// Only says which tasks it would be.
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

/// What became of one task.
#[derive(Debug, Serialize, ToSchema)]
pub struct BulkEntry {
    pub task_id: String,
    /// `accepted`, `already` or `refused`; null in a dry run.
    pub phase: Option<&'static str>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct BulkAnswer {
    pub request_id: String,
    pub dry_run: bool,
    /// Tasks that fit the filter, at most 10,000: more are left for another call.
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
/// `dry_run` the matching tasks are returned and nothing is changed.
#[utoipa::path(post, path = "/api/v1/tasks/control", tag = "tasks", operation_id = "control_tasks", request_body = BulkBody,
    responses((status = 200, description = "The outcome for each task", body = BulkAnswer), BodyErrors<Agent>))]
pub async fn control(
    request: Sent<AgentsControl, BulkBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<BulkAnswer>, HttpError> {
    let BulkBody { filter, verb, request_id, reason, dry_run, .. } = request.body;
    let request_id = request_id.unwrap_or_else(|| new_id(IdKind::Request));
    let control = Control { verb, request_id: request_id.clone(), if_seq: None, reason };
    let dry = if dry_run { DryRun::Yes } else { DryRun::No };
    let requester = Requester::of(acting(&http)?);
    let BulkReply { matched, outcomes } =
        app.agency.tasks.control_many(filter.into(), control, dry, &requester).await?;
    let outcomes = outcomes.into_iter().map(entry).collect();
    Ok(web::Json(BulkAnswer { request_id, dry_run, matched, outcomes }))
}
