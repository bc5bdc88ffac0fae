//! The port of the veto: rules that forbid a request whatever the people decide.

use std::sync::Arc;

use muster_core::guard::{VetoFacts, VetoingRule};

/// Judges requests by rules.
pub trait Veto: Send + Sync + std::fmt::Debug {
    /// Returns the rules that forbid what the facts describe. A rule that cannot be evaluated forbids it.
    fn judge(&self, facts: &VetoFacts) -> Vec<VetoingRule>;

    /// Returns the identifier of the rules in force, such as the hash of their text.
    fn policy(&self) -> Arc<str>;
}

/// Conditions of the server that rules judge beside the request.
pub trait Conditions: Send + Sync + std::fmt::Debug {
    /// Returns whether the audit log accepts entries and agrees with its checkpoints.
    fn audit_ok(&self) -> bool;

    /// Returns whether the settings freeze all guarded actions.
    fn frozen(&self) -> bool;

    /// Returns whether a critical incident is open on a resource.
    fn critical_incident(&self, resource: &str) -> bool;
}
