//! What people do with devices: commands, maintenance, quarantine, release, new credentials.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::precondition::IfMatch;
use muster_network::device::Deed;
use serde_json::json;

use super::body::{Maintenance, MaintenanceBody, NewCommandBody, ReasonBody, RotateBody};
use super::record::{CommandBody, CommandList, DeviceBody, KeyedBody};
use crate::app::App;
use crate::ask::{self, PageQuery};
use crate::envelope::{self, Data, Given};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{DevicesCommand, DevicesRead, DevicesWrite, Queried, Sent, by_of};

/// Gives a device something to do. It gets it by its long poll or by the feed (`devices:{id}`), more than once if it
/// must, and acknowledges it. A quarantined or retired device gets none. Needs `devices:command`.
#[utoipa::path(post, path = "/api/v1/devices/{id}/commands", tag = "devices", operation_id = "command_device", request_body = NewCommandBody, params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")), security(("token" = [])), responses((status = 201, body = Data<CommandBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn command(
    request: Sent<DevicesCommand, NewCommandBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = ask::idempotency(&http, by.id(), &request.sent)?;
    let ordered = app.devices.command(id.into_inner(), request.body.into(), by, idempotency).await?;
    let given = Given::again_if(ordered.replayed);
    Ok(envelope::created(ordered.command, given))
}

/// A device's commands, newest first; about 200 are kept. Needs `devices:read`.
#[utoipa::path(get, path = "/api/v1/devices/{id}/commands", tag = "devices", operation_id = "list_device_commands", params(("id" = String, Path), PageQuery), security(("token" = [])), responses((status = 200, body = Data<CommandList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn commands(
    request: Queried<DevicesRead, PageQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = app.devices.commands(&id, request.query.into()).await?;
    Ok(envelope::list("commands", &page))
}

/// Quarantines a device: its credentials are blocked, commands to it refused, until it is released. Needs
/// `devices:write`.
#[utoipa::path(post, path = "/api/v1/devices/{id}/quarantine", tag = "devices", operation_id = "quarantine_device", request_body = ReasonBody, params(("id" = String, Path)), security(("token" = [])), responses((status = 200, body = Data<DeviceBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn quarantine(
    request: Sent<DevicesWrite, ReasonBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let device =
        app.devices.shift(id.into_inner(), Deed::Quarantine, Some(request.body.reason), by, IfMatch::Any).await?;
    Ok(envelope::record(device.version, device))
}

/// Releases a device from quarantine: it is provisioned again. Needs `devices:write`.
#[utoipa::path(post, path = "/api/v1/devices/{id}/release", tag = "devices", operation_id = "release_device", request_body = ReasonBody, params(("id" = String, Path)), security(("token" = [])), responses((status = 200, body = Data<DeviceBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn release(
    request: Sent<DevicesWrite, ReasonBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let device = app.devices.shift(id.into_inner(), Deed::Release, Some(request.body.reason), by, IfMatch::Any).await?;
    Ok(envelope::record(device.version, device))
}

/// Begins or ends maintenance, in which silence does not count. At its end a device is online or offline, by whether it
/// was heard of. A quarantined device is released first. Needs `devices:write`.
#[utoipa::path(post, path = "/api/v1/devices/{id}/maintenance", tag = "devices", operation_id = "maintain_device", request_body = MaintenanceBody, params(("id" = String, Path)), security(("token" = [])), responses((status = 200, body = Data<DeviceBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn maintenance(
    request: Sent<DevicesWrite, MaintenanceBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let MaintenanceBody { action, reason } = request.body;
    let deed = match action.unwrap_or_default() {
        Maintenance::Begin => Deed::BeginMaintenance,
        Maintenance::End => Deed::EndMaintenance,
    };
    let device = app.devices.shift(id.into_inner(), deed, reason, by_of(&http)?, IfMatch::Any).await?;
    Ok(envelope::record(device.version, device))
}

/// Gives a device another key; the old one is taken for a grace period yet, so that both hold. Needs `devices:write`.
#[utoipa::path(post, path = "/api/v1/devices/{id}/rotate-credentials", tag = "devices", operation_id = "rotate_device_credentials", request_body = RotateBody, params(("id" = String, Path)), security(("token" = [])), responses((status = 200, body = Data<KeyedBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
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
