//! Governance: approvals, deciders, delegations.

mod approvals;
mod deciders;
mod delegations;
mod describe;

pub use describe::ApprovalBody;

use crate::route::operations;

operations! {
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
}
