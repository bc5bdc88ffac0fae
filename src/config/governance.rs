//! Settings of governance.

use muster_governance::policy::{GuardSetting, PolicyDocument};
use muster_core::guard::{GuardedAction, QuorumRole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::ConfigError;

/// The policy while there is no quorum of deciders, and what stops guarded actions at once.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Governance {
    /// Roles of which each takes another person.
    pub quorum: Vec<QuorumRole>,
    /// Risk, roles and threshold of single actions.
    pub guards: BTreeMap<GuardedAction, GuardSetting>,
    /// Veto rules in Cedar.
    pub veto: String,
    /// Whether every guarded action is vetoed.
    pub freeze: bool,
}

impl Default for Governance {
    fn default() -> Self {
        let PolicyDocument { quorum, guards, veto } = PolicyDocument::default();
        Self { quorum, guards, veto, freeze: false }
    }
}

impl Governance {
    /// Returns the policy that the settings describe.
    pub fn policy(&self) -> PolicyDocument {
        PolicyDocument { quorum: self.quorum.clone(), guards: self.guards.clone(), veto: self.veto.clone() }
    }

    /// # Errors
    /// A value is not accepted.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let checked = self.policy().check();
        checked.map(drop).map_err(|fault| ConfigError::Bad {
            setting: format!("governance.{}", fault.member),
            why: fault.why,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        toml::from_str::<Governance>(text).unwrap().check().unwrap_err().to_string()
    }

    #[test]
    fn a_policy_that_cannot_be_used_is_reported_with_its_setting() {
        assert!(Governance::default().check().is_ok());
        let guards = "quorum = [\"operations\"]\n[guards.\"firmware.rollout\"]\nover = 500\nrisk = \"critical\"";
        let read: Governance = toml::from_str(guards).unwrap();
        assert!(read.check().is_ok());
        assert_eq!(read.guards[&GuardedAction::FirmwareRollout].over, Some(500));
        assert_eq!(refused("quorum = []"), "governance.quorum: takes 1 to 8 roles of security, operations");
        assert!(refused("[guards.\"role.grant\"]\nroles = [\"security\"]").starts_with("governance.guards.role.grant: "));
        let rule = "veto = 'forbid (principal, action, resource) when { context.blasts > 1 };'";
        let why = refused(rule);
        assert!(why.starts_with("governance.veto: rule policy0: ") && why.contains("blasts"), "{why}");
        assert!(toml::from_str::<Governance>("[guards.\"all\"]").is_err());
    }
}
