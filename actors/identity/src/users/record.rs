//! What is stored of a person.

use std::fmt;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use muster_core::Millis;
use muster_core::principal::{Permission, Permissions, UserRole};

/// A hashed password in PHC's form, with the parameters it was made with. Never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phc(pub String);

impl fmt::Debug for Phc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Phc(…)")
    }
}

/// A person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserRecord {
    /// `usr_…`.
    pub id: String,
    /// Folded: no two differ in case alone.
    pub email: String,
    pub name: String,
    pub role: UserRole,
    /// Single permissions besides those of the role.
    pub grants: Vec<Permission>,
    pub password: Phc,
    pub disabled: bool,
    /// Rises with each change of what the person may do.
    pub pv: u64,
    /// No token that was made before this counts.
    pub not_before: Millis,
    pub created_at: Millis,
    /// `usr_…` or `system`.
    pub created_by: String,
    pub updated_at: Millis,
    pub last_login: Option<Millis>,
    pub version: u64,
}

impl UserRecord {
    /// What role and grants allow together.
    pub fn permissions(&self) -> Permissions {
        self.role.permissions().and(Permissions::of(&self.grants))
    }
}

impl Record for UserRecord {
    const TREE: Tree = Tree::Users;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
