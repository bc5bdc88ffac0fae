//! Keys that may sign firmware.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::Page;

use super::body::NewSigningKeyBody;
use super::describe::{SigningKeyBody, SigningKeyList};
use crate::app::App;
use crate::envelope::{self, Data, Given};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{FirmwareRead, FirmwareWrite, Guarded, Sent, by_of};

/// Every key, also revoked ones. Needs `firmware:read`.
#[utoipa::path(get, path = "/api/v1/firmware/keys", tag = "firmware", operation_id = "list_firmware_keys",
    security(("token" = [])),
    responses((status = 200, body = Data<SigningKeyList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn list(_guard: Guarded<FirmwareRead>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let keys = app.firmware.keys().await?;
    Ok(envelope::list("keys", &Page { items: keys, next: None }))
}

/// Trusts a key: images whose manifests it signs can be verified. Needs `firmware:write`.
#[utoipa::path(post, path = "/api/v1/firmware/keys", tag = "firmware", operation_id = "create_firmware_key",
    request_body = NewSigningKeyBody,
    security(("token" = [])),
    responses((status = 201, body = Data<SigningKeyBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn create(
    request: Sent<FirmwareWrite, NewSigningKeyBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let NewSigningKeyBody { name, public_key } = request.body;
    let key = app.firmware.add_key(public_key, name, by_of(&http)?).await?;
    Ok(envelope::created(key, Given::First))
}

/// Revokes a key for good: nothing that it has signed is rolled out any more, and running jobs of it are aborted. Needs
/// `firmware:write`.
#[utoipa::path(delete, path = "/api/v1/firmware/keys/{id}", tag = "firmware", operation_id = "revoke_firmware_key",
    params(("id" = String, Path, description = "Its `kid`")),
    security(("token" = [])),
    responses((status = 200, body = Data<SigningKeyBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster)))]
pub async fn revoke(
    _guard: Guarded<FirmwareWrite>,
    http: HttpRequest,
    kid: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    Ok(envelope::data(app.firmware.revoke_key(kid.into_inner(), by_of(&http)?).await?))
}
