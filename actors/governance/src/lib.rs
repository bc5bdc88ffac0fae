//! Governance: approvals by a quorum of people, deciders with their keys, delegations, and the veto of rules.
//!
//! One actor owns the records and publishes the standing ([`muster_core::guard::Standing`]), by which the actors of other
//! domains decide whether a command needs an approval. An approved command is executed with a
//! [`Permit`](muster_core::guard::Permit): writes of this crate in the batch of another one.

#![warn(missing_docs)]

mod actor;
mod acts;
mod approval;
mod caller;
pub mod compliance;
mod decider;
mod deciders;
mod decisions;
pub mod deploy;
pub mod financials;
mod load;
mod messages;
mod permits;
pub mod policy;
mod service;
mod signature;
#[cfg(test)]
mod test_entries;
mod veto;

pub use actor::{GovernanceCounts, GovernanceOptions};
pub use approval::{
    ApprovalRecord, ApprovalState, BreakGlass, Decision, DecisionKind, Execution, Outcome, RequesterKind,
    RequesterRecord, VetoRecord,
};
pub use caller::{GovernanceCaller, SessionFacts};
pub use decider::{DeciderKey, DeciderRecord, DelegationRecord, all_that_is_allowed};
pub use messages::{ApprovalAct, ApprovalView, DeciderList, DeciderView, DecisionRequest, NewApproval, NewDelegation};
pub use service::{ApprovalFilter, Governance, payload_sha256};
pub use signature::{Challenge, NonceKey, SignedDecision, canonical, delegation_bytes, proof_bytes};
pub use veto::{Conditions, Veto};
