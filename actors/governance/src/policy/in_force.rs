//! The policy in force, ready to judge.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_core::Millis;
use muster_core::guard::{GuardRule, GuardedAction, VetoFacts, VetoingRule};
use muster_policy::{Facts, Rules};

use super::document::{PolicyDocument, PolicyFault};
use super::record::PolicyRecord;

/// Where the policy in force came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicySource {
    /// The settings file.
    File,
    /// A `PUT` of the policy.
    Store,
}

impl PolicySource {
    /// Returns the name used in responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Store => "store",
        }
    }
}

/// The policy in force. Immutable; a change publishes another one.
#[derive(Debug)]
pub struct InForce {
    /// The policy as it was written.
    pub document: PolicyDocument,
    /// Its identifier.
    pub id: Arc<str>,
    /// How every action is guarded.
    pub guards: BTreeMap<GuardedAction, GuardRule>,
    /// Counts the changes, from 1.
    pub version: u64,
    /// Where it came from.
    pub source: PolicySource,
    /// Principal that set it.
    pub by: String,
    /// When it was set.
    pub at: Millis,
    /// Approval of the change.
    pub approval: Option<String>,
    /// Whether the settings file has the same policy.
    pub like_file: bool,
    rules: Rules,
}

impl InForce {
    /// Compiles a stored policy. `file` is the identifier of the settings file's policy.
    ///
    /// # Errors
    /// The policy cannot be used.
    pub(super) fn of(record: PolicyRecord, file: &str) -> Result<Self, PolicyFault> {
        let rules = record.document.check()?;
        let id = record.document.id();
        Ok(Self {
            like_file: id == file,
            guards: record.document.rules_of_guards(),
            id: id.into(),
            document: record.document,
            version: record.version,
            source: if record.from_file { PolicySource::File } else { PolicySource::Store },
            by: record.by,
            at: record.at,
            approval: record.approval,
            rules,
        })
    }

    /// Returns the rules that forbid what the facts describe.
    pub fn judge(&self, facts: &VetoFacts) -> Vec<VetoingRule> {
        judge(&self.rules, facts)
    }

    /// Returns the same policy with another result of the comparison with the file.
    pub(super) fn compared(&self, like_file: bool) -> Self {
        Self {
            document: self.document.clone(),
            id: Arc::clone(&self.id),
            guards: self.guards.clone(),
            by: self.by.clone(),
            approval: self.approval.clone(),
            rules: self.rules.clone(),
            like_file,
            ..*self
        }
    }

    /// Returns what is doubtful about the rules.
    pub fn warnings(&self) -> &[String] {
        self.rules.warnings()
    }
}

/// Judges facts of the server by compiled rules.
pub(super) fn judge(rules: &Rules, facts: &VetoFacts) -> Vec<VetoingRule> {
    let facts = Facts {
        action: facts.action.clone(),
        resource: facts.resource.clone(),
        requester: facts.requester.clone(),
        risk: facts.risk.number(),
        bound: facts.bound,
        session_s: facts.session_s,
        critical_incident: facts.critical_incident,
        blast: facts.blast,
        budget_pct: facts.budget_pct,
        rejected_1h: facts.rejected_1h,
        vetoed_1h: facts.vetoed_1h,
        audit_ok: facts.audit_ok,
        frozen: facts.frozen,
    };
    let named = |veto: muster_policy::Veto| {
        if let Some(error) = &veto.error {
            tracing::warn!(rule = veto.rule, error, action = facts.action, "a veto rule erred, so it vetoes");
        }
        VetoingRule { id: veto.rule, hard: veto.hard }
    };
    rules.judge(&facts).into_iter().map(named).collect()
}
