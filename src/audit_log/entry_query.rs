//! Conditions on entries of the audit log in a query.

use muster_audit::AuditFilter;
use muster_core::Millis;
use muster_request::Request;

use crate::parameters::time;

/// Conditions on entries that every list of them takes.
#[derive(Debug, Request)]
#[request(query)]
pub struct EntryQuery {
    /// Identifier of the principal that acted: `usr_…`, `key_…`, `dev_…` or `system`.
    pub actor: Option<String>,
    /// Name of the action, such as `task_kill`, or its beginning and `*`, such as `firmware.*`.
    pub action: Option<String>,
    /// Identifier of the resource that was affected.
    pub resource: Option<String>,
    /// Earliest time, inclusive, RFC 3339.
    #[request(with = time, schema = String)]
    #[schema(format = DateTime)]
    pub from: Option<Millis>,
    /// Latest time, exclusive, RFC 3339.
    #[request(with = time, schema = String)]
    #[schema(format = DateTime)]
    pub to: Option<Millis>,
}

impl From<EntryQuery> for AuditFilter {
    fn from(EntryQuery { actor, action, resource, from, to }: EntryQuery) -> Self {
        Self { actor, action, resource, from, to, ..Self::default() }
    }
}
