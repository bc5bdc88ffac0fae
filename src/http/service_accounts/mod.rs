//! Administration of service accounts: the principals of dashboards and integrations.

mod body;

use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};

pub use body::{IssuedSecretBody, ServiceAccountBody};
use body::{NewServiceAccountBody, RotateSecretBody, ServiceAccountList, ServiceAccountPatchBody};

use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay, MessageBody};
use crate::error::HttpError;
use crate::error::sets::{BodyErrors, CallErrors, Disaster, NotFound, ReadErrors, VersionErrors, WriteErrors};
use crate::guard::{Guarded, Queried, Sent, UsersRead, UsersWrite, by_of};
use crate::parameters::{self, PageQuery};
use crate::route::operations;

operations! {
    list,
    create,
    get,
    patch,
    rotate,
    delete,
}

/// List service accounts
///
/// Returns a page of service accounts, newest first.
#[utoipa::path(get, path = "/api/v1/service-accounts", tag = "users", operation_id = "list_service_accounts",
    params(PageQuery),
    responses((status = 200, description = "A page of service accounts", body = Data<ServiceAccountList>),
        ReadErrors<Disaster>))]
async fn list(request: Queried<UsersRead, PageQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let page = app.identity.service_accounts(request.query.into()).await?;
    Ok(envelope::list("service_accounts", &page.map(|account| ServiceAccountBody::from(&*account))))
}

/// Create a service account
///
/// Creates the account of a program, such as a dashboard or an integration, with a role and an expiry. Its secret is
/// returned once, and exchanged for session tokens at `POST /api/v1/auth/service/login`. Roles that decide as one of two
/// people (`approver`, `incident_commander`) or administer accounts are for people only.
#[utoipa::path(post, path = "/api/v1/service-accounts", tag = "users", operation_id = "create_service_account",
    request_body = NewServiceAccountBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new account with its secret", body = Data<IssuedSecretBody>),
        WriteErrors<Disaster>))]
async fn create(
    request: Sent<UsersWrite, NewServiceAccountBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = parameters::idempotency(&http, by.id(), &request.sent)?;
    let issued = app.identity.create_service_account(by, request.body.into(), idempotency).await?;
    let replay = IdempotencyReplay::from(issued.replayed);
    Ok(secret(envelope::created(IssuedSecretBody::from(issued), replay)))
}

/// Get a service account
///
/// Returns one service account, with its version as `ETag`.
#[utoipa::path(get, path = "/api/v1/service-accounts/{id}", tag = "users", operation_id = "get_service_account",
    params(("id" = String, Path)),
    responses((status = 200, description = "The account", body = Data<ServiceAccountBody>), CallErrors<Disaster>,
        NotFound<Disaster>))]
async fn get(
    _guard: Guarded<UsersRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let missing = || Error::new(Kind::NotFound, format!("there is no service account with the id {id}"));
    let account = app.identity.service_account(&id).await?.ok_or_else(missing)?;
    Ok(envelope::record(account.version, ServiceAccountBody::from(&*account)))
}

/// Update a service account
///
/// Changes the role, the expiry or the state of a service account. A new role takes effect at once, also for open
/// sessions and live connections. A new expiry, and disabling the account, end its sessions.
#[utoipa::path(patch, path = "/api/v1/service-accounts/{id}", tag = "users", operation_id = "patch_service_account",
    request_body = ServiceAccountPatchBody,
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    responses((status = 200, description = "The changed account", body = Data<ServiceAccountBody>),
        WriteErrors<Disaster>, VersionErrors<Disaster>, NotFound<Disaster>))]
async fn patch(
    request: Sent<UsersWrite, ServiceAccountPatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, parameters::if_match(&http)?);
    let account = app.identity.patch_service_account(by, id.into_inner(), request.body.into(), if_match).await?;
    Ok(envelope::record(account.version, ServiceAccountBody::from(&*account)))
}

/// Rotate the secret of a service account
///
/// Returns a new secret, once. The present one is accepted for `grace_seconds` more. With 0, for a secret that leaked,
/// it is not accepted any more, and the sessions of the account and their live connections end.
#[utoipa::path(post, path = "/api/v1/service-accounts/{id}/rotate", tag = "users",
    operation_id = "rotate_service_account", request_body = RotateSecretBody, params(("id" = String, Path)),
    responses((status = 200, description = "The account with its new secret", body = Data<IssuedSecretBody>),
        BodyErrors<Disaster>, NotFound<Disaster>))]
async fn rotate(
    request: Sent<UsersWrite, RotateSecretBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let grace = Duration::from_secs(request.body.grace_seconds);
    let issued = app.identity.rotate_service_account(by_of(&http)?, id.into_inner(), grace).await?;
    Ok(secret(envelope::data(IssuedSecretBody::from(issued))))
}

/// Revoke a service account
///
/// Deletes a service account. When this returns, its secret is not accepted any more, and its sessions and their live
/// connections have ended.
#[utoipa::path(delete, path = "/api/v1/service-accounts/{id}", tag = "users", operation_id = "revoke_service_account",
    params(("id" = String, Path)),
    responses((status = 200, description = "The account is revoked", body = MessageBody), CallErrors<Disaster>,
        NotFound<Disaster>))]
async fn delete(
    _guard: Guarded<UsersWrite>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.identity.delete_service_account(by_of(&http)?, id.into_inner()).await?;
    Ok(envelope::message("service account revoked: its sessions have ended"))
}

/// Forbids caches to store a response that contains a secret.
fn secret(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
