//! The registry of devices: create, list, get, update, retire.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_geo::BBox;
use muster_network::device::{DeviceAction, DeviceFilter};

use super::body::{DevicePatchBody, ListQuery, NewDeviceBody};
use super::record::{DeviceBody, DeviceList, KeyedBody};
use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Conflict, Disaster, NotFound, ReadErrors, VersionErrors, WriteErrors};
use crate::guard::{DevicesRead, DevicesWrite, Guarded, Queried, Sent, by_of};
use crate::parameters;
/// List devices
///
/// Returns a page of the registered devices, newest first.
#[utoipa::path(get, path = "/api/v1/devices", tag = "devices", operation_id = "list_devices", params(ListQuery),
    responses((status = 200, description = "A page of devices", body = Data<DeviceList>), ReadErrors<Disaster>))]
pub async fn list(request: Queried<DevicesRead, ListQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let ListQuery { status, kind, tag, group, q, drift, bbox, page } = request.query;
    let filter = DeviceFilter { status, kind, tag, group, hw_class: None, drift, q, bbox: bbox.map(BBox::to_array) };
    Ok(envelope::list("devices", &app.devices.list(filter, page.into()).await?))
}

/// Register a device
///
/// Registers a device and its Ed25519 public key. The device authenticates by tokens that it signs with its key:
/// `Authorization: Bearer <JWT>` with the header `{"typ": "dev+jwt", "alg": "EdDSA", "kid"}` and the claims `sub` (the
/// device's identifier), `aud` (`muster-device`), `iat`, `exp` (at most 5 minutes after `iat`) and `jti`.
///
/// If no public key is sent, the server generates a key pair. The private key is in the first response only; a lost key
/// must be replaced.
#[utoipa::path(post, path = "/api/v1/devices", tag = "devices", operation_id = "register_device", request_body = NewDeviceBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new device and its credentials", body = Data<KeyedBody>),
        WriteErrors<Disaster>))]
pub async fn create(
    request: Sent<DevicesWrite, NewDeviceBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = parameters::idempotency(&http, by.id(), &request.sent)?;
    let made = app.devices.register(request.body.into(), by, idempotency).await?;
    let replay = IdempotencyReplay::from(made.replayed);
    let private_key = made.private_key.map(|key| key.expose().clone());
    Ok(envelope::created(KeyedBody { device: made.device, private_key }, replay))
}

/// Get a device
///
/// Returns one device, with its version as `ETag`.
#[utoipa::path(get, path = "/api/v1/devices/{id}", tag = "devices", operation_id = "get_device", params(("id" = String, Path)),
    responses((status = 200, description = "The device", body = Data<DeviceBody>), CallErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn get(
    _guard: Guarded<DevicesRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let device = app.devices.get(&id).await?;
    Ok(envelope::record(device.version, device))
}

/// Update a device
///
/// Changes the fields of a device that users maintain. A field that is left out keeps its value.
#[utoipa::path(patch, path = "/api/v1/devices/{id}", tag = "devices", operation_id = "patch_device",
    request_body = DevicePatchBody,
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    responses((status = 200, description = "The changed device", body = Data<DeviceBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn patch(
    request: Sent<DevicesWrite, DevicePatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, version) = (by_of(&http)?, parameters::if_match(&http)?);
    let device = app.devices.describe(id.into_inner(), request.body.into(), by, version).await?;
    Ok(envelope::record(device.version, device))
}

/// Retire a device
///
/// Retires a device permanently: its credentials are destroyed and its commands rejected. The record stays readable.
#[utoipa::path(delete, path = "/api/v1/devices/{id}", tag = "devices", operation_id = "retire_device",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    responses((status = 200, description = "The retired device", body = Data<DeviceBody>), ReadErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>, Conflict<Disaster>))]
pub async fn retire(
    _guard: Guarded<DevicesWrite>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, version) = (by_of(&http)?, parameters::if_match(&http)?);
    let device = app.devices.apply_action(id.into_inner(), DeviceAction::Retire, None, by, version).await?;
    Ok(envelope::record(device.version, device))
}
