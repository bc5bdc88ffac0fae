//! Roles, permissions and scopes, as the guards of the routes check them.

use actix_web::web;
use muster_core::principal::{Permission, UserRole};
use muster_identity::keys::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::sets::{Agent, SessionErrors};
use crate::guard::{Guarded, Status};

/// Every name by which access is granted.
#[derive(Debug, Serialize, ToSchema)]
pub struct Roles {
    /// Roles of users, with what each one grants.
    pub roles: Vec<RoleGrants>,
    /// All permissions, in the form `resource:action`. One can also be granted to a user individually.
    #[schema(value_type = Vec<String>)]
    pub permissions: Vec<&'static str>,
    /// All scopes of API keys.
    #[schema(value_type = Vec<String>)]
    pub scopes: Vec<&'static str>,
}

/// What a role grants.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleGrants {
    #[schema(value_type = String, example = "operator")]
    pub role: &'static str,
    #[schema(value_type = Vec<String>)]
    pub permissions: Vec<&'static str>,
    /// Scopes of the role's users on routes for API keys.
    #[schema(value_type = Vec<String>)]
    pub scopes: Vec<&'static str>,
}

/// List roles, permissions and scopes
///
/// Returns the roles of users with the permissions and scopes that each one grants, and all names of permissions and
/// scopes. They are fixed by the server's version.
#[utoipa::path(get, path = "/api/v1/roles", tag = "auth", operation_id = "list_roles",
    responses((status = 200, description = "The roles, permissions and scopes", body = Roles), SessionErrors<Agent>))]
pub async fn list(_guard: Guarded<Status>) -> web::Json<Roles> {
    let names = |scopes: &[Scope]| scopes.iter().map(|scope| scope.name()).collect();
    let roles = UserRole::ALL.map(|role| RoleGrants {
        role: role.name(),
        permissions: role.permissions().names(),
        scopes: names(&muster_identity::scopes(role)),
    });
    let permissions = Permission::ALL.iter().map(|permission| permission.name()).collect();
    web::Json(Roles { roles: roles.into(), permissions, scopes: names(&Scope::ALL) })
}
