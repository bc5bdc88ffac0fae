//! Reports of a device, or of a user for it: heartbeats and telemetry; its latest readings and its history.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::principal::Permission;
use muster_core::{Error, Kind};
use muster_identity::By;
use serde_json::json;

use super::body::{HeartbeatReport, ReadingsBody};
use super::record::{HeartbeatBody, HistoryList, TelemetryBody};
use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Disaster, NotFound, ReadErrors, WriteErrors};
use crate::guard::{DeviceOrPerson, DevicesRead, Guarded, Queried, Sent, by_of};
use crate::parameters::PageQuery;

/// Returns who reports for a device: the device itself, or a user who may write devices.
fn reporter(http: &HttpRequest, id: &str) -> Result<By, HttpError> {
    let by = by_of(http)?;
    match &by {
        By::Device(device) if **device == *id => {}
        By::Device(_) => return Err(Error::new(Kind::Forbidden, "a device can only report for itself").into()),
        By::Person(_) | By::Key(_) | By::System => by.require(Permission::DevicesWrite)?,
    }
    Ok(by)
}

/// Send a heartbeat
///
/// Reports that a device is alive, with its health and position. Health and position are stored within a minute; a
/// change of status or firmware is stored before the response. A user who reports for a device needs the permission
/// `devices:write`; such a heartbeat does not report restarts.
#[utoipa::path(post, path = "/api/v1/devices/{id}/heartbeat", tag = "devices", operation_id = "device_heartbeat",
    request_body = HeartbeatReport, params(("id" = String, Path)),
    responses((status = 200, description = "The state of the device and what it should do next", body = Data<HeartbeatBody>),
        WriteErrors<Disaster>, NotFound<Disaster>))]
pub async fn heartbeat(
    request: Sent<DeviceOrPerson, HeartbeatReport>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = reporter(&http, &id)?;
    let answer = app.devices.heartbeat(Arc::from(id.into_inner()), request.body.into(), by).await?;
    Ok(envelope::data(HeartbeatBody {
        status: answer.status.name().to_owned(),
        server_time: answer.server_time.rfc3339(),
        heartbeat_s: answer.heartbeat_s,
        commands_waiting: answer.commands_waiting,
        desired: answer.desired.map(|desired| json!(desired)),
    }))
}

/// Report telemetry
///
/// Stores readings of a device. The newest reading of each name is kept, published on the channel
/// `devices:{id}:telemetry`, and stored within a minute. A user who reports for a device needs the permission
/// `devices:write`.
#[utoipa::path(post, path = "/api/v1/devices/{id}/telemetry", tag = "devices", operation_id = "device_telemetry",
    request_body = ReadingsBody, params(("id" = String, Path)),
    responses((status = 200, description = "The latest readings", body = Data<TelemetryBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn measured(
    request: Sent<DeviceOrPerson, ReadingsBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = reporter(&http, &id)?;
    Ok(envelope::data(app.devices.measured(Arc::from(id.into_inner()), request.body.values, by).await?))
}

/// Get the latest readings of a device
///
/// Returns the latest reading of each name that the device has reported.
#[utoipa::path(get, path = "/api/v1/devices/{id}/telemetry", tag = "devices", operation_id = "get_device_telemetry",
    params(("id" = String, Path)),
    responses((status = 200, description = "The latest readings", body = Data<TelemetryBody>), CallErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn telemetry(
    _guard: Guarded<DevicesRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    Ok(envelope::data(app.devices.telemetry(id.into_inner()).await?))
}

/// Get the history of a device
///
/// Returns the events of a device, newest first: changes of status, commands, credentials and firmware. The last 200
/// events are kept.
#[utoipa::path(get, path = "/api/v1/devices/{id}/history", tag = "devices", operation_id = "get_device_history",
    params(("id" = String, Path), PageQuery),
    responses((status = 200, description = "A page of events", body = Data<HistoryList>), ReadErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn history(
    request: Queried<DevicesRead, PageQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = app.devices.history(&id, request.query.into()).await?;
    Ok(envelope::list("history", &page))
}
