//! Deciders: people who are enrolled with a key of their own.

use std::ops::ControlFlow;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::guard::QuorumRole;
use muster_governance::DeciderView;
use muster_request::Request;
use serde_json::Value;

use super::describe::{DeciderBody, DecidersBody};
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, Conflict, Gone, NotFound, ReadErrors, WriteErrors};
use crate::governance;
use crate::guard::{Guarded, Sent, Status};

/// A key to enrol.
#[derive(Debug, Request)]
#[request(example = { "roles": ["security"], "jwk": { "kty": "OKP", "crv": "Ed25519", "x": "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg" }, "proof": "bi4ejBenJul3X--G8i9hx2mCpGN8FnV9uCe9cYtUFfHhBD0Gk4xxSiak6VA-Zb5O-qjgG91QifQcI15SyKLnAQ" })]
pub struct EnrolBody {
    /// Roles for which the caller decides: `security`, `operations` or both.
    #[request(schema = Vec<String>)]
    pub roles: Vec<QuorumRole>,
    /// A public Ed25519 key, such as that of `muster login`.
    #[request(schema = Object)]
    pub jwk: Value,
    /// Its signature over the RFC 8785 form of `{jkt, purpose: "muster.decider", roles, server, user}`, base64url; the
    /// roles sorted, `server` as the list of deciders says.
    #[request(chars = 1..=128)]
    pub proof: String,
}

/// The proof that ends a suspension.
#[derive(Debug, Request)]
#[request(example = { "proof": "bi4ejBenJul3X--G8i9hx2mCpGN8FnV9uCe9cYtUFfHhBD0Gk4xxSiak6VA-Zb5O-qjgG91QifQcI15SyKLnAQ" })]
pub struct ResumeBody {
    /// Signature by a key of the caller over the RFC 8785 form of `{jkt, purpose: "muster.resume", roles, server, user}`,
    /// base64url.
    #[request(chars = 1..=128)]
    pub proof: String,
}

/// List deciders
///
/// Returns all deciders, and the name of this server in signed bytes.
#[utoipa::path(get, path = "/api/v1/governance/deciders", tag = "governance", operation_id = "list_deciders",
    responses((status = 200, description = "The deciders", body = DecidersBody), ReadErrors<Agent>))]
pub async fn list(
    _guard: Guarded<Status>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<DecidersBody>, HttpError> {
    let list = app.governance.deciders(governance::caller(&app, &http)?).await?;
    let deciders = list.deciders.iter().map(DeciderBody::from).collect();
    Ok(web::Json(DecidersBody { server: list.server, constituted: list.constituted, deciders }))
}

/// Enrol as a decider
///
/// Enrols the caller with a key, or a further one (at most three). This is a guarded action, `decider.enrol`, whose resource
/// is the thumbprint of the key. Decisions about approvals that were opened before are not signed with it.
#[utoipa::path(post, path = "/api/v1/governance/deciders", tag = "governance", operation_id = "enrol_decider",
    request_body = EnrolBody,
    responses((status = 201, description = "The decider", body = DeciderBody), WriteErrors<Agent>, Gone<Agent>))]
pub async fn enrol(
    request: Sent<Status, EnrolBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let EnrolBody { roles, jwk, proof } = request.body;
    let (caller, service) = (governance::caller(&app, &http)?, app.governance.clone());
    let run = move |permit| async move { service.enrol(caller, roles, jwk, proof, permit).await };
    match governance::guarded(&app, &http, &request.sent, run).await? {
        ControlFlow::Break(opened) => Ok(opened),
        ControlFlow::Continue(record) => {
            Ok(HttpResponse::Created().json(DeciderBody::from(&DeciderView { record, suspended: false })))
        }
    }
}

/// End a suspension
///
/// Ends the caller's suspension, which begins when another changes the password, e-mail, role or enabling of the account.
#[utoipa::path(post, path = "/api/v1/governance/deciders/me/resume", tag = "governance",
    operation_id = "resume_decider", request_body = ResumeBody,
    responses((status = 200, description = "The decider", body = DeciderBody), WriteErrors<Agent>))]
pub async fn resume(
    request: Sent<Status, ResumeBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<DeciderBody>, HttpError> {
    let record = app.governance.resume(governance::caller(&app, &http)?, request.body.proof).await?;
    Ok(web::Json(DeciderBody::from(&DeciderView { record, suspended: false })))
}

/// Remove a decider
///
/// Removes a decider: oneself, or by a decider for `security` or a `super_admin`. The last one for a role stays.
#[utoipa::path(delete, path = "/api/v1/governance/deciders/{user}", tag = "governance", operation_id = "remove_decider",
    params(("user" = String, Path)),
    responses((status = 204, description = "The decider is removed"), CallErrors<Agent>, NotFound<Agent>,
        Conflict<Agent>))]
pub async fn remove(
    _guard: Guarded<Status>,
    user: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.governance.remove_decider(governance::caller(&app, &http)?, user.into_inner()).await?;
    Ok(HttpResponse::NoContent().finish())
}
