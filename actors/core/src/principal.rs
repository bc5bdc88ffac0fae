//! Roles, and the `resource:action` permissions that each one grants.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::IdKind;

macro_rules! permissions {
    ($($name:ident = $text:literal,)*) => {
        /// A permission, named `resource:action`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Permission {
            $(
                #[doc = concat!("`", $text, "`")]
                #[serde(rename = $text)]
                $name,
            )*
        }

        impl Permission {
            /// All permissions, in a fixed order.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the name in the form `resource:action`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

permissions! {
    DevicesRead = "devices:read",
    DevicesWrite = "devices:write",
    DevicesCommand = "devices:command",
    IncidentsRead = "incidents:read",
    IncidentsWrite = "incidents:write",
    IncidentsClose = "incidents:close",
    AlertsRead = "alerts:read",
    AlertsPublish = "alerts:publish",
    FirmwareRead = "firmware:read",
    FirmwareWrite = "firmware:write",
    FirmwareExecute = "firmware:execute",
    FirmwareApprove = "firmware:approve",
    RealtimeSubscribe = "realtime:subscribe",
    AgentsRead = "agents:read",
    AgentsControl = "agents:control",
    AuditRead = "audit:read",
    GovernanceRead = "governance:read",
    GovernanceApprove = "governance:approve",
    UsersRead = "users:read",
    UsersWrite = "users:write",
    SessionsRead = "sessions:read",
    SessionsRevoke = "sessions:revoke",
    KeysRead = "keys:read",
    KeysWrite = "keys:write",
}

impl Permission {
    /// Parses the name of a permission.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|permission| permission.name() == name)
    }

    const fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// A set of permissions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Permissions(u64);

impl Permissions {
    /// Creates a set from a list.
    pub fn of(list: &[Permission]) -> Self {
        Self(list.iter().fold(0, |bits, permission| bits | permission.bit()))
    }

    /// Returns the set of all permissions.
    pub fn all() -> Self {
        Self::of(Permission::ALL)
    }

    /// Returns whether the set contains a permission.
    pub const fn has(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    /// Returns the union of two sets.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Returns whether this set contains every permission of `other`.
    pub const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Iterates over the permissions in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.iter().copied().filter(move |permission| self.has(*permission))
    }

    /// Returns the names, in a fixed order.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(Permission::name).collect()
    }
}

/// Role of a user. Each role grants a fixed set of permissions; further ones can be granted individually.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserRole {
    /// Reads devices, incidents and alerts, and subscribes to the feed.
    Viewer,
    /// Can write to incidents assigned to them.
    Responder,
    /// Manages devices and incidents, and controls agents.
    Operator,
    /// An operator who also closes incidents and publishes alerts.
    IncidentCommander,
    /// Uploads firmware and runs rollouts.
    FirmwareManager,
    /// Approves firmware rollouts and governance decisions.
    Approver,
    /// Reads everything that is needed for an audit.
    Auditor,
    /// Manages users, sessions and API keys.
    Admin,
    /// Has every permission.
    SuperAdmin,
}

impl UserRole {
    /// All roles, in a fixed order.
    pub const ALL: [Self; 9] = [
        Self::Viewer,
        Self::Responder,
        Self::Operator,
        Self::IncidentCommander,
        Self::FirmwareManager,
        Self::Approver,
        Self::Auditor,
        Self::Admin,
        Self::SuperAdmin,
    ];

    /// Returns the name used in tokens, requests and responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Responder => "responder",
            Self::Operator => "operator",
            Self::IncidentCommander => "incident_commander",
            Self::FirmwareManager => "firmware_manager",
            Self::Approver => "approver",
            Self::Auditor => "auditor",
            Self::Admin => "admin",
            Self::SuperAdmin => "super_admin",
        }
    }

    /// Returns the permissions of the role (contract 1, "Roles -> permissions"). Every role includes those of a viewer,
    /// which the screens of all roles need.
    pub fn permissions(self) -> Permissions {
        use Permission::*;
        let viewer = Permissions::of(&[DevicesRead, IncidentsRead, AlertsRead, RealtimeSubscribe]);
        let operator =
            Permissions::of(&[DevicesWrite, DevicesCommand, IncidentsWrite, FirmwareRead, AgentsRead, AgentsControl]);
        let more = match self {
            Self::Viewer => Permissions::default(),
            Self::Responder => Permissions::of(&[IncidentsWrite]),
            Self::Operator => operator,
            Self::IncidentCommander => operator.and(Permissions::of(&[IncidentsClose, AlertsPublish])),
            Self::FirmwareManager => Permissions::of(&[FirmwareRead, FirmwareWrite, FirmwareExecute]),
            Self::Approver => Permissions::of(&[FirmwareRead, FirmwareApprove, GovernanceRead, GovernanceApprove]),
            Self::Auditor => Permissions::of(&[
                FirmwareRead,
                AgentsRead,
                AuditRead,
                GovernanceRead,
                UsersRead,
                SessionsRead,
                KeysRead,
            ]),
            Self::Admin => Permissions::of(&[UsersRead, UsersWrite, SessionsRead, SessionsRevoke, KeysRead, KeysWrite]),
            Self::SuperAdmin => Permissions::all(),
        };
        viewer.and(more)
    }
}

/// A subscriber to the feed: identifier and permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// `usr_…`, `key_…` or `dev_…`.
    pub id: Arc<str>,
    /// Permissions of the subscriber.
    pub permissions: Permissions,
}

impl Viewer {
    /// Returns whether the subscriber is an API key. Only keys with the scope `agents` may use the feed.
    pub fn is_key(&self) -> bool {
        self.id.strip_prefix(IdKind::Key.prefix()).is_some_and(|rest| rest.starts_with('_'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_names_round_trip() {
        for permission in Permission::ALL {
            assert_eq!(Permission::parse(permission.name()), Some(*permission));
        }
        assert_eq!(Permission::parse("devices:*"), None, "wildcards are not permissions");
        assert!(Permission::ALL.len() < 64, "they fit a set");
    }

    #[test]
    fn only_super_admins_can_both_execute_and_approve_firmware() {
        for role in UserRole::ALL {
            let has = |permission| role.permissions().has(permission);
            let both = has(Permission::FirmwareExecute) && has(Permission::FirmwareApprove);
            assert_eq!(both, role == UserRole::SuperAdmin, "{role:?}");
        }
    }
}
