//! Keys that may sign firmware.

use std::ops::ControlFlow;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::Page;

use super::body::NewSigningKeyBody;
use super::describe::{SigningKeyBody, SigningKeyList};
use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{Disaster, Gone, NotFound, ReadErrors, WriteErrors};
use crate::governance;
use crate::guard::{FirmwareRead, Guarded, Sent, TrustAnchorsWrite, by_of};

/// List firmware signing keys
///
/// Returns every trusted key, including revoked ones.
#[utoipa::path(get, path = "/api/v1/firmware/keys", tag = "firmware", operation_id = "list_firmware_keys",
    responses((status = 200, description = "The keys", body = Data<SigningKeyList>), ReadErrors<Disaster>))]
pub async fn list(_guard: Guarded<FirmwareRead>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let keys = app.firmware.keys().await?;
    Ok(envelope::list("keys", &Page { items: keys, next: None }))
}

/// Trust a firmware signing key
///
/// Adds a trusted public key. Images whose manifests it signs can be verified. This needs an approval (`trust.add`).
#[utoipa::path(post, path = "/api/v1/firmware/keys", tag = "firmware", operation_id = "create_firmware_key",
    request_body = NewSigningKeyBody,
    responses((status = 201, description = "The trusted key", body = Data<SigningKeyBody>), WriteErrors<Disaster>, Gone<Disaster>))]
pub async fn create(
    request: Sent<TrustAnchorsWrite, NewSigningKeyBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let NewSigningKeyBody { name, public_key } = request.body;
    let (service, by) = (app.firmware.clone(), by_of(&http)?);
    let run = move |permit| async move { service.add_key_permitted(public_key, name, by, permit).await };
    match governance::guarded(&app, &http, &request.sent, run).await? {
        ControlFlow::Break(opened) => Ok(opened),
        ControlFlow::Continue(key) => Ok(envelope::created(key, IdempotencyReplay::Original)),
    }
}

/// Revoke a firmware signing key
///
/// Revokes a key permanently: images that it signed are no longer rolled out, and running jobs with such images are
/// aborted.
#[utoipa::path(delete, path = "/api/v1/firmware/keys/{id}", tag = "firmware", operation_id = "revoke_firmware_key",
    params(("id" = String, Path, description = "Thumbprint (`kid`) of the key")),
    responses((status = 200, description = "The revoked key", body = Data<SigningKeyBody>), ReadErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn revoke(
    _guard: Guarded<TrustAnchorsWrite>,
    http: HttpRequest,
    kid: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    Ok(envelope::data(app.firmware.revoke_key(kid.into_inner(), by_of(&http)?).await?))
}
