//! What a device says of itself, or a person for it, and what is known from that.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::principal::Permission;
use muster_core::{Error, Kind};
use muster_identity::By;
use serde_json::json;

use super::body::{HeartbeatReport, ReadingsBody};
use super::record::{HeartbeatBody, HistoryList, TelemetryBody};
use crate::app::App;
use crate::ask::PageQuery;
use crate::envelope::{self, Data};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{DeviceOrPerson, DevicesRead, Guarded, Queried, Sent, by_of};

/// Who speaks for a device: itself, or a person who may write devices.
fn speaker(http: &HttpRequest, id: &str) -> Result<By, HttpError> {
    let by = by_of(http)?;
    match &by {
        By::Device(device) if **device == *id => {}
        By::Device(_) => return Err(Error::new(Kind::Forbidden, "a device speaks only for itself").into()),
        By::Person(_) | By::Key(_) | By::System => by.require(Permission::DevicesWrite)?,
    }
    Ok(by)
}

/// A heartbeat, by the device's own token or by a person with `devices:write`. It is answered at once; what it says of
/// health and place is written within a minute, a change of status or firmware before the answer. A person's heartbeat
/// says nothing of boots.
#[utoipa::path(post, path = "/api/v1/devices/{id}/heartbeat", tag = "devices", operation_id = "device_heartbeat", request_body = HeartbeatReport, params(("id" = String, Path)), security(("token" = []), ("device" = [])), responses((status = 200, body = Data<HeartbeatBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn heartbeat(
    request: Sent<DeviceOrPerson, HeartbeatReport>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = speaker(&http, &id)?;
    let answer = app.devices.heartbeat(Arc::from(id.into_inner()), request.body.into(), by).await?;
    Ok(envelope::data(HeartbeatBody {
        status: answer.status.name().to_owned(),
        server_time: answer.server_time.rfc3339(),
        heartbeat_s: answer.heartbeat_s,
        commands_waiting: answer.commands_waiting,
        desired: answer.desired.map(|desired| json!(desired)),
    }))
}

/// New readings, by the device's own token or by a person with `devices:write`. The newest of each name is kept, told on
/// `devices:{id}:telemetry`, and written within a minute.
#[utoipa::path(post, path = "/api/v1/devices/{id}/telemetry", tag = "devices", operation_id = "device_telemetry", request_body = ReadingsBody, params(("id" = String, Path)), security(("token" = []), ("device" = [])), responses((status = 200, body = Data<TelemetryBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn measured(
    request: Sent<DeviceOrPerson, ReadingsBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = speaker(&http, &id)?;
    Ok(envelope::data(app.devices.measured(Arc::from(id.into_inner()), request.body.values, by).await?))
}

/// The latest readings of a device. Needs `devices:read`.
#[utoipa::path(get, path = "/api/v1/devices/{id}/telemetry", tag = "devices", operation_id = "get_device_telemetry", params(("id" = String, Path)), security(("token" = [])), responses((status = 200, body = Data<TelemetryBody>), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn telemetry(
    _guard: Guarded<DevicesRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    Ok(envelope::data(app.devices.telemetry(id.into_inner()).await?))
}

/// What happened to a device, newest first: changes of status, commands, credentials, firmware. 200 entries are kept.
/// Needs `devices:read`.
#[utoipa::path(get, path = "/api/v1/devices/{id}/history", tag = "devices", operation_id = "get_device_history", params(("id" = String, Path), PageQuery), security(("token" = [])), responses((status = 200, body = Data<HistoryList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn history(
    request: Queried<DevicesRead, PageQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = app.devices.history(&id, request.query.into()).await?;
    Ok(envelope::list("history", &page))
}
