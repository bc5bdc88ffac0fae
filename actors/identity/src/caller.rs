//! Who acts, as actors are told.

use std::sync::Arc;

use crate::keys::KeyRecord;
use muster_core::principal::{Permission, Permissions, UserRole};
use muster_core::{Error, Kind};

/// A person with a live session, as it stood when the request was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub user_id: Arc<str>,
    pub email: Arc<str>,
    pub role: UserRole,
    pub session_id: Arc<str>,
    /// What the role and single grants allow together.
    pub permissions: Permissions,
}

/// Who acts: what is written into timelines, approvals and the audit log.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    Person(Arc<Person>),
    /// An API key: agents' tasks and their feed.
    Key(Arc<KeyRecord>),
    /// A device, by its own credential.
    Device(Arc<str>),
    /// The server itself: a timer, a rule.
    System,
}

impl By {
    /// The identifier that records keep: `usr_…`, `key_…`, `dev_…` or `system`.
    pub fn id(&self) -> &str {
        match self {
            Self::Person(person) => &person.user_id,
            Self::Key(key) => &key.id,
            Self::Device(id) => id,
            Self::System => "system",
        }
    }

    /// Whether it may. The server may everything that it does by itself; a device or a key has no permission of a person's.
    pub fn may(&self, permission: Permission) -> bool {
        match self {
            Self::Person(person) => person.permissions.has(permission),
            Self::Key(_) | Self::Device(_) => false,
            Self::System => true,
        }
    }

    /// # Errors
    /// `Forbidden`, naming the permission that is needed.
    pub fn require(&self, permission: Permission) -> Result<(), Error> {
        if self.may(permission) { Ok(()) } else { Err(lacks(permission)) }
    }
}

/// The refusal of one who lacks a permission.
pub fn lacks(permission: Permission) -> Error {
    Error::new(Kind::Forbidden, format!("this needs the permission `{}`", permission.name()))
        .coded("permission_denied")
        .detailing(serde_json::json!({ "permission": permission.name() }))
}
