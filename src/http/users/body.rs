//! Requests and responses of user administration.

use muster_core::Millis;
use muster_core::principal::{Permission, UserRole};
use muster_identity::{UserPatch, UserRecord};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

/// A new user.
#[derive(Request)]
#[request(example = {
    "email": "anna.berg@example.org", "password": "a long sentence is best", "name": "Anna Berg", "role": "operator",
    "grants": ["alerts:publish"]
})]
pub struct NewUserBody {
    /// E-mail address, unique without regard to case.
    pub email: String,
    /// 8 to 1,024 bytes without NUL.
    pub password: String,
    /// At most 100 characters.
    pub name: Option<String>,
    /// Role: `viewer`, `responder`, `operator`, `incident_commander`, `firmware_manager`, `approver`, `auditor`,
    /// `admin` or `super_admin`.
    #[request(schema = String)]
    pub role: UserRole,
    /// Permissions in addition to those of the role, each `<resource>:<action>`.
    #[request(schema = Vec<String>)]
    pub grants: Option<Vec<Permission>>,
}

/// Changes of a user. Fields that are left out keep their values.
#[derive(Debug, Request)]
#[request(into = UserPatch, example = { "role": "incident_commander", "grants": [] })]
pub struct UserPatchBody {
    name: Option<String>,
    #[request(schema = String)]
    role: Option<UserRole>,
    /// Permissions in addition to those of the role, which replace the present ones.
    #[request(schema = Vec<String>)]
    grants: Option<Vec<Permission>>,
    disabled: Option<bool>,
}

/// A new password for another user.
#[derive(Request)]
#[request(schema = ResetPasswordBody)]
pub struct PasswordBody {
    /// 8 to 1,024 bytes without NUL.
    #[request(example = "a long sentence is best")]
    pub password: String,
}

/// A user account.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserBody {
    pub id: String,
    pub email: String,
    pub name: String,
    #[schema(value_type = String)]
    pub role: UserRole,
    /// Permissions of the role and the grants together.
    #[schema(value_type = Vec<String>)]
    pub permissions: Vec<&'static str>,
    /// Permissions in addition to those of the role.
    #[schema(value_type = Vec<String>)]
    pub grants: Vec<Permission>,
    pub disabled: bool,
    pub created_at: String,
    /// Identifier of the creator: `usr_…` or `system`.
    pub created_by: String,
    pub updated_at: String,
    pub last_login: Option<String>,
    pub version: u64,
}

impl From<&UserRecord> for UserBody {
    fn from(user: &UserRecord) -> Self {
        Self {
            id: user.id.clone(),
            email: user.email.clone(),
            name: user.name.clone(),
            role: user.role,
            permissions: user.permissions().names(),
            grants: user.grants.clone(),
            disabled: user.disabled,
            created_at: user.created_at.rfc3339(),
            created_by: user.created_by.clone(),
            updated_at: user.updated_at.rfc3339(),
            last_login: user.last_login.map(Millis::rfc3339),
            version: user.version,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UserList {
    pub users: Vec<UserBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}
