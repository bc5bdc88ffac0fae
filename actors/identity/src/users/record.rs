//! Stored records of users.

use std::fmt;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::service_account::ServiceCredential;
use muster_core::Millis;
use muster_core::principal::{Permission, Permissions, UserRole};

/// A password hash in PHC string format, with its parameters. Never displayed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Phc(pub(crate) String);

impl fmt::Debug for Phc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Phc(…)")
    }
}

/// The stored record of a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserRecord {
    /// Identifier: `usr_…`, or `svc_…` of a service account.
    pub id: String,
    /// E-mail in lower case: no two users differ in case alone.
    pub email: String,
    /// Display name, 0 to 100 characters.
    pub name: String,
    /// Role, which grants a fixed set of permissions.
    pub role: UserRole,
    /// Individual permissions in addition to those of the role.
    pub grants: Vec<Permission>,
    pub(crate) password: Phc,
    /// Whether the user is barred from logging in.
    pub disabled: bool,
    /// Incremented with each change of the user's permissions.
    pub pv: u64,
    /// Tokens issued before this time are invalid.
    pub not_before: Millis,
    /// Time of creation.
    pub created_at: Millis,
    /// Creator: `usr_…` or `system`.
    pub created_by: String,
    /// Time of the last change.
    pub updated_at: Millis,
    /// Time of the last login; `None` before the first one.
    pub last_login: Option<Millis>,
    /// Incremented with each change by an administrator or the user; compared with `If-Match`.
    pub version: u64,
    /// Secret and expiry of a service account; `None` for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceCredential>,
    /// Who set the present password, if it was not set with the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_by: Option<String>,
    /// When it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_at: Option<Millis>,
    /// When another principal last changed password, e-mail, role or enabling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub altered_at: Option<Millis>,
}

impl UserRecord {
    /// Returns the permissions of role and grants together.
    pub fn permissions(&self) -> Permissions {
        self.role.permissions().and(Permissions::of(&self.grants))
    }
}

impl Record for UserRecord {
    const TREE: Tree = Tree::Users;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
