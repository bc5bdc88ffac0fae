//! What a veto rule judges.

use super::Risk;

/// The facts of a request or an execution, as veto rules see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VetoFacts {
    /// Name of the action, guarded or not.
    pub action: String,
    /// Identifier of what the action changes.
    pub resource: String,
    /// Risk, compared as a number from 1 to 4.
    pub risk: Risk,
    /// Principal that requests or executes the action.
    pub requester: String,
    /// Whether its session is bound to a key.
    pub bound: bool,
    /// Age of its session in seconds; 0 without a session.
    pub session_s: u64,
    /// Whether a critical incident is open on the resource.
    pub critical_incident: bool,
    /// Number of devices or tasks that the action affects.
    pub blast: u64,
    /// New budget as a percentage of the present one; 0 where the action raises none.
    pub budget_pct: u64,
    /// Whether the same action on the same resource was rejected within the last hour.
    pub rejected_1h: bool,
    /// Number of requests of this requester that were vetoed within the last hour.
    pub vetoed_1h: u64,
    /// Whether the audit log accepts entries and agrees with its checkpoints.
    pub audit_ok: bool,
    /// Whether the settings freeze all guarded actions.
    pub frozen: bool,
}

/// A rule that forbids a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VetoingRule {
    /// Name of the rule, such as `stale`.
    pub id: String,
    /// Whether it applies to break-glass too.
    pub hard: bool,
}
