//! Approvals: their records, the pure state machine, the quorum, and what may be decided about them.

mod facts;
mod quorum;
mod record;
mod state;
#[cfg(test)]
mod tests;

pub use facts::{DelegationFact, Facts, PersonFacts};
pub(crate) use quorum::covered;
pub use record::{
    ApprovalRecord, ApprovalState, BreakGlass, Decision, DecisionKind, Execution, Outcome, PayloadRecord,
    RequesterKind, RequesterRecord, VetoRecord,
};
pub(crate) use state::met_roles;
pub use state::{ApprovalEvent, SignedBy, apply, effective_state};
