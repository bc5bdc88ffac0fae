//! API keys: create, list, get, edit, revoke, rotate. Scope `admin`.

use std::ops::ControlFlow;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::PageParams;
use muster_core::{Error, Kind, Millis};
use muster_identity::keys::{
    DEFAULT_GRACE_SECONDS, KeyIssuer, KeyPatch, KeyRecord, LimitOverride, NewKey, PlanA, PlanB, Role, Scope,
};
use muster_limits::Estimate;
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::chat::payer;
use crate::envelope::{self, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, Gone, NotFound, ReadErrors, VersionErrors, WriteErrors};
use crate::governance;
use crate::guard::{Admin, Guarded, Metered, Priced, Queried, Sent, caller_of};
use crate::parameters::{self, PageQuery, time};

/// A new API key.
#[derive(Debug, Request)]
#[request(example = { "name": "dashboard", "scopes": ["chat"] })]
pub struct NewKeyBody {
    /// 1 to 100 characters.
    pub name: String,
    /// Owner of the key; by default the owner of the creating key.
    pub owner: Option<String>,
    /// Plan of interface A: `free` (default), `starter`, `pro` or `enterprise`.
    #[request(schema = String)]
    pub plan_a: Option<PlanA>,
    /// Plan of interface B: `free` (default), `pro` or `enterprise`.
    #[request(schema = String)]
    pub plan_b: Option<PlanB>,
    /// Scopes: at least one of `agents`, `chat`, `memory`, `engines`, `admin`, `medical`, `metrics`. A scope that
    /// the creator lacks is rejected.
    #[request(schema = Vec<String>)]
    pub scopes: Vec<Scope>,
    /// Roles, each one of `super_admin`, `auditor`, `security`, `operations`.
    #[request(schema = Vec<String>)]
    pub roles: Option<Vec<Role>>,
    /// Limits that replace those of the plans.
    #[request(schema = Object)]
    pub limits: Option<LimitOverride>,
    /// Budget for a calendar month, in USD.
    #[request(range = 0.0..=1e12)]
    pub budget_usd: Option<f64>,
    /// Time at which the key expires, RFC 3339.
    #[request(with = time, schema = String)]
    pub expires_at: Option<Millis>,
    /// Identifier of the team that the key belongs to.
    pub team: Option<String>,
    /// The models that the key may use: names of models, aliases or families, `provider/model`, or `provider/*`. By default
    /// all. A team's list applies too.
    #[request(default)]
    pub models: Vec<String>,
    /// Time for which answers to identical requests are cached, in seconds; 0 is off. By default what the team
    /// has, else off.
    #[request(range = 0..=2_592_000)]
    pub cache_seconds: Option<u64>,
}

/// Changes of an API key. Fields that are left out keep their values; null removes a limit, a budget, an expiry, a team or a
/// cache setting.
#[derive(Debug, Request)]
#[request(into = KeyPatch, example = { "budget_usd": 20.0, "models": ["fast"] })]
pub struct KeyPatchBody {
    /// 1 to 100 characters.
    name: Option<String>,
    owner: Option<String>,
    #[request(schema = String)]
    plan_a: Option<PlanA>,
    #[request(schema = String)]
    plan_b: Option<PlanB>,
    /// Replaces the present scopes; at least one.
    #[request(schema = Vec<String>)]
    scopes: Option<Vec<Scope>>,
    /// Replaces the present roles.
    #[request(schema = Vec<String>)]
    roles: Option<Vec<Role>>,
    /// Replaces all limits of the key's own.
    #[request(schema = Object)]
    limits: Option<Option<LimitOverride>>,
    #[request(range = 0.0..=1e12)]
    budget_usd: Option<Option<f64>>,
    #[request(with = time, schema = String)]
    expires_at: Option<Option<Millis>>,
    team: Option<Option<String>>,
    /// Replaces the present models; an empty list allows all.
    models: Option<Vec<String>>,
    #[request(range = 0..=2_592_000)]
    cache_seconds: Option<Option<u64>>,
}

/// An API key without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyBody {
    pub id: String,
    pub name: String,
    pub owner: String,
    /// Beginning of the key, to identify it.
    pub prefix: String,
    #[schema(value_type = String)]
    pub plan_a: PlanA,
    #[schema(value_type = String)]
    pub plan_b: PlanB,
    #[schema(value_type = Vec<String>)]
    pub scopes: Vec<Scope>,
    #[schema(value_type = Vec<String>)]
    pub roles: Vec<Role>,
    #[schema(value_type = Option<Object>)]
    pub limits: Option<LimitOverride>,
    pub budget_usd: Option<f64>,
    pub team: Option<String>,
    /// The models that the key may use; empty means all that its team may.
    pub models: Vec<String>,
    pub cache_seconds: Option<u64>,
    /// Version of the record, for `If-Match`; also the `ETag`.
    pub version: u64,
    pub created_at: String,
    pub expires_at: Option<String>,
    pub last_used_at: Option<String>,
    pub revoked_at: Option<String>,
    /// Time until which the secret before the last rotation is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_secret_until: Option<String>,
}

impl From<&KeyRecord> for KeyBody {
    fn from(record: &KeyRecord) -> Self {
        Self {
            id: record.id.clone(),
            name: record.name.clone(),
            owner: record.owner.clone(),
            prefix: format!("mst_{}", record.lookup),
            plan_a: record.plan_a,
            plan_b: record.plan_b,
            scopes: record.scopes.clone(),
            roles: record.roles.clone(),
            limits: record.limits.clone(),
            budget_usd: record.budget_usd,
            team: record.team.clone(),
            models: record.models.clone(),
            cache_seconds: record.cache_seconds,
            version: record.version,
            created_at: record.created_at.rfc3339(),
            expires_at: record.expires_at.map(Millis::rfc3339),
            last_used_at: record.last_used_at.map(Millis::rfc3339),
            revoked_at: record.revoked_at.map(Millis::rfc3339),
            old_secret_until: record.old_secret_until().map(Millis::rfc3339),
        }
    }
}

/// The parameters of a rotation.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "grace_seconds": 60 })]
pub struct RotateBody {
    /// Time for which the old secret is still accepted, in seconds; one day by default.
    #[request(range = 0..=LONGEST_GRACE, default = DEFAULT_GRACE_SECONDS)]
    pub grace_seconds: u64,
}

const LONGEST_GRACE: u64 = 30 * 24 * 3600;

impl Priced for RotateBody {
    fn estimate(&self, _: &App) -> Estimate {
        Estimate::default()
    }
}

/// A new key, or an existing key with a new secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedKey {
    #[serde(flatten)]
    pub record: KeyBody,
    /// The complete key. It is returned once and not stored.
    pub key: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct KeyList {
    pub keys: Vec<KeyBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl Priced for NewKeyBody {
    fn estimate(&self, _: &App) -> Estimate {
        Estimate::default()
    }
}

/// Create an API key
///
/// Creates an API key. It cannot have rights that the caller lacks. The secret is in this response only.
/// `Idempotency-Key` is honoured until the server restarts, as the response with its secret is not stored. A key with the
/// scope `admin` or any role needs an approval (`key.grant`).
#[utoipa::path(post, path = "/api/v1/keys", tag = "keys", operation_id = "create_key", request_body = NewKeyBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new key with its secret", body = CreatedKey), WriteErrors<Agent>, Gone<Agent>))]
pub async fn create(
    request: Metered<Admin, NewKeyBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { caller, body, sent, .. } = request;
    let maker = caller.key;
    let idempotency = parameters::idempotency(&http, &maker.id, &sent)?;
    check_owner(&app, &maker, body.owner.as_deref())?;
    let new = NewKey {
        name: body.name,
        owner: body.owner.unwrap_or_else(|| maker.owner.clone()),
        plan_a: body.plan_a.unwrap_or_default(),
        plan_b: body.plan_b.unwrap_or_default(),
        scopes: body.scopes,
        roles: body.roles.unwrap_or_default(),
        limits: body.limits,
        budget_usd: body.budget_usd,
        expires_at: body.expires_at,
        team: body.team,
        models: body.models,
        cache_seconds: body.cache_seconds,
    };
    let service = app.keys.clone();
    let run =
        move |permit| async move { service.create_permitted(new, KeyIssuer::Key(maker), idempotency, permit).await };
    let made = match governance::guarded(&app, &http, &sent, run).await? {
        ControlFlow::Break(opened) => return Ok(opened),
        ControlFlow::Continue(made) => made,
    };
    let mut response = HttpResponse::build(StatusCode::CREATED);
    IdempotencyReplay::from(made.replayed).write_to(&mut response);
    Ok(response.json(CreatedKey { record: KeyBody::from(&*made.record), key: made.key.reveal() }))
}

/// Checks that a key does not make others pay: one whose owner has a budget makes and edits keys of this owner only.
fn check_owner(app: &App, maker: &KeyRecord, owner: Option<&str>) -> Result<(), HttpError> {
    let owned = owner.is_none_or(|owner| owner == maker.owner) || maker.roles.contains(&Role::SuperAdmin);
    if owned || payer::owner_budget(&app.keys, &app.live().config.budget, &maker.owner).is_none() {
        return Ok(());
    }
    let message = format!(
        "the owner {:?} has a budget, so this key works on keys of this owner only: leave `owner` out, or use a key with \
         the role `super_admin`",
        maker.owner
    );
    Err(HttpError(Error::field(Kind::Forbidden, &["body", "owner"], message, serde_json::Value::Null)))
}

/// List API keys
///
/// Returns a page of the API keys without their secrets, newest first.
#[utoipa::path(get, path = "/api/v1/keys", tag = "keys", operation_id = "list_keys", params(PageQuery),
    responses((status = 200, description = "A page of keys", body = KeyList), ReadErrors<Agent>))]
pub async fn list(request: Queried<Admin, PageQuery>, app: web::Data<App>) -> Result<web::Json<KeyList>, HttpError> {
    let PageParams { limit, after } = request.query.into();
    let page = app.keys.list(limit, after).await?;
    let keys = page.keys.iter().map(|record| KeyBody::from(&**record)).collect();
    Ok(web::Json(KeyList { keys, next_cursor: page.next }))
}

/// Get an API key
///
/// Returns one API key without its secret.
#[utoipa::path(get, path = "/api/v1/keys/{id}", tag = "keys", operation_id = "get_key", params(("id" = String, Path)),
    responses((status = 200, description = "The key", body = KeyBody), CallErrors<Agent>, NotFound<Agent>))]
pub async fn get(
    _guard: Guarded<Admin>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let id = id.into_inner();
    let found = app.keys.get(id.clone()).await?;
    let record = found.ok_or_else(|| Error::new(Kind::NotFound, format!("no key has the id {id}")))?;
    Ok(with_etag(&record))
}

fn with_etag(record: &KeyRecord) -> HttpResponse {
    HttpResponse::Ok().insert_header((ETAG, envelope::etag(record.version))).json(KeyBody::from(record))
}

/// Edit an API key
///
/// Changes an API key. The next request is checked against the new record: its rights, limits, budgets and models. Live
/// connections end if the key loses a scope or a role.
///
/// The caller needs the rights of the key as it is and everything that the changed key would grant. A `super_admin` may also
/// edit keys with other rights, and set any budget, limit, model, team, owner and expiry. Nobody adds a scope, a role or a plan
/// that they lack.
#[utoipa::path(patch, path = "/api/v1/keys/{id}", tag = "keys", operation_id = "edit_key", request_body = KeyPatchBody,
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    responses((status = 200, description = "The changed key", body = KeyBody), WriteErrors<Agent>, VersionErrors<Agent>,
        NotFound<Agent>, Gone<Agent>))]
pub async fn edit(
    request: Sent<Admin, KeyPatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (caller, if_match) = (caller_of(&http)?.key, parameters::if_match(&http)?);
    check_owner(&app, &caller, request.body.owner.as_deref())?;
    let (service, id, patch) = (app.keys.clone(), id.into_inner(), request.body.into());
    let run =
        move |permit| async move { service.edit_permitted(id, patch, KeyIssuer::Key(caller), if_match, permit).await };
    match governance::guarded(&app, &http, &request.sent, run).await? {
        ControlFlow::Break(opened) => Ok(opened),
        ControlFlow::Continue(record) => Ok(with_etag(&record)),
    }
}

/// Revoke an API key
///
/// Revokes an API key at once and permanently. The record stays readable, with `revoked_at`. A key whose scopes, roles
/// or plans the caller lacks can only be revoked by a `super_admin`.
#[utoipa::path(delete, path = "/api/v1/keys/{id}", tag = "keys", operation_id = "revoke_key", params(("id" = String, Path)),
    responses((status = 200, description = "The revoked key", body = KeyBody), CallErrors<Agent>, NotFound<Agent>))]
pub async fn revoke(
    _guard: Guarded<Admin>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<KeyBody>, HttpError> {
    let issuer = KeyIssuer::Key(caller_of(&http)?.key);
    let record = app.keys.revoke(id.into_inner(), issuer).await?;
    Ok(web::Json(KeyBody::from(&*record)))
}

/// Rotate an API key
///
/// Replaces the secret of an API key. The old secret stays valid for a grace period. The key must not have rights that
/// the caller lacks, as the caller receives its secret.
#[utoipa::path(post, path = "/api/v1/keys/{id}/rotate", tag = "keys", operation_id = "rotate_key", params(("id" = String, Path)),
    request_body = RotateBody,
    responses((status = 200, description = "The key with its new secret", body = CreatedKey), WriteErrors<Agent>,
        NotFound<Agent>, Gone<Agent>))]
pub async fn rotate(
    request: Metered<Admin, RotateBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { caller, body, sent, .. } = request;
    let grace = Duration::from_secs(body.grace_seconds);
    let (service, id) = (app.keys.clone(), id.into_inner());
    let run =
        move |permit| async move { service.rotate_permitted(id, KeyIssuer::Key(caller.key), grace, permit).await };
    match governance::guarded(&app, &http, &sent, run).await? {
        ControlFlow::Break(opened) => Ok(opened),
        ControlFlow::Continue(rotated) => {
            Ok(HttpResponse::Ok()
                .json(CreatedKey { record: KeyBody::from(&*rotated.record), key: rotated.key.reveal() }))
        }
    }
}
