//! Devices by where they are.

use actix_web::{HttpResponse, web};
use muster_core::{Error, Kind};
use muster_geo::{HALF_AROUND_M, Point};
use serde_json::json;

use super::body::{AreaBody, NearQuery};
use super::record::{NearList, WithinList};
use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{DevicesRead, Queried, Sent};

/// The devices near a place, nearest first. Needs `devices:read`.
#[utoipa::path(get, path = "/api/v1/devices/near", tag = "devices", operation_id = "devices_near", params(NearQuery), security(("token" = [])), responses((status = 200, body = Data<NearList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn near(request: Queried<DevicesRead, NearQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let NearQuery { lon, lat, r_m, limit } = request.query;
    let near = app.devices.near(Point::new(lon, lat), r_m.min(HALF_AROUND_M), limit).await?;
    let near = near.iter().map(|(device, distance_m)| json!({ "device": device, "distance_m": distance_m }));
    Ok(envelope::data(json!({ "devices": near.collect::<Vec<_>>() })))
}

/// The devices in an area or on its edge, newest first. Needs `devices:read`.
#[utoipa::path(post, path = "/api/v1/devices/within", tag = "devices", operation_id = "devices_within", request_body = AreaBody, security(("token" = [])), responses((status = 200, body = Data<WithinList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn within(request: Sent<DevicesRead, AreaBody>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let AreaBody { geometry, page } = request.body;
    let shape = geometry
        .shape()
        .map_err(|error| Error::field(Kind::Invalid, &["body", "geometry"], error.to_string(), json!(null)))?;
    let (page, total) = app.devices.within(shape, page.into()).await?;
    Ok(envelope::data(json!({ "devices": page.items, "total": total, "next_cursor": page.next })))
}
