//! Approvals: opened, read, decided, executed.

use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::guard::{QuorumRole, Risk};
use muster_core::page::Page;
use muster_core::{Error, Kind, Millis};
use muster_governance::{
    ApprovalAct, ApprovalFilter, ApprovalState, DecisionKind, DecisionRequest, NewApproval, Outcome,
};
use muster_identity::keys::Scope;
use muster_request::Request;
use serde_json::Value;

use super::describe::{ApprovalBody, ApprovalList};
use crate::app::App;
use crate::envelope::IdempotencyReplay;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, Gone, NotFound, ReadErrors, WriteErrors};
use crate::governance::{self, WaitingThings};
use crate::guard::{Guarded, Queried, Sent, Status, caller_of};
use crate::parameters::{self, PageQuery, time};

/// The filter and the page of a list of approvals.
#[derive(Debug, Request)]
#[request(query)]
pub struct ApprovalQuery {
    /// State at present.
    #[request(schema = String)]
    pub state: Option<ApprovalState>,
    #[request(schema = String)]
    pub risk: Option<Risk>,
    /// Name of the action.
    pub action: Option<String>,
    /// Identifier of the principal that requested it.
    pub requester: Option<String>,
    /// Earliest opening, inclusive, RFC 3339.
    #[request(with = time, schema = String)]
    #[schema(format = DateTime)]
    pub from: Option<Millis>,
    /// Latest opening, exclusive, RFC 3339.
    #[request(with = time, schema = String)]
    #[schema(format = DateTime)]
    pub to: Option<Millis>,
    #[request(flatten)]
    pub page: PageQuery,
}

/// A request for an approval.
#[derive(Debug, Request)]
#[request(example = { "action": "deploy.release", "resource": "muster-1.4", "risk": "medium", "reason": "a fix" })]
pub struct NewApprovalBody {
    /// Name of the action, 1 to 100 characters: a guarded one, or any other.
    #[request(chars = 1..=100)]
    pub action: String,
    /// Identifier of what the action changes, 1 to 300 characters.
    #[request(chars = 1..=300)]
    pub resource: String,
    /// `low`, `medium`, `high` or `critical`; raised to that of the action.
    #[request(schema = String)]
    pub risk: Risk,
    /// Why, 1 to 500 characters.
    #[request(chars = 1..=500)]
    pub reason: String,
    /// What is to be executed, at most 64 KiB.
    #[request(schema = Object)]
    pub payload: Option<Value>,
    /// Time until the approval expires, in seconds; a day by default.
    #[request(range = 60..=604_800, default = NewApproval::DEFAULT_SECONDS)]
    pub expires_in_seconds: u64,
}

/// A decision.
#[derive(Debug, Request)]
#[request(example = { "decision": "approve", "role": "security" })]
pub struct DecisionBody {
    /// `approve` or `reject`.
    #[request(schema = String)]
    pub decision: DecisionKind,
    /// The role for which the caller decides: `security` or `operations`.
    #[request(schema = String)]
    pub role: QuorumRole,
    /// At most 1,000 characters.
    #[request(chars = 0..=1000)]
    pub comment: Option<String>,
    /// The nonce of the approval's `challenge`.
    #[request(chars = 1..=256)]
    pub nonce: Option<String>,
    /// Thumbprint of the key that signed.
    #[request(chars = 1..=128)]
    pub kid: Option<String>,
    /// Ed25519 signature over the RFC 8785 form of `{approval_id, action, resource, risk, payload_sha256, decision, role,
    /// nonce}`, base64url. Required for the risks `high` and `critical`.
    #[request(chars = 1..=128)]
    pub signature: Option<String>,
}

/// A signature that approves without a quorum.
#[derive(Debug, Request)]
#[request(example = { "nonce": "1.ins_01M7YDTJE1MZAKGMBTXXHWSY3W.usr_01M7ZC2GXH0005F7FKJW5QGHJ6.1795300000.0.DIpKxQVMTAj3ms0QfPOOuw", "signature": "bi4ejBenJul3X--G8i9hx2mCpGN8FnV9uCe9cYtUFfHhBD0Gk4xxSiak6VA-Zb5O-qjgG91QifQcI15SyKLnAQ" })]
pub struct BreakGlassBody {
    /// At most 1,000 characters.
    #[request(chars = 0..=1000)]
    pub comment: Option<String>,
    /// The nonce of the approval's `challenge`.
    #[request(chars = 1..=256)]
    pub nonce: String,
    /// Thumbprint of the key that signed.
    #[request(chars = 1..=128)]
    pub kid: Option<String>,
    /// As of a decision, with `"decision": "break_glass"` and `"role": "super_admin"`.
    #[request(chars = 1..=128)]
    pub signature: String,
}

/// Why an approval is cancelled.
#[derive(Debug, Request)]
#[request(example = { "reason": "no longer needed" })]
pub struct CancelBody {
    /// 1 to 500 characters.
    #[request(chars = 1..=500)]
    pub reason: String,
}

/// How an action that the server does not execute itself ended.
#[derive(Debug, Request)]
#[request(example = { "outcome": "ok" })]
pub struct ExecuteBody {
    /// `ok` or `failed`.
    #[request(schema = String)]
    pub outcome: Outcome,
    /// At most 1,000 characters.
    #[request(chars = 0..=1000)]
    pub note: Option<String>,
}

/// The review of a break-glass.
#[derive(Debug, Request)]
#[request(example = { "comment": "the flood left no time" })]
pub struct ReviewBody {
    /// 1 to 1,000 characters.
    #[request(chars = 1..=1000)]
    pub comment: String,
}

/// List approvals
///
/// Returns a page of approvals, newest first: auditors and super administrators see all, deciders those that they may
/// decide, everybody their own. With a filter that few approvals match a page may be short and still have a cursor.
#[utoipa::path(get, path = "/api/v1/governance/approvals", tag = "governance", operation_id = "list_approvals",
    params(ApprovalQuery), responses((status = 200, description = "A page of approvals", body = ApprovalList),
        ReadErrors<Agent>))]
pub async fn list(
    request: Queried<Status, ApprovalQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ApprovalList>, HttpError> {
    let caller = governance::caller(&app, &http)?;
    if !caller.is_reader && caller.roles.is_empty() && !may_request(&http)? {
        let message = "approvals are for those who may request or decide something, and for auditors";
        return Err(HttpError(Error::new(Kind::Forbidden, message).coded("permission_denied")));
    }
    let ApprovalQuery { state, risk, action, requester, from, to, page } = request.query;
    let filter = ApprovalFilter { state, risk, action, requester, from, to };
    let Page { items, next } = app.governance.approvals(caller, filter, page.into()).await?;
    Ok(web::Json(ApprovalList { approvals: items.iter().map(ApprovalBody::from).collect(), next_cursor: next }))
}

/// Returns whether a caller may do anything that an approval could be for.
fn may_request(http: &HttpRequest) -> Result<bool, HttpError> {
    let key = caller_of(http)?.key;
    Ok(key.has(Scope::Agents) || key.has(Scope::Admin))
}

/// Open an approval
///
/// Opens an approval of an action. Rules judge it at once: one that they forbid is recorded as `vetoed`, and the answer is
/// 403. Actions of this server are opened by repeating their request with the header `Muster-Reason`; then the payload fits.
#[utoipa::path(post, path = "/api/v1/governance/approvals", tag = "governance", operation_id = "open_approval",
    request_body = NewApprovalBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The approval", body = ApprovalBody), WriteErrors<Agent>))]
pub async fn open(
    request: Sent<Status, NewApprovalBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    if !may_request(&http)? {
        let message = "an approval is opened by who may do the action: use a key with the scope `agents` or `admin`";
        return Err(HttpError(Error::new(Kind::Forbidden, message).coded("permission_denied")));
    }
    let caller = governance::caller(&app, &http)?;
    let idempotency = parameters::idempotency(&http, caller.id(), &request.sent)?;
    let NewApprovalBody { action, resource, risk, reason, payload, expires_in_seconds } = request.body;
    let new = NewApproval {
        action,
        resource,
        risk,
        reason,
        payload,
        blast: 0,
        budget_pct: 0,
        amid_critical_incident: false,
        expires_in_seconds,
    };
    let (approval, replayed) = app.governance.open(caller, new, idempotency).await?;
    let mut response = HttpResponse::build(StatusCode::CREATED);
    IdempotencyReplay::from(replayed).write_to(&mut response);
    let location = format!("/api/v1/governance/approvals/{}", approval.record.id);
    Ok(response.insert_header((LOCATION, location)).json(ApprovalBody::from(&approval)))
}

/// Get an approval
///
/// Returns an approval with its payload and, for a caller who may decide, a nonce to sign, which is good for 10 minutes and
/// one decision.
#[utoipa::path(get, path = "/api/v1/governance/approvals/{id}", tag = "governance", operation_id = "get_approval",
    params(("id" = String, Path)),
    responses((status = 200, description = "The approval", body = ApprovalBody), CallErrors<Agent>, NotFound<Agent>))]
pub async fn get(
    _guard: Guarded<Status>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ApprovalBody>, HttpError> {
    let approval = app.governance.approval(governance::caller(&app, &http)?, &id).await?;
    Ok(web::Json(ApprovalBody::from(&approval)))
}

async fn act(
    app: &web::Data<App>,
    http: &HttpRequest,
    id: web::Path<String>,
    act: ApprovalAct,
) -> Result<web::Json<ApprovalBody>, HttpError> {
    let done = app.governance.act(governance::caller(app, http)?, id.into_inner(), act).await?;
    WaitingThings::in_app(app).follow(&done).await?;
    Ok(web::Json(ApprovalBody::from(&done)))
}

/// Decide an approval
///
/// Approves or rejects for a role of the quorum. People decide: no key, agent or device does, and nobody about a request of
/// their own. A decision on a risk of `high` or `critical` is signed.
#[utoipa::path(post, path = "/api/v1/governance/approvals/{id}/decisions", tag = "governance",
    operation_id = "decide_approval", request_body = DecisionBody, params(("id" = String, Path)),
    responses((status = 200, description = "The approval", body = ApprovalBody), WriteErrors<Agent>, NotFound<Agent>,
        Gone<Agent>))]
pub async fn decide(
    request: Sent<Status, DecisionBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ApprovalBody>, HttpError> {
    let DecisionBody { decision, role, comment, nonce, kid, signature } = request.body;
    if decision == DecisionKind::BreakGlass {
        let message = "must be approve or reject: a break-glass has a route of its own";
        return Err(HttpError(Error::field(Kind::Invalid, &["body", "decision"], message, "break_glass".into())));
    }
    let decision = DecisionRequest { decision, role: Some(role), comment, nonce, kid, signature };
    let decided = governance::decide(&app, &http, id.into_inner(), decision).await?;
    Ok(web::Json(ApprovalBody::from(&decided)))
}

/// Withdraw a decision
///
/// Withdraws all of the caller's decisions. An approval whose quorum was met is revoked by that.
#[utoipa::path(delete, path = "/api/v1/governance/approvals/{id}/decisions/mine", tag = "governance",
    operation_id = "withdraw_decision", params(("id" = String, Path)),
    responses((status = 200, description = "The approval", body = ApprovalBody), WriteErrors<Agent>, NotFound<Agent>,
        Gone<Agent>))]
pub async fn withdraw(
    _guard: Guarded<Status>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ApprovalBody>, HttpError> {
    act(&app, &http, id, ApprovalAct::Withdraw).await
}

/// Cancel an approval
///
/// Cancels an approval that is pending or approved, by its requester or a `super_admin`.
#[utoipa::path(post, path = "/api/v1/governance/approvals/{id}/cancel", tag = "governance",
    operation_id = "cancel_approval", request_body = CancelBody, params(("id" = String, Path)),
    responses((status = 200, description = "The approval", body = ApprovalBody), WriteErrors<Agent>, NotFound<Agent>,
        Gone<Agent>))]
pub async fn cancel(
    request: Sent<Status, CancelBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ApprovalBody>, HttpError> {
    act(&app, &http, id, ApprovalAct::Cancel(request.body.reason)).await
}

/// Report an execution
///
/// Reports the execution of an approved action that the server does not execute itself. Quorum and rules are judged anew: if
/// they no longer hold, the answer is 409 or 403 and the approval has ended.
#[utoipa::path(post, path = "/api/v1/governance/approvals/{id}/execute", tag = "governance",
    operation_id = "execute_approval", request_body = ExecuteBody, params(("id" = String, Path)),
    responses((status = 200, description = "The approval", body = ApprovalBody), WriteErrors<Agent>, NotFound<Agent>,
        Gone<Agent>))]
pub async fn execute(
    request: Sent<Status, ExecuteBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ApprovalBody>, HttpError> {
    let ExecuteBody { outcome, note } = request.body;
    act(&app, &http, id, ApprovalAct::Execute(outcome, note)).await
}

/// Approve without a quorum
///
/// Signs a break-glass. Two super administrators who are deciders approve by it for 15 minutes; the requester may be one of
/// them. Another decider or an auditor must review it within 24 hours.
#[utoipa::path(post, path = "/api/v1/governance/approvals/{id}/break-glass", tag = "governance",
    operation_id = "break_glass", request_body = BreakGlassBody, params(("id" = String, Path)),
    responses((status = 200, description = "The approval", body = ApprovalBody), WriteErrors<Agent>, NotFound<Agent>,
        Gone<Agent>))]
pub async fn break_glass(
    request: Sent<Status, BreakGlassBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ApprovalBody>, HttpError> {
    let BreakGlassBody { comment, nonce, kid, signature } = request.body;
    let decision = DecisionRequest {
        decision: DecisionKind::BreakGlass,
        role: None,
        comment,
        nonce: Some(nonce),
        kid,
        signature: Some(signature),
    };
    let decided = governance::decide(&app, &http, id.into_inner(), decision).await?;
    Ok(web::Json(ApprovalBody::from(&decided)))
}

/// Review a break-glass
///
/// Records the review of an approval without a quorum, by a decider who did not sign it, or an auditor.
#[utoipa::path(post, path = "/api/v1/governance/approvals/{id}/review", tag = "governance",
    operation_id = "review_break_glass", request_body = ReviewBody, params(("id" = String, Path)),
    responses((status = 200, description = "The approval", body = ApprovalBody), WriteErrors<Agent>, NotFound<Agent>,
        Gone<Agent>))]
pub async fn review(
    request: Sent<Status, ReviewBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ApprovalBody>, HttpError> {
    act(&app, &http, id, ApprovalAct::Review(request.body.comment)).await
}
