//! Requests and responses of service accounts.

use muster_core::Millis;
use muster_core::principal::UserRole;
use muster_identity::{IssuedSecret, NewServiceAccount, ServiceAccountPatch, UserRecord};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::parameters::time;

/// A new service account.
#[derive(Debug, Request)]
#[request(into = NewServiceAccount, example = { "name": "wall-dashboard", "role": "viewer" })]
pub struct NewServiceAccountBody {
    /// Unique name: 1 to 64 lower-case letters, digits and hyphens.
    name: String,
    /// Role: `viewer` or `auditor`, which only read, `responder`, `operator` or `firmware_manager`.
    #[request(schema = String)]
    role: UserRole,
    /// Time at which the account expires, RFC 3339; by default in one year, at most five years ahead.
    #[request(with = time, schema = String)]
    expires_at: Option<Millis>,
}

/// Changes of a service account. Fields that are left out keep their values.
#[derive(Debug, Request)]
#[request(into = ServiceAccountPatch, example = { "disabled": true })]
pub struct ServiceAccountPatchBody {
    #[request(schema = String)]
    role: Option<UserRole>,
    /// Time at which the account expires, RFC 3339. A change ends the sessions.
    #[request(with = time, schema = String)]
    expires_at: Option<Millis>,
    /// Whether the account is barred from logging in. Disabling it ends the sessions.
    disabled: Option<bool>,
}

/// The parameters of the rotation of a secret.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "grace_seconds": 3600 })]
pub struct RotateSecretBody {
    /// Time for which the present secret is still accepted, in seconds: one day by default, at most 30 days. 0: not at
    /// all, and the sessions end too.
    #[request(range = 0..=2_592_000, default = 86_400)]
    pub grace_seconds: u64,
}

/// A service account without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServiceAccountBody {
    /// Identifier, `svc_…`, with which it logs in.
    pub id: String,
    pub name: String,
    #[schema(value_type = String)]
    pub role: UserRole,
    /// Permissions of the role.
    #[schema(value_type = Vec<String>)]
    pub permissions: Vec<&'static str>,
    pub disabled: bool,
    pub expires_at: Option<String>,
    /// Time of the last rotation of the secret.
    pub rotated_at: Option<String>,
    /// Time until which the secret before the last rotation is accepted.
    pub previous_secret_until: Option<String>,
    pub created_at: String,
    /// Identifier of the creator: `usr_…` or `system`.
    pub created_by: String,
    pub updated_at: String,
    pub last_login: Option<String>,
    pub version: u64,
}

impl From<&UserRecord> for ServiceAccountBody {
    fn from(account: &UserRecord) -> Self {
        let service = account.service.as_ref();
        Self {
            id: account.id.clone(),
            name: account.name.clone(),
            role: account.role,
            permissions: account.permissions().names(),
            disabled: account.disabled,
            expires_at: service.map(|service| service.expires_at.rfc3339()),
            rotated_at: service.map(|service| service.rotated_at.rfc3339()),
            previous_secret_until: service.and_then(|service| service.previous_until).map(Millis::rfc3339),
            created_at: account.created_at.rfc3339(),
            created_by: account.created_by.clone(),
            updated_at: account.updated_at.rfc3339(),
            last_login: account.last_login.map(Millis::rfc3339),
            version: account.version,
        }
    }
}

/// A new service account, or one with a new secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct IssuedSecretBody {
    #[serde(flatten)]
    pub account: ServiceAccountBody,
    /// The secret. It is returned once and not stored.
    pub secret: String,
}

impl From<IssuedSecret> for IssuedSecretBody {
    fn from(issued: IssuedSecret) -> Self {
        Self { account: ServiceAccountBody::from(&*issued.account), secret: issued.secret }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ServiceAccountList {
    pub service_accounts: Vec<ServiceAccountBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}
