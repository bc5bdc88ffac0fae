//! Callers and actors of operations, as passed to actors.

use std::sync::Arc;

use crate::keys::KeyRecord;
use muster_core::ids::IdKind;
use muster_core::principal::{Permission, Permissions, UserRole};
use muster_core::{Error, Kind};

/// A user with a live session, as of the time at which the request was authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// User identifier, `usr_…`.
    pub user_id: Arc<str>,
    /// Normalized e-mail.
    pub email: Arc<str>,
    /// Role of the user.
    pub role: UserRole,
    /// Session identifier, `ses_…`.
    pub session_id: Arc<str>,
    /// The permissions of the role and of individual grants together.
    pub permissions: Permissions,
}

impl Person {
    /// Returns whether it is a service account: the principal of a program.
    pub fn is_service(&self) -> bool {
        self.user_id.strip_prefix(IdKind::ServiceAccount.prefix()).is_some_and(|rest| rest.starts_with('_'))
    }
}

/// The principal that performs an operation, as recorded in timelines, approvals and the audit log.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// A user with a live session.
    Person(Arc<Person>),
    /// An API key, for tasks of agents and their feed.
    Key(Arc<KeyRecord>),
    /// A device, authenticated by its own credential.
    Device(Arc<str>),
    /// The server itself, such as a timer or a rule.
    System,
}

impl By {
    /// Returns the identifier that records contain: `usr_…`, `key_…`, `dev_…` or `system`.
    pub fn id(&self) -> &str {
        match self {
            Self::Person(person) => &person.user_id,
            Self::Key(key) => &key.id,
            Self::Device(id) => id,
            Self::System => "system",
        }
    }

    /// Returns whether a permission is granted. The server may do everything; a device or a key has no user
    /// permissions.
    pub fn may(&self, permission: Permission) -> bool {
        match self {
            Self::Person(person) => person.permissions.has(permission),
            Self::Key(_) | Self::Device(_) => false,
            Self::System => true,
        }
    }

    /// Checks that a permission is granted.
    ///
    /// # Errors
    /// `Forbidden`, naming the required permission.
    pub fn require(&self, permission: Permission) -> Result<(), Error> {
        if self.may(permission) { Ok(()) } else { Err(missing_permission(permission)) }
    }
}

/// Returns the error for a missing permission.
pub fn missing_permission(permission: Permission) -> Error {
    Error::new(Kind::Forbidden, format!("this needs the permission `{}`", permission.name()))
        .coded("permission_denied")
        .detailing(serde_json::json!({ "permission": permission.name() }))
}
