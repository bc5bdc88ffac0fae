//! The audit log, for those who may read it.

use actix_web::web;
use muster_core::Millis;
use muster_core::audit::AuditEntry;
use muster_core::page::Page;
use muster_request::Request;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::audit_log::EntryQuery;
use crate::error::HttpError;
use crate::error::sets::{Agent, ReadErrors};
use crate::guard::{AuditRead, Queried};
use crate::parameters::PageQuery;

/// The filter and the page of a list of audit entries.
#[derive(Debug, Request)]
#[request(query)]
pub struct AuditQuery {
    #[request(flatten)]
    pub entry: EntryQuery,
    #[request(flatten)]
    pub page: PageQuery,
}

/// An entry of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditBody {
    pub id: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    /// Identifier of the principal that acted, or `system`.
    pub actor: String,
    pub action: String,
    /// Identifier of the affected resource.
    pub resource: String,
    /// Further details, which depend on the action. They contain no secret and no instruction.
    #[schema(value_type = Object)]
    pub details: Value,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AuditList {
    pub entries: Vec<AuditBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl From<AuditEntry> for AuditBody {
    fn from(AuditEntry { id, at, actor, action, resource, details, .. }: AuditEntry) -> Self {
        Self { id, at, actor, action, resource, details }
    }
}

/// List audit entries
///
/// Returns a page of security-relevant actions, newest first: logins and sessions, changes of users, alerts, incidents,
/// firmware, controls of tasks, erased memory. Each entry was stored together with its action. With a filter that few
/// entries match a page may be short and still have a cursor.
#[utoipa::path(get, path = "/api/v1/audit", tag = "admin", operation_id = "list_audit_entries", params(AuditQuery),
    responses((status = 200, description = "A page of entries", body = AuditList), ReadErrors<Agent>))]
pub async fn list(
    request: Queried<AuditRead, AuditQuery>,
    app: web::Data<App>,
) -> Result<web::Json<AuditList>, HttpError> {
    let AuditQuery { entry, page } = request.query;
    let Page { items, next } = app.audit.list(entry.into(), page.into()).await?;
    let entries = items.into_iter().map(|found| AuditBody::from(found.entry)).collect();
    Ok(web::Json(AuditList { entries, next_cursor: next }))
}
