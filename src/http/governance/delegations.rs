//! Delegations: another decider decides for a while.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::Millis;
use muster_core::guard::QuorumRole;
use muster_governance::NewDelegation;
use muster_request::Request;

use super::describe::{ChallengeBody, DelegationBody, DelegationsBody};
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, NotFound, ReadErrors, WriteErrors};
use crate::governance;
use crate::guard::{Guarded, Sent, Status};
use crate::parameters::time;

/// A delegation to make.
#[derive(Debug, Request)]
#[request(example = { "to": "usr_01M7ZC2GXH0005F7FKJW5QGHJ6", "role": "security", "until": "2026-12-01T00:00:00.000Z", "nonce": "1.ins_01M7YDTJE1MZAKGMBTXXHWSY3W.usr_01M7ZC2GXH0005F7FKJW5QGHJ6.1795300000.0.DIpKxQVMTAj3ms0QfPOOuw", "signature": "bi4ejBenJul3X--G8i9hx2mCpGN8FnV9uCe9cYtUFfHhBD0Gk4xxSiak6VA-Zb5O-qjgG91QifQcI15SyKLnAQ" })]
pub struct NewDelegationBody {
    /// Another decider, `usr_…`.
    #[request(chars = 1..=64)]
    pub to: String,
    /// The role: `security` or `operations`.
    #[request(schema = String)]
    pub role: QuorumRole,
    /// End of the delegation, at most 14 days ahead, RFC 3339. It is signed in UTC with milliseconds and `Z`.
    #[request(with = time, schema = String)]
    #[schema(format = DateTime)]
    pub until: Millis,
    /// The nonce of the list's `challenge`.
    #[request(chars = 1..=256)]
    pub nonce: String,
    /// Signature over the RFC 8785 form of `{from, nonce, role, to, until}`, base64url.
    #[request(chars = 1..=128)]
    pub signature: String,
}

/// List delegations
///
/// Returns the delegations in force and, for a decider, a nonce for one more.
#[utoipa::path(get, path = "/api/v1/governance/delegations", tag = "governance", operation_id = "list_delegations",
    responses((status = 200, description = "The delegations", body = DelegationsBody), ReadErrors<Agent>))]
pub async fn list(
    _guard: Guarded<Status>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<DelegationsBody>, HttpError> {
    let list = app.governance.deciders(governance::caller(&app, &http)?).await?;
    let challenge =
        list.challenge.map(|challenge| ChallengeBody { nonce: challenge.nonce, expires_at: challenge.expires_at });
    let delegations = list.delegations.iter().map(|record| DelegationBody::from(&**record)).collect();
    Ok(web::Json(DelegationsBody { delegations, challenge }))
}

/// Delegate a role
///
/// Lets another decider decide for a role of the caller, for at most 14 days. Both count as one person. A delegated role is
/// not passed on.
#[utoipa::path(post, path = "/api/v1/governance/delegations", tag = "governance", operation_id = "create_delegation",
    request_body = NewDelegationBody,
    responses((status = 201, description = "The delegation", body = DelegationBody), WriteErrors<Agent>))]
pub async fn create(
    request: Sent<Status, NewDelegationBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let NewDelegationBody { to, role, until, nonce, signature } = request.body;
    let new = NewDelegation { to, role, until, nonce, signature };
    let record = app.governance.delegate(governance::caller(&app, &http)?, new).await?;
    Ok(HttpResponse::Created().json(DelegationBody::from(&*record)))
}

/// End a delegation
///
/// Ends a delegation: by either party, a decider for `security` or a `super_admin`.
#[utoipa::path(delete, path = "/api/v1/governance/delegations/{id}", tag = "governance",
    operation_id = "delete_delegation", params(("id" = String, Path)),
    responses((status = 204, description = "The delegation has ended"), CallErrors<Agent>, NotFound<Agent>))]
pub async fn delete(
    _guard: Guarded<Status>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.governance.end_delegation(governance::caller(&app, &http)?, id.into_inner()).await?;
    Ok(HttpResponse::NoContent().finish())
}
