//! A policy as it is written, in the settings or in a request, and its checks.

use std::collections::BTreeMap;

use muster_core::guard::{GuardRule, GuardedAction, QuorumRole, Risk};
use muster_policy::{DEFAULT_RULES, PolicyError, Rules};
use muster_tlog::canonical::to_canonical;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Largest number of people of a quorum.
pub const MAX_QUORUM: usize = 8;
/// Number of people that the actions take which could otherwise lift every other guard.
const AT_LEAST: usize = 2;

/// How one action is guarded; what is absent is as by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardSetting {
    /// Risk; one below the action's own is raised to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Roles that are each covered by another person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<QuorumRole>>,
    /// Number above which the action is guarded, for those that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<u64>,
}

/// A policy as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyDocument {
    /// Roles that are each covered by another person, where a guard names none.
    pub quorum: Vec<QuorumRole>,
    /// Guards that differ from the defaults.
    pub guards: BTreeMap<GuardedAction, GuardSetting>,
    /// Veto rules in Cedar.
    pub veto: String,
}

impl Default for PolicyDocument {
    fn default() -> Self {
        Self { quorum: QuorumRole::ALL.to_vec(), guards: BTreeMap::new(), veto: DEFAULT_RULES.to_owned() }
    }
}

/// What is wrong with a policy, and with which member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{member}: {why}")]
pub struct PolicyFault {
    /// `quorum`, `veto`, or `guards.` and an action.
    pub member: String,
    /// What is wrong, for whoever wrote it.
    pub why: String,
}

fn fault(member: impl Into<String>, why: impl Into<String>) -> PolicyFault {
    PolicyFault { member: member.into(), why: why.into() }
}

impl PolicyDocument {
    /// Checks the policy and compiles its rules.
    ///
    /// # Errors
    /// The first member that cannot be used.
    pub fn check(&self) -> Result<Rules, PolicyFault> {
        let takes = format!("takes 1 to {MAX_QUORUM} roles of security, operations");
        let fits = |roles: &[QuorumRole]| (1..=MAX_QUORUM).contains(&roles.len());
        if !fits(&self.quorum) {
            return Err(fault("quorum", takes));
        }
        for (action, setting) in &self.guards {
            let member = format!("guards.{}", action.name());
            if setting.roles.as_ref().is_some_and(|roles| !fits(roles)) {
                return Err(fault(member, format!("roles: {takes}")));
            }
            if action.always_takes_two() && setting.roles.as_ref().is_some_and(|roles| roles.len() < AT_LEAST) {
                return Err(fault(member, "roles: this action always takes two people"));
            }
            if setting.over.is_some() && action.default_threshold().is_none() {
                return Err(fault(member, "over: this action has no number above which it is guarded"));
            }
        }
        muster_policy::compile(&self.veto).map_err(|error: PolicyError| fault("veto", error.to_string()))
    }

    /// Returns how every action is guarded.
    pub fn rules_of_guards(&self) -> BTreeMap<GuardedAction, GuardRule> {
        let rule = |action: GuardedAction| {
            let setting = self.guards.get(&action).cloned().unwrap_or_default();
            let mut roles = setting.roles.unwrap_or_else(|| self.quorum.clone());
            // A quorum of one person does not extend to what could make that person a quorum of everything.
            if action.always_takes_two() && roles.len() < AT_LEAST {
                roles = QuorumRole::ALL.to_vec();
            }
            let risk = setting.risk.unwrap_or_else(|| action.default_risk()).max(action.default_risk());
            GuardRule { risk, roles, over: setting.over.or_else(|| action.default_threshold()) }
        };
        GuardedAction::ALL.iter().map(|action| (*action, rule(*action))).collect()
    }

    /// Returns the canonical text of the policy (RFC 8785); equal policies have equal texts.
    pub fn canonical(&self) -> String {
        // Names, texts and integers below 2^53 always have one: `check` and the readers admit no others.
        let value = serde_json::to_value(self).unwrap_or_default();
        to_canonical(&value).unwrap_or_else(|_| value.to_string())
    }

    /// Returns the identifier of the policy: the hex SHA-256 of its canonical text.
    pub fn id(&self) -> String {
        Sha256::digest(self.canonical()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
