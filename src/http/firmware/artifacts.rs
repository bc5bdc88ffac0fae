//! Artifacts: announced, verified, revoked.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::precondition::IfMatch;

use super::body::{NewArtifactBody, RevokeArtifactBody, VerifyArtifactBody};
use super::describe::{ArtifactBody, ArtifactList};
use crate::app::App;
use crate::ask::{self, PageQuery};
use crate::envelope::{self, Data, Given};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{FirmwareRead, FirmwareWrite, Guarded, Queried, Sent, by_of};

/// The version that the caller has read, where it says so.
pub(super) fn maybe_match(http: &HttpRequest) -> Result<IfMatch, HttpError> {
    if http.headers().contains_key("If-Match") { Ok(ask::if_match(http)?) } else { Ok(IfMatch::Any) }
}

/// Artifacts, newest first. Needs `firmware:read`.
#[utoipa::path(get, path = "/api/v1/firmware/artifacts", tag = "firmware", operation_id = "list_firmware_artifacts",
    params(PageQuery),
    security(("token" = [])),
    responses((status = 200, body = Data<ArtifactList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn list(request: Queried<FirmwareRead, PageQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    Ok(envelope::list("artifacts", &app.firmware.artifacts(request.query.into()).await?))
}

/// Announces an image, which is then `uploading`: its content follows by `PUT …/content`. Needs `firmware:write`.
#[utoipa::path(post, path = "/api/v1/firmware/artifacts", tag = "firmware", operation_id = "create_firmware_artifact",
    request_body = NewArtifactBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    security(("token" = [])),
    responses((status = 201, body = Data<ArtifactBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn create(
    request: Sent<FirmwareWrite, NewArtifactBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = ask::idempotency(&http, by.id(), &request.sent)?;
    let made = app.firmware.create_artifact(request.body.into(), by, named).await?;
    Ok(envelope::created(made.data, Given::again_if(made.replayed)))
}

/// One artifact. Needs `firmware:read`.
#[utoipa::path(get, path = "/api/v1/firmware/artifacts/{id}", tag = "firmware", operation_id = "get_firmware_artifact",
    params(("id" = String, Path)),
    security(("token" = [])),
    responses((status = 200, body = Data<ArtifactBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster)))]
pub async fn get(
    _guard: Guarded<FirmwareRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let artifact = app.firmware.artifact(&id).await?;
    Ok(envelope::record(artifact.record_version, artifact))
}

/// Verifies an uploaded image: signature by a trusted key, manifest equal to the record, content of that size and
/// SHA-256. The artifact is then `ready`, or `rejected` with the reason: `image_not_authentic`, `signing_key_revoked`,
/// `manifest_expired`, `image_format`. Needs `firmware:write`.
#[utoipa::path(post, path = "/api/v1/firmware/artifacts/{id}/verify", tag = "firmware", operation_id = "verify_firmware_artifact",
    request_body = VerifyArtifactBody,
    params(("id" = String, Path)),
    security(("token" = [])),
    responses((status = 200, body = Data<ArtifactBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn verify(
    request: Sent<FirmwareWrite, VerifyArtifactBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let verified = app.firmware.verify(id.into_inner(), request.body.manifest_jws, by_of(&http)?).await?;
    Ok(envelope::record(verified.record_version, verified))
}

/// Revokes an artifact for good: its jobs are aborted, and it is served no more. Needs `firmware:write`.
#[utoipa::path(post, path = "/api/v1/firmware/artifacts/{id}/revoke", tag = "firmware", operation_id = "revoke_firmware_artifact",
    request_body = RevokeArtifactBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; left out: whatever is there")),
    security(("token" = [])),
    responses((status = 200, body = Data<ArtifactBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn revoke(
    request: Sent<FirmwareWrite, RevokeArtifactBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, at) = (by_of(&http)?, maybe_match(&http)?);
    let revoked = app.firmware.revoke_artifact(id.into_inner(), request.body.reason, by, at).await?;
    Ok(envelope::record(revoked.record_version, revoked))
}
