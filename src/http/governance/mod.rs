//! Governance: approvals, deciders, delegations, the audit log with its proofs, and oversight.

mod approvals;
mod audit;
mod audit_log;
mod compliance;
mod deciders;
mod delegations;
mod deploys;
mod describe;
mod financials;
mod policy;
mod summary;

pub use describe::ApprovalBody;

use crate::route::operations;

operations! {
    summary::get,
    policy::get,
    policy::put,
    policy::check,
    financials::get,
    compliance::list,
    compliance::report,
    compliance::get,
    deploys::list,
    approvals::list,
    approvals::open,
    approvals::get,
    approvals::decide,
    approvals::withdraw,
    approvals::cancel,
    approvals::execute,
    approvals::break_glass,
    approvals::review,
    deciders::list,
    deciders::enrol,
    deciders::resume,
    deciders::remove,
    delegations::list,
    delegations::create,
    delegations::delete,
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
