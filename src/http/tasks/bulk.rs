//! `POST /api/v1/tasks/control`: the same control of many tasks.

use actix_web::{HttpRequest, web};
use muster_core::ids::{IdKind, new_id};
use muster_tasks::task::{Asker, BulkOutcome, BulkReply, Control, DryRun, Filter, FirstPhase, RedirectMode, Verb};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::filter;
use crate::app::App;
use crate::body::{Fields, FromJson};
use crate::error::HttpError;
use crate::error::sets::{Agent, BodyErrors};
use crate::guard::{AgentsControl, Sent, acting};

/// Which tasks: those that fit everything that is said, of those that live.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "the description reads its fields")]
pub struct FilterBody {
    /// Any of these.
    pub status: Option<Vec<String>>,
    pub agent: Option<String>,
    /// `low`, `normal` or `high`.
    pub priority: Option<String>,
    /// The earliest `created_at`.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub from: Option<String>,
    /// The first `created_at` that is too late.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub to: Option<String>,
}

/// What is to be done with many tasks.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "the description reads its fields")]
pub struct BulkBody {
    /// `{}` means every live task that the caller may control.
    #[schema(value_type = FilterBody)]
    pub filter: Filter,
    /// `pause`, `resume`, `kill` or `redirect`.
    #[schema(value_type = String)]
    pub verb: Verb,
    /// Of a pause.
    #[schema(value_type = Option<bool>)]
    pub now: (),
    /// Of a redirect: what to do instead, at most 8 KiB.
    #[schema(value_type = Option<String>)]
    pub instruction: (),
    /// Of a redirect: `steer` (default), `interrupt` or `agent`.
    #[schema(value_type = Option<String>)]
    pub mode: (),
    /// Of a redirect with the mode `agent`: who takes over.
    #[schema(value_type = Option<String>)]
    pub agent: (),
    /// For each task, the same gets the same answer for 24 h; made up where it is left out.
    pub request_id: Option<String>,
    pub reason: Option<String>,
    /// Only says which tasks it would be.
    #[schema(value_type = Option<bool>)]
    pub dry_run: bool,
}

impl FromJson for BulkBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            filter: read_filter(fields),
            verb: read_verb(fields),
            now: (),
            instruction: (),
            mode: (),
            agent: (),
            request_id: fields.string("request_id"),
            reason: fields.string("reason"),
            dry_run: fields.bool("dry_run").unwrap_or_default(),
        }
    }
}

fn read_filter(fields: &mut Fields<'_>) -> Filter {
    let read = fields.object("filter", |filter| {
        let mut pairs = Vec::new();
        match filter.value("status") {
            Some(Value::Array(states)) => {
                let named = states.iter().map(|state| state.as_str().unwrap_or("?").to_owned());
                pairs.extend(named.map(|state| ("status".to_owned(), state)));
            }
            _ => pairs.extend(filter.string("status").map(|states| ("status".to_owned(), states))),
        }
        for name in ["agent", "priority", "from", "to"] {
            pairs.extend(filter.string(name).map(|text| (name.to_owned(), text)));
        }
        filter::read("filter", &pairs).unwrap_or_else(|error| {
            for field in error.fields {
                filter.fail(field.loc.get(1).map_or("", String::as_str), field.msg);
            }
            Filter::default()
        })
    });
    fields.require("filter", read).unwrap_or_default()
}

fn read_verb(fields: &mut Fields<'_>) -> Verb {
    let verb = fields.string("verb");
    match fields.require("verb", verb).as_deref() {
        Some("pause") => Verb::Pause { now: fields.bool("now").unwrap_or_default() },
        Some("kill") => Verb::Kill,
        Some("redirect") => {
            let instruction = fields.string("instruction");
            let (mode, agent) = (fields.choice("mode").unwrap_or_default(), fields.string("agent"));
            if (mode == RedirectMode::Agent) != agent.is_some() {
                fields.fail("agent", "names the agent that takes over, with the mode `agent` and no other");
            }
            let instruction = fields.require("instruction", instruction).unwrap_or_default();
            Verb::Redirect { mode, instruction, agent }
        }
        Some("resume") | None => Verb::Resume,
        Some(_) => {
            fields.fail("verb", "must be pause, resume, kill or redirect");
            Verb::Resume
        }
    }
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
    let asker = Asker::of(acting(&http)?);
    let BulkReply { matched, outcomes } = app.agency.tasks.control_many(filter, control, dry, &asker).await?;
    let outcomes = outcomes.into_iter().map(entry).collect();
    Ok(web::Json(BulkAnswer { request_id, dry_run, matched, outcomes }))
}
