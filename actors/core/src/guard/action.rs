//! Guarded actions, risks, and the roles of a quorum.

use serde::{Deserialize, Serialize};

/// Risk of an action, from 1 (low) to 4 (critical).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// 1.
    Low,
    /// 2.
    Medium,
    /// 3: each decision is signed.
    High,
    /// 4: each decision is signed.
    Critical,
}

impl Risk {
    /// All risks, in ascending order.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Returns the name used in requests, records and signed bytes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|risk| risk.name() == name)
    }

    /// Returns the number that veto rules compare, 1 to 4.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Returns whether each decision must be signed.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::High | Self::Critical)
    }
}

/// A role that a quorum requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuorumRole {
    /// Held by approvers and super administrators.
    Security,
    /// Held by operators, incident commanders and super administrators.
    Operations,
}

impl QuorumRole {
    /// All roles, in a fixed order.
    pub const ALL: [Self; 2] = [Self::Security, Self::Operations];

    /// Returns the name used in requests, records and signed bytes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Operations => "operations",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Returns whether a person with this role of the server holds the quorum role.
    pub const fn is_held_by(self, role: crate::principal::UserRole) -> bool {
        use crate::principal::UserRole;
        match self {
            Self::Security => matches!(role, UserRole::Approver | UserRole::SuperAdmin),
            Self::Operations => {
                matches!(role, UserRole::Operator | UserRole::IncidentCommander | UserRole::SuperAdmin)
            }
        }
    }
}

macro_rules! actions {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $risk:ident;)*) => {
        /// An action that needs an approval.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum GuardedAction {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl GuardedAction {
            /// All actions, in a fixed order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name, such as `key.grant`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the risk that the action has unless the policy says more, or the command itself does.
            pub const fn default_risk(self) -> Risk {
                match self { $(Self::$variant => Risk::$risk,)* }
            }
        }
    };
}

actions! {
    /// A firmware job of more than 100 devices, or a downgrade.
    FirmwareRollout = "firmware.rollout", High;
    /// An actual, public alert of extreme severity.
    AlertBroadcast = "alert.broadcast", Critical;
    /// A key with the scope `admin` or any role is made, changed, or rotated by another.
    KeyGrant = "key.grant", High;
    /// The role `admin` or `super_admin`, or single grants of administration. That of `super_admin` is critical.
    RoleGrant = "role.grant", High;
    /// A trust anchor of firmware is added.
    TrustAdd = "trust.add", Critical;
    /// The governance policy is replaced.
    PolicyChange = "policy.change", Critical;
    /// A backup is read that is not encrypted to recipients.
    BackupRead = "backup.read", Critical;
    /// A person becomes a decider, or enrols a further key.
    DeciderEnrol = "decider.enrol", High;
    /// The details of an entry of the audit log are erased.
    AuditErase = "audit.erase", High;
    /// More than 50 tasks of others are killed at once.
    TasksKill = "tasks.kill", Medium;
    /// The monthly budget of a key or model is raised above 100 USD.
    BudgetRaise = "budget.raise", Medium;
    /// Agents act on production without being asked.
    AgentAutonomy = "agent.autonomy", High;
}

impl GuardedAction {
    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.name() == name)
    }

    /// Returns whether no policy may leave the action to fewer than two people.
    pub const fn always_takes_two(self) -> bool {
        matches!(self, Self::PolicyChange | Self::DeciderEnrol | Self::RoleGrant)
    }

    /// Returns the number above which the action is guarded, where it has one: devices, tasks, or USD a month.
    pub const fn default_threshold(self) -> Option<u64> {
        match self {
            Self::FirmwareRollout | Self::BudgetRaise => Some(100),
            Self::TasksKill => Some(50),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for action in GuardedAction::ALL {
            assert_eq!(GuardedAction::parse(action.name()), Some(*action));
            assert_eq!(serde_json::to_value(action).unwrap(), action.name());
        }
        for risk in Risk::ALL {
            assert_eq!(Risk::parse(risk.name()), Some(risk));
            assert_eq!(serde_json::to_value(risk).unwrap(), risk.name());
        }
        assert_eq!(Risk::ALL.map(Risk::number), [1, 2, 3, 4], "as veto rules compare them");
        assert_eq!(GuardedAction::parse("key.Grant"), None);
    }

    #[test]
    fn the_default_risks_are_those_of_the_contract() {
        let of = |risk| {
            let actions = GuardedAction::ALL.iter().filter(move |action| action.default_risk() == risk);
            actions.map(|action| action.name()).collect::<Vec<_>>()
        };
        assert_eq!(of(Risk::Critical), ["alert.broadcast", "trust.add", "policy.change", "backup.read"]);
        assert_eq!(of(Risk::Medium), ["tasks.kill", "budget.raise"]);
        assert_eq!(of(Risk::Low), [""; 0]);
        assert_eq!(of(Risk::High).len(), GuardedAction::ALL.len() - 6);
    }
}
