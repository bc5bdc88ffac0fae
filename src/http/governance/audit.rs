//! Entries of the audit log: searched, read, erased.

use std::ops::ControlFlow;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_audit::{AuditFilter, NumberedEntry, ShownEntry};
use muster_core::audit::Outcome;
use muster_core::guard::{GuardedAction, Need};
use muster_core::page::Page;
use muster_core::{Error, Kind};
use muster_request::{Fields, Request};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::audit_log::EntryQuery;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, Gone, NotFound, ReadErrors, WriteErrors};
use crate::governance;
use crate::guard::{AuditErase, AuditRead, Guarded, Queried, Sent};
use crate::parameters::PageQuery;

/// The filter and the page of a list of entries.
#[derive(Debug, Request)]
#[request(query)]
pub struct AuditLogQuery {
    #[request(flatten)]
    pub entry: EntryQuery,
    /// Identifier of the approval under which it was done.
    pub approval: Option<String>,
    /// How it ended: `ok`, `refused` or `failed`.
    #[request(with = outcome, schema = String)]
    pub outcome: Option<Outcome>,
    #[request(flatten)]
    pub page: PageQuery,
}

fn outcome(fields: &mut Fields<'_>, name: &str) -> Option<Outcome> {
    let text = fields.string(name)?;
    let outcome = match text.as_str() {
        "ok" => Some(Outcome::Ok),
        "refused" => Some(Outcome::Refused),
        "failed" => Some(Outcome::Failed),
        _ => None,
    };
    if outcome.is_none() {
        fields.fail(name, "must be ok, refused or failed");
    }
    outcome
}

/// An entry of the audit log, with what proves it.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoggedEntry {
    /// Number of the entry, from 0, without gaps.
    pub seq: u64,
    /// The entry: identifiers only. `details` is the commitment to the details.
    #[schema(value_type = Object)]
    pub entry: Value,
    /// The exact text whose hash is in the tree: the canonical form (RFC 8785) of the entry.
    pub leaf: String,
    /// Salt of the details, base64url; null if there are none or they were erased.
    pub salt: Option<String>,
    /// Further details; null if there are none or they were erased.
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
}

impl LoggedEntry {
    fn of(found: &NumberedEntry) -> Result<Self, HttpError> {
        let internal = |error: serde_json::Error| HttpError::new(Kind::Internal, error.to_string());
        let ShownEntry { seq, entry, leaf, salt, details } =
            ShownEntry::of(found.seq, &found.record).map_err(internal)?;
        let entry = serde_json::from_str(entry.get()).map_err(internal)?;
        let details = details.map(|details| serde_json::from_str(details.get())).transpose().map_err(internal)?;
        Ok(Self { seq, entry, leaf: leaf.to_owned(), salt, details })
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LoggedEntryList {
    pub entries: Vec<LoggedEntry>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// Search the audit log
///
/// Returns a page of the entries that meet all conditions, newest first. Each entry was stored together with its action.
/// With a filter that few entries match a page may be short, or even empty, and still have a cursor.
#[utoipa::path(get, path = "/api/v1/governance/audit", tag = "governance", operation_id = "search_audit_log",
    params(AuditLogQuery),
    responses((status = 200, description = "A page of entries", body = LoggedEntryList), ReadErrors<Agent>))]
pub async fn list_entries(
    request: Queried<AuditRead, AuditLogQuery>,
    app: web::Data<App>,
) -> Result<web::Json<LoggedEntryList>, HttpError> {
    let AuditLogQuery { entry, approval, outcome, page } = request.query;
    let filter = AuditFilter { approval, outcome, ..entry.into() };
    let Page { items, next } = app.audit.list(filter, page.into()).await?;
    let entries = items.iter().map(LoggedEntry::of).collect::<Result<_, _>>()?;
    Ok(web::Json(LoggedEntryList { entries, next_cursor: next }))
}

/// Get an audit entry
///
/// Returns an entry by its number.
#[utoipa::path(get, path = "/api/v1/governance/audit/{seq}", tag = "governance", operation_id = "get_audit_entry",
    params(("seq" = u64, Path, description = "Number of the entry")),
    responses((status = 200, description = "The entry", body = LoggedEntry), CallErrors<Agent>, NotFound<Agent>))]
pub async fn get_entry(
    _guard: Guarded<AuditRead>,
    seq: web::Path<String>,
    app: web::Data<App>,
) -> Result<web::Json<LoggedEntry>, HttpError> {
    Ok(web::Json(LoggedEntry::of(&app.audit.entry(number(&seq)?).await?)?))
}

/// Reads the number of an entry.
pub(super) fn number(text: &str) -> Result<u64, Error> {
    let missing = || Error::new(Kind::NotFound, "the log has no such entry: entries have numbers from 0");
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| digits).ok_or_else(missing)
}

/// Why details are erased.
#[derive(Debug, Request)]
#[request(example = { "reason": "request of the person concerned, case 4711" })]
pub struct EraseBody {
    /// Why, 1 to 500 characters. It becomes part of an entry of its own.
    pub reason: String,
}

/// Erase the details of an audit entry
///
/// Erases salt and details of an entry. The entry itself stays, with its place and every proof of it; an entry says who erased
/// the details, and why. Backups that were made before still have them. This needs an approval (`audit.erase`).
#[utoipa::path(post, path = "/api/v1/governance/audit/{seq}/erase", tag = "governance",
    operation_id = "erase_audit_details", params(("seq" = u64, Path, description = "Number of the entry")),
    request_body = EraseBody,
    responses((status = 200, description = "The entry without its details", body = LoggedEntry),
        (status = 202, description = "The approval that was opened"),
        WriteErrors<Agent>, NotFound<Agent>, Gone<Agent>))]
pub async fn erase(
    request: Sent<AuditErase, EraseBody>,
    seq: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let reason = request.body.reason;
    if reason.is_empty() || reason.chars().count() > 500 {
        let why = "must have 1 to 500 characters";
        return Err(HttpError(Error::field(Kind::Invalid, &["body", "reason"], why, Value::from(reason))));
    }
    let (seq, caller) = (number(&seq)?, governance::caller(&app, &http)?);
    let (audit, standing, clock) = (app.audit.clone(), app.standing.clone(), app.clock.clone());
    let run = move |permit| async move {
        let need = Need::new(GuardedAction::AuditErase, audit.entry(seq).await?.entry.id);
        let cleared = standing.get().clear(Some(need), caller.as_requester(), permit, clock.now())?;
        audit.erase(seq, caller.id(), &reason, cleared).await
    };
    match governance::guarded(&app, &http, &request.sent, run).await? {
        ControlFlow::Break(opened) => Ok(opened),
        ControlFlow::Continue(erased) => Ok(HttpResponse::Ok().json(LoggedEntry::of(&erased)?)),
    }
}
