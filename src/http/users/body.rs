//! What these routes take and give.

use muster_core::Millis;
use muster_core::principal::{Permission, UserRole};
use muster_identity::{UserPatch, UserRecord};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::body::{Fields, FromJson};

#[derive(Debug, Deserialize, IntoParams)]
pub struct ListQuery {
    /// 1 to 200, default 50.
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// A person to be made.
#[derive(ToSchema)]
pub struct NewUserBody {
    /// Nobody else's, whatever its case.
    pub email: String,
    /// 8 to 1,024 bytes, none of them NUL.
    pub password: String,
    /// At most 100 characters.
    pub name: Option<String>,
    /// `viewer`, `responder`, `operator`, `incident_commander`, `firmware_manager`, `approver`, `auditor`, `admin` or
    /// `super_admin`.
    #[schema(value_type = String)]
    pub role: UserRole,
    /// Permissions besides those of the role, each `<resource>:<action>`.
    #[schema(value_type = Option<Vec<String>>)]
    pub grants: Option<Vec<Permission>>,
}

impl FromJson for NewUserBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let (email, password) = (fields.string("email"), fields.string("password"));
        let role = fields.choice("role");
        Self {
            email: fields.require("email", email).unwrap_or_default(),
            password: fields.require("password", password).unwrap_or_default(),
            name: fields.string("name"),
            role: fields.require("role", role).unwrap_or(UserRole::Viewer),
            grants: fields.choice("grants"),
        }
    }
}

/// Changes of a person; what is left out stays.
#[derive(Debug, ToSchema)]
pub struct UserPatchBody {
    pub name: Option<String>,
    #[schema(value_type = Option<String>)]
    pub role: Option<UserRole>,
    /// In place of the present ones.
    #[schema(value_type = Option<Vec<String>>)]
    pub grants: Option<Vec<Permission>>,
    pub disabled: Option<bool>,
}

impl FromJson for UserPatchBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            name: fields.string("name"),
            role: fields.choice("role"),
            grants: fields.choice("grants"),
            disabled: fields.bool("disabled"),
        }
    }
}

impl From<UserPatchBody> for UserPatch {
    fn from(body: UserPatchBody) -> Self {
        Self { name: body.name, role: body.role, grants: body.grants, disabled: body.disabled }
    }
}

/// A new password for somebody else.
#[derive(ToSchema)]
#[schema(as = ResetPasswordBody)]
pub struct PasswordBody {
    /// 8 to 1,024 bytes, none of them NUL.
    pub password: String,
}

impl FromJson for PasswordBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let password = fields.string("password");
        Self { password: fields.require("password", password).unwrap_or_default() }
    }
}

/// A person.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserBody {
    pub id: String,
    pub email: String,
    pub name: String,
    #[schema(value_type = String)]
    pub role: UserRole,
    /// Of the role and the grants together.
    #[schema(value_type = Vec<String>)]
    pub permissions: Vec<&'static str>,
    /// Those besides the role's.
    #[schema(value_type = Vec<String>)]
    pub grants: Vec<Permission>,
    pub disabled: bool,
    pub created_at: String,
    /// Who made it: `usr_…` or `system`.
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
    /// For the next page; null at the end.
    pub next_cursor: Option<String>,
}
