//! Governance: approvals by a quorum of people, deciders with their keys, delegations, and the veto of rules.

#![warn(missing_docs)]

pub mod compliance;
pub mod deploy;
pub mod financials;
pub mod policy;
#[cfg(test)]
mod test_entries;
mod veto;

pub use veto::{PermitAll, Veto};
