//! The policy of governance: the quorum, what is guarded and how, and the veto rules.
//!
//! The settings file is the policy until there is a quorum of deciders; from then on the stored policy is, which only an
//! approved `policy.change` replaces, and the file is compared with it. Quorum, risks and thresholds are data; the rules
//! are Cedar and judged by [`muster_policy`].

mod document;
mod in_force;
mod record;
mod service;
#[cfg(test)]
mod tests;

pub use document::{GuardSetting, MAX_QUORUM, PolicyDocument, PolicyFault};
pub use in_force::{InForce, PolicySource};
pub use service::{PolicyService, PolicyWriter, recorded};
