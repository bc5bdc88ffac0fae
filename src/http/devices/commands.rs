//! Operations on a device: commands, quarantine, release, maintenance, rotation of credentials.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::precondition::IfMatch;
use muster_network::device::DeviceAction;
use serde_json::json;

use super::body::{DeviceNoteBody, Maintenance, MaintenanceBody, NewCommandBody, RotateBody};
use super::record::{CommandBody, CommandList, DeviceBody, KeyedBody};
use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{Disaster, NotFound, ReadErrors, WriteErrors};
use crate::guard::{DevicesCommand, DevicesRead, DevicesWrite, Queried, Sent, by_of};
use crate::parameters::{self, PageQuery};

/// Send a command to a device
///
/// Queues a command for a device. The device receives it by long polling or by the live feed (channel `devices:{id}`),
/// repeatedly if necessary, and acknowledges it. A quarantined or retired device receives no commands (409).
#[utoipa::path(post, path = "/api/v1/devices/{id}/commands", tag = "devices", operation_id = "command_device",
    request_body = NewCommandBody,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The queued command", body = Data<CommandBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn command(
    request: Sent<DevicesCommand, NewCommandBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = parameters::idempotency(&http, by.id(), &request.sent)?;
    let ordered = app.devices.command(id.into_inner(), request.body.into(), by, idempotency).await?;
    let replay = IdempotencyReplay::from(ordered.replayed);
    Ok(envelope::created(ordered.command, replay))
}

/// List the commands of a device
///
/// Returns the commands of a device, newest first. About 200 are kept.
#[utoipa::path(get, path = "/api/v1/devices/{id}/commands", tag = "devices", operation_id = "list_device_commands",
    params(("id" = String, Path), PageQuery),
    responses((status = 200, description = "A page of commands", body = Data<CommandList>), ReadErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn commands(
    request: Queried<DevicesRead, PageQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = app.devices.commands(&id, request.query.into()).await?;
    Ok(envelope::list("commands", &page))
}

async fn apply_action(
    action: DeviceAction,
    http: &HttpRequest,
    id: String,
    reason: Option<String>,
    app: &App,
) -> Result<HttpResponse, HttpError> {
    let device = app.devices.apply_action(id, action, reason, by_of(http)?, IfMatch::Any).await?;
    Ok(envelope::record(device.version, device))
}

/// Quarantine a device
///
/// Blocks the credentials of a device and rejects commands to it, until it is released.
#[utoipa::path(post, path = "/api/v1/devices/{id}/quarantine", tag = "devices", operation_id = "quarantine_device",
    request_body = DeviceNoteBody, params(("id" = String, Path)),
    responses((status = 200, description = "The changed device", body = Data<DeviceBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn quarantine(
    request: Sent<DevicesWrite, DeviceNoteBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    apply_action(DeviceAction::Quarantine, &http, id.into_inner(), Some(request.body.note), &app).await
}

/// Release a device from quarantine
///
/// Releases a device from quarantine. Its status is `provisioned` until its next heartbeat.
#[utoipa::path(post, path = "/api/v1/devices/{id}/release", tag = "devices", operation_id = "release_device",
    request_body = DeviceNoteBody, params(("id" = String, Path)),
    responses((status = 200, description = "The changed device", body = Data<DeviceBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn release(
    request: Sent<DevicesWrite, DeviceNoteBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    apply_action(DeviceAction::Release, &http, id.into_inner(), Some(request.body.note), &app).await
}

/// Begin or end maintenance of a device
///
/// Begins or ends maintenance, during which missing heartbeats are ignored. When it ends, the device is online or
/// offline by its last heartbeat. A quarantined device must be released first (409).
#[utoipa::path(post, path = "/api/v1/devices/{id}/maintenance", tag = "devices", operation_id = "maintain_device",
    request_body = MaintenanceBody, params(("id" = String, Path)),
    responses((status = 200, description = "The changed device", body = Data<DeviceBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn maintenance(
    request: Sent<DevicesWrite, MaintenanceBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let MaintenanceBody { action, note, .. } = request.body;
    let transition = match action.unwrap_or_default() {
        Maintenance::Begin => DeviceAction::BeginMaintenance,
        Maintenance::End => DeviceAction::EndMaintenance,
    };
    apply_action(transition, &http, id.into_inner(), note, &app).await
}

/// Retire a device, with a note
///
/// Retires a device permanently, as `DELETE /api/v1/devices/{id}` does: its credentials are destroyed and its commands
/// rejected. The record stays readable.
#[utoipa::path(post, path = "/api/v1/devices/{id}/retire", tag = "devices", operation_id = "retire_device_with_note",
    request_body = DeviceNoteBody, params(("id" = String, Path)),
    responses((status = 200, description = "The retired device", body = Data<DeviceBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn retire(
    request: Sent<DevicesWrite, DeviceNoteBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    apply_action(DeviceAction::Retire, &http, id.into_inner(), Some(request.body.note), &app).await
}

/// Replace a device's key
///
/// Replaces the key of a device. The old key stays valid for a grace period, during which both keys are accepted.
#[utoipa::path(post, path = "/api/v1/devices/{id}/rotate-credentials", tag = "devices",
    operation_id = "rotate_device_credentials", request_body = RotateBody, params(("id" = String, Path)),
    responses((status = 200, description = "The device and its new credentials", body = Data<KeyedBody>),
        WriteErrors<Disaster>, NotFound<Disaster>))]
pub async fn rotate(
    request: Sent<DevicesWrite, RotateBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let RotateBody { public_key, grace_s } = request.body;
    let grace = Duration::from_secs(grace_s.unwrap_or(24 * 3600).into());
    let rotated = app.devices.rotate(id.into_inner(), public_key, grace, by_of(&http)?).await?;
    let private_key = rotated.private_key.map(|key| key.expose().clone());
    Ok(envelope::record(rotated.device.version, KeyedBody { device: json!(rotated.device), private_key }))
}
