//! Devices are registered, listed, read, described and retired.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_geo::BBox;
use muster_network::device::{Deed, DeviceFilter};

use super::body::{DevicePatchBody, ListQuery, NewDeviceBody};
use super::record::{DeviceBody, DeviceList, KeyedBody};
use crate::app::App;
use crate::ask;
use crate::envelope::{self, Data, Given};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{DevicesRead, DevicesWrite, Guarded, Queried, Sent, by_of};

/// Devices, newest first. Needs `devices:read`.
#[utoipa::path(get, path = "/api/v1/devices", tag = "devices", operation_id = "list_devices", params(ListQuery), security(("token" = [])), responses((status = 200, body = Data<DeviceList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn list(request: Queried<DevicesRead, ListQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let ListQuery { status, kind, tag, group, q, bbox, page } = request.query;
    let filter = DeviceFilter { status, kind, tag, group, hw_class: None, q, bbox: bbox.map(BBox::to_array) };
    Ok(envelope::list("devices", &app.devices.list(filter, page.into()).await?))
}

/// Registers a device. It authenticates by tokens that it signs with its key: `Authorization: Bearer <JWT>`, header
/// `{"typ":"dev+jwt","alg":"EdDSA","kid"}`, claims `{"sub": its id, "aud":"muster-device", "iat", "exp" (at most 5
/// minutes after iat), "jti"}`. A private key that the server made is in the first answer only: lost, it is rotated.
/// Needs `devices:write`.
#[utoipa::path(post, path = "/api/v1/devices", tag = "devices", operation_id = "register_device", request_body = NewDeviceBody, params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")), security(("token" = [])), responses((status = 201, body = Data<KeyedBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn create(
    request: Sent<DevicesWrite, NewDeviceBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = ask::idempotency(&http, by.id(), &request.sent)?;
    let made = app.devices.register(request.body.into(), by, idempotency).await?;
    let given = Given::again_if(made.replayed);
    let private_key = made.private_key.map(|key| key.expose().clone());
    Ok(envelope::created(KeyedBody { device: made.device, private_key }, given))
}

/// One device, with its version as ETag. Needs `devices:read`.
#[utoipa::path(get, path = "/api/v1/devices/{id}", tag = "devices", operation_id = "get_device", params(("id" = String, Path)), security(("token" = [])), responses((status = 200, body = Data<DeviceBody>), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn get(
    _guard: Guarded<DevicesRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let device = app.devices.get(&id).await?;
    Ok(envelope::record(device.version, device))
}

/// Changes what people say of a device. Needs `devices:write`.
#[utoipa::path(patch, path = "/api/v1/devices/{id}", tag = "devices", operation_id = "patch_device", request_body = DevicePatchBody, params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")), security(("token" = [])), responses((status = 200, body = Data<DeviceBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn patch(
    request: Sent<DevicesWrite, DevicePatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, version) = (by_of(&http)?, ask::if_match(&http)?);
    let device = app.devices.describe(id.into_inner(), request.body.into(), by, version).await?;
    Ok(envelope::record(device.version, device))
}

/// Retires a device: for good. Its credentials are destroyed, its commands refused; the record stays. Needs
/// `devices:write`.
#[utoipa::path(delete, path = "/api/v1/devices/{id}", tag = "devices", operation_id = "retire_device", params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")), security(("token" = [])), responses((status = 200, body = Data<DeviceBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 428, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn retire(
    _guard: Guarded<DevicesWrite>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, version) = (by_of(&http)?, ask::if_match(&http)?);
    let device = app.devices.shift(id.into_inner(), Deed::Retire, None, by, version).await?;
    Ok(envelope::record(device.version, device))
}
