//! Permissions: roles, and the `resource:action` permissions that each grants.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::IdKind;

macro_rules! permissions {
    ($($name:ident = $text:literal,)*) => {
        /// One thing that may be done, named `resource:action`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Permission {
            $(#[serde(rename = $text)] $name,)*
        }

        impl Permission {
            /// Every permission, in a fixed order.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// `resource:action`.
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
    /// The permission of that name.
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
    pub fn of(list: &[Permission]) -> Self {
        Self(list.iter().fold(0, |bits, permission| bits | permission.bit()))
    }

    pub fn all() -> Self {
        Self::of(Permission::ALL)
    }

    pub const fn has(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Whether this grants everything that `other` does.
    pub const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.iter().copied().filter(move |permission| self.has(*permission))
    }

    /// Their names, in a fixed order.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(Permission::name).collect()
    }
}

/// What a person is in the network. Each grants a fixed set of permissions; single ones may be granted besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserRole {
    Viewer,
    /// Writes to incidents that are assigned to it.
    Responder,
    Operator,
    IncidentCommander,
    FirmwareManager,
    Approver,
    Auditor,
    Admin,
    SuperAdmin,
}

impl UserRole {
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

    /// What the role grants (contract 1, "Roles -> permissions"). Everybody may read what a viewer may: the other roles
    /// would be blind on the screens they work at.
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

/// A subscriber to the feed: its identifier and its permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// `usr_…`, `key_…` or `dev_…`.
    pub id: Arc<str>,
    pub permissions: Permissions,
}

impl Viewer {
    /// Whether the subscriber is an API key. Of keys, only those with the scope `agents` may use the feed.
    pub fn is_key(&self) -> bool {
        self.id.strip_prefix(IdKind::Key.prefix()).is_some_and(|rest| rest.starts_with('_'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_permissions() {
        for permission in Permission::ALL {
            assert_eq!(Permission::parse(permission.name()), Some(*permission));
        }
        assert_eq!(Permission::parse("devices:*"), None, "no wildcard is a permission");
        assert!(Permission::ALL.len() < 64, "they fit a set");
    }

    #[test]
    fn execution_and_approval_of_firmware_are_never_one_roles_but_the_super_admins() {
        for role in UserRole::ALL {
            let has = |permission| role.permissions().has(permission);
            let both = has(Permission::FirmwareExecute) && has(Permission::FirmwareApprove);
            assert_eq!(both, role == UserRole::SuperAdmin, "{role:?}");
        }
    }
}
