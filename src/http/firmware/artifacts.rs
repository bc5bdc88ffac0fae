//! Firmware artifacts: create, list, get, verify, revoke.

use actix_web::{HttpRequest, HttpResponse, web};

use super::body::{NewArtifactBody, RevokeArtifactBody, VerifyArtifactBody};
use super::describe::{ArtifactBody, ArtifactList};
use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{Disaster, NotFound, ReadErrors, VersionFailed, WriteErrors};
use crate::guard::{FirmwareRead, FirmwareWrite, Guarded, Queried, Sent, by_of};
use crate::parameters::{self, PageQuery, optional_if_match};

/// List firmware artifacts
///
/// Returns a page of the artifacts, newest first.
#[utoipa::path(get, path = "/api/v1/firmware/artifacts", tag = "firmware", operation_id = "list_firmware_artifacts",
    params(PageQuery),
    responses((status = 200, description = "A page of artifacts", body = Data<ArtifactList>), ReadErrors<Disaster>))]
pub async fn list(request: Queried<FirmwareRead, PageQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    Ok(envelope::list("artifacts", &app.firmware.artifacts(request.query.into()).await?))
}

/// Create a firmware artifact
///
/// Creates the record of an image from its manifest. Its state is `uploading` until the content is uploaded by `PUT
/// /api/v1/firmware/artifacts/{id}/content`.
#[utoipa::path(post, path = "/api/v1/firmware/artifacts", tag = "firmware", operation_id = "create_firmware_artifact",
    request_body = NewArtifactBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new artifact", body = Data<ArtifactBody>), WriteErrors<Disaster>))]
pub async fn create(
    request: Sent<FirmwareWrite, NewArtifactBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let made = app.firmware.create_artifact(request.body.into(), by, named).await?;
    Ok(envelope::created(made.data, IdempotencyReplay::from(made.replayed)))
}

/// Get a firmware artifact
///
/// Returns one artifact with its state.
#[utoipa::path(get, path = "/api/v1/firmware/artifacts/{id}", tag = "firmware", operation_id = "get_firmware_artifact",
    params(("id" = String, Path)),
    responses((status = 200, description = "The artifact", body = Data<ArtifactBody>), ReadErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn get(
    _guard: Guarded<FirmwareRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let artifact = app.firmware.artifact(&id).await?;
    Ok(envelope::record(artifact.record_version, artifact))
}

/// Verify a firmware artifact
///
/// Verifies an uploaded image: the signature by a trusted key, the manifest against the record, and the size and
/// SHA-256 of the content. The artifact is then `ready`, or `rejected` if the content is not what the manifest describes
/// (`image_not_authentic`, `manifest_expired`). If the manifest is at fault (409 with `image_not_authentic`,
/// `signing_key_revoked` or `image_format`), for example because its `kid` is not trusted, the artifact stays uploaded:
/// sign the manifest again, or add the key, and verify once more.
#[utoipa::path(post, path = "/api/v1/firmware/artifacts/{id}/verify", tag = "firmware",
    operation_id = "verify_firmware_artifact", request_body = VerifyArtifactBody, params(("id" = String, Path)),
    responses((status = 200, description = "The artifact after verification", body = Data<ArtifactBody>),
        WriteErrors<Disaster>, NotFound<Disaster>))]
pub async fn verify(
    request: Sent<FirmwareWrite, VerifyArtifactBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let verified = app.firmware.verify(id.into_inner(), request.body.manifest_jws, by_of(&http)?).await?;
    Ok(envelope::record(verified.record_version, verified))
}

/// Revoke a firmware artifact
///
/// Revokes an artifact permanently: its jobs are aborted, and its content is no longer served.
#[utoipa::path(post, path = "/api/v1/firmware/artifacts/{id}/revoke", tag = "firmware",
    operation_id = "revoke_firmware_artifact", request_body = RevokeArtifactBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; any version by default")),
    responses((status = 200, description = "The revoked artifact", body = Data<ArtifactBody>), WriteErrors<Disaster>,
        NotFound<Disaster>, VersionFailed<Disaster>))]
pub async fn revoke(
    request: Sent<FirmwareWrite, RevokeArtifactBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, at) = (by_of(&http)?, optional_if_match(&http)?);
    let revoked = app.firmware.revoke_artifact(id.into_inner(), request.body.note, by, at).await?;
    Ok(envelope::record(revoked.record_version, revoked))
}
