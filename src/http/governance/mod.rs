//! Governance: the audit log with its proofs.

mod audit;
mod audit_log;

use crate::route::operations;

operations! {
    audit::list_entries,
    audit_log::consistency,
    audit_log::checkpoint,
    audit_log::keys,
    audit_log::export,
    audit_log::resource at "/api/v1/governance/audit/log/{path:.+}",
    audit::get_entry,
    audit_log::proof,
    audit::erase,
}
