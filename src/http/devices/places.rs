//! Searches for devices by location.

use actix_web::{HttpResponse, web};
use muster_geo::{MAX_DISTANCE_M, Point};
use muster_network::shapes;
use serde_json::json;

use super::body::{AreaBody, NearQuery};
use super::record::{NearList, WithinList};
use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{BodyErrors, Disaster, ReadErrors};
use crate::guard::{DevicesRead, Queried, Sent};
/// Find devices near a point
///
/// Returns the devices within a distance of a point, nearest first.
#[utoipa::path(get, path = "/api/v1/devices/near", tag = "devices", operation_id = "devices_near", params(NearQuery),
    responses((status = 200, description = "The devices with their distances", body = Data<NearList>),
        ReadErrors<Disaster>))]
pub async fn near(request: Queried<DevicesRead, NearQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let NearQuery { lon, lat, r_m, limit } = request.query;
    let near = app.devices.near(Point::new(lon, lat), r_m.min(MAX_DISTANCE_M), limit).await?;
    let near = near.iter().map(|(device, distance_m)| json!({ "device": device, "distance_m": distance_m }));
    Ok(envelope::data(json!({ "devices": near.collect::<Vec<_>>() })))
}

/// Find devices in an area
///
/// Returns a page of the devices inside an area or on its edge, newest first.
#[utoipa::path(post, path = "/api/v1/devices/within", tag = "devices", operation_id = "devices_within", request_body = AreaBody,
    responses((status = 200, description = "A page of devices", body = Data<WithinList>), BodyErrors<Disaster>))]
pub async fn within(request: Sent<DevicesRead, AreaBody>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let AreaBody { geometry, page } = request.body;
    let shape = shapes::shape(geometry).await?;
    let (page, total) = app.devices.within(shape, page.into()).await?;
    Ok(envelope::data(json!({ "devices": page.items, "total": total, "next_cursor": page.next })))
}
