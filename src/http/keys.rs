//! API keys: made, listed, ended. Scope `admin`.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::PageAsk;
use muster_core::{Error, Kind, Millis};
use muster_identity::keys::{
    DEFAULT_GRACE_SECONDS, KeyRecord, LimitOverride, MadeBy, NewKey, PlanA, PlanB, Role, Scope,
};
use muster_limits::Estimate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::ask;
use crate::body::{Fields, FromJson};
use crate::envelope::Given;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, NotFound, ReadErrors, WriteErrors};
use crate::guard::{Admin, Guarded, Metered, Priced};

/// What a new key is to be.
#[derive(Debug, Default, ToSchema)]
#[allow(dead_code)]
pub struct NewKeyBody {
    /// 1 to 100 characters.
    pub name: String,
    /// Whose it is; by default the maker's owner.
    pub owner: Option<String>,
    /// `free` (default), `starter`, `pro`, `enterprise`.
    #[schema(value_type = Option<String>)]
    pub plan_a: Option<PlanA>,
    /// `free` (default), `pro`, `enterprise`.
    #[schema(value_type = Option<String>)]
    pub plan_b: Option<PlanB>,
    /// Of `agents`, `chat`, `memory`, `engines`, `admin`, `medical`; at least one, none that the maker lacks.
    #[schema(value_type = Vec<String>)]
    pub scopes: Vec<Scope>,
    /// Of `super_admin`, `auditor`, `security`, `operations`.
    #[schema(value_type = Option<Vec<String>>)]
    pub roles: Option<Vec<Role>>,
    /// In place of the plans' limits.
    #[schema(value_type = Option<Object>)]
    pub limits: Option<LimitOverride>,
    /// For a calendar month, in USD.
    pub budget_usd: Option<f64>,
    /// RFC 3339.
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<Millis>,
}

impl FromJson for NewKeyBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let name = fields.string("name");
        let scopes = fields.choice("scopes");
        let expires_at = fields.string("expires_at").and_then(|text| {
            let at = Millis::parse_rfc3339(&text);
            if at.is_none() {
                fields.fail("expires_at", "must be an RFC 3339 time, such as 2027-01-01T00:00:00Z");
            }
            at
        });
        Self {
            name: fields.require("name", name).unwrap_or_default(),
            owner: fields.string("owner"),
            plan_a: fields.choice("plan_a"),
            plan_b: fields.choice("plan_b"),
            scopes: fields.require("scopes", scopes).unwrap_or_default(),
            roles: fields.choice("roles"),
            limits: fields.choice("limits"),
            budget_usd: fields.number("budget_usd", 0.0..=1e12),
            expires_at,
        }
    }
}

/// A key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyBody {
    pub id: String,
    pub name: String,
    pub owner: String,
    /// How its text begins, to tell keys apart.
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
    pub created_at: String,
    pub expires_at: Option<String>,
    pub last_used_at: Option<String>,
    pub revoked_at: Option<String>,
    /// Until when the secret before the latest rotation is taken.
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
            created_at: record.created_at.rfc3339(),
            expires_at: record.expires_at.map(Millis::rfc3339),
            last_used_at: record.last_used_at.map(Millis::rfc3339),
            revoked_at: record.revoked_at.map(Millis::rfc3339),
            old_secret_until: record.old_secret_until().map(Millis::rfc3339),
        }
    }
}

/// How a key is to be rotated.
#[derive(Debug, ToSchema)]
pub struct RotateBody {
    /// How long the old secret is taken yet: 0 to 2,592,000 (30 days), default 86,400 (a day).
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 2_592_000, default = 86_400)]
    pub grace_seconds: u64,
}

const LONGEST_GRACE: i64 = 30 * 24 * 3600;

impl FromJson for RotateBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        let grace = fields.integer("grace_seconds", 0..=LONGEST_GRACE).and_then(|seconds| u64::try_from(seconds).ok());
        Self { grace_seconds: grace.unwrap_or(DEFAULT_GRACE_SECONDS) }
    }
}

impl Priced for RotateBody {
    fn estimate(&self, _: &App) -> Estimate {
        Estimate::default()
    }
}

/// A new key, or an old one with a new secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedKey {
    #[serde(flatten)]
    pub record: KeyBody,
    /// The whole key. It is shown this once and stored nowhere.
    pub key: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct KeyList {
    pub keys: Vec<KeyBody>,
    /// For the next page; null at the end.
    pub next_cursor: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
pub struct ListQuery {
    /// 1 to 200, default 50.
    limit: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl Priced for NewKeyBody {
    fn estimate(&self, _: &App) -> Estimate {
        Estimate::default()
    }
}

/// Create an API key
///
/// Creates an API key. It cannot have rights that the caller lacks. The secret is in this response only.
/// `Idempotency-Key` is honoured until the server restarts, as the response with its secret is not stored.
#[utoipa::path(post, path = "/api/v1/keys", tag = "keys", operation_id = "create_key", request_body = NewKeyBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new key with its secret", body = CreatedKey), WriteErrors<Agent>))]
pub async fn create(
    request: Metered<Admin, NewKeyBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { caller, body, sent, .. } = request;
    let maker = caller.key;
    let named = ask::idempotency(&http, &maker.id, &sent)?;
    let idempotency = named.map(|named| (format!("{}/{}", maker.id, named.key), named.digest));
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
    };
    let made = app.keys.create(new, MadeBy::Key(maker), idempotency).await?;
    let mut response = HttpResponse::build(StatusCode::CREATED);
    Given::again_if(made.replayed).tell(&mut response);
    Ok(response.json(CreatedKey { record: KeyBody::from(&*made.record), key: made.key.reveal() }))
}

/// List API keys
///
/// Returns a page of the API keys without their secrets, newest first.
#[utoipa::path(get, path = "/api/v1/keys", tag = "keys", operation_id = "list_keys", params(ListQuery),
    responses((status = 200, description = "A page of keys", body = KeyList), ReadErrors<Agent>))]
pub async fn list(
    _guard: Guarded<Admin>,
    query: web::Query<ListQuery>,
    app: web::Data<App>,
) -> Result<web::Json<KeyList>, HttpError> {
    let ListQuery { limit, cursor } = query.into_inner();
    let PageAsk { limit, after } = ask::page(limit.as_deref(), cursor)?;
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
) -> Result<web::Json<KeyBody>, HttpError> {
    let id = id.into_inner();
    let found = app.keys.get(id.clone()).await?;
    let record = found.ok_or_else(|| Error::new(Kind::NotFound, format!("no key has the id {id}")))?;
    Ok(web::Json(KeyBody::from(&*record)))
}

/// Revoke an API key
///
/// Revokes an API key at once and permanently. The record stays readable, with `revoked_at`.
#[utoipa::path(delete, path = "/api/v1/keys/{id}", tag = "keys", operation_id = "revoke_key", params(("id" = String, Path)),
    responses((status = 200, description = "The revoked key", body = KeyBody), CallErrors<Agent>, NotFound<Agent>))]
pub async fn revoke(
    _guard: Guarded<Admin>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<web::Json<KeyBody>, HttpError> {
    let record = app.keys.revoke(id.into_inner()).await?;
    Ok(web::Json(KeyBody::from(&*record)))
}

/// Rotate an API key
///
/// Replaces the secret of an API key. The old secret stays valid for a grace period. The key must not have rights that
/// the caller lacks, as the caller receives its secret.
#[utoipa::path(post, path = "/api/v1/keys/{id}/rotate", tag = "keys", operation_id = "rotate_key", params(("id" = String, Path)),
    request_body = RotateBody,
    responses((status = 200, description = "The key with its new secret", body = CreatedKey), WriteErrors<Agent>,
        NotFound<Agent>))]
pub async fn rotate(
    request: Metered<Admin, RotateBody>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<web::Json<CreatedKey>, HttpError> {
    let Metered { caller, body, .. } = request;
    let grace = Duration::from_secs(body.grace_seconds);
    let rotated = app.keys.rotate(id.into_inner(), MadeBy::Key(caller.key), grace).await?;
    Ok(web::Json(CreatedKey { record: KeyBody::from(&*rotated.record), key: rotated.key.reveal() }))
}
