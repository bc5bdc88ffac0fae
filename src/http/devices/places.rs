//! Devices by where they are.

use actix_web::{HttpResponse, web};
use muster_core::{Error, Kind};
use muster_geo::{MAX_DISTANCE_M, Point};
use serde_json::json;

use super::body::{AreaBody, NearQuery};
use super::record::{NearList, WithinList};
use crate::app::App;
use crate::ask;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{BodyErrors, Disaster, ReadErrors};
use crate::guard::{DevicesRead, Guarded, Sent};

/// Find devices near a point
///
/// Returns the devices within a distance of a point, nearest first.
#[utoipa::path(get, path = "/api/v1/devices/near", tag = "devices", operation_id = "devices_near", params(NearQuery),
    responses((status = 200, description = "The devices with their distances", body = Data<NearList>),
        ReadErrors<Disaster>))]
pub async fn near(
    _guard: Guarded<DevicesRead>,
    query: web::Query<NearQuery>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let NearQuery { lon, lat, r_m, limit } = query.into_inner();
    let limit = ask::page(limit.as_deref(), None)?.limit;
    let lon = number("lon", lon.as_deref(), 180.0)?;
    let lat = number("lat", lat.as_deref(), 90.0)?;
    let radius = number("r_m", Some(r_m.as_deref().unwrap_or("10000")), 20_100_000.0)?;
    if radius < 0.0 {
        return Err(Error::field(Kind::Invalid, &["query", "r_m"], "must not be negative", json!(radius)).into());
    }
    let near = app.devices.near(Point::new(lon, lat), radius.min(MAX_DISTANCE_M), limit).await?;
    let near = near.iter().map(|(device, distance_m)| json!({ "device": device, "distance_m": distance_m }));
    Ok(envelope::data(json!({ "devices": near.collect::<Vec<_>>() })))
}

/// A number of a query, at most `most` in size.
fn number(name: &str, text: Option<&str>, most: f64) -> Result<f64, Error> {
    let text = text.unwrap_or_default();
    let number = text.parse::<f64>().ok().filter(|number| number.abs() <= most);
    number.ok_or_else(|| {
        let wrong = format!("must be a number of at most {most}");
        Error::field(Kind::Invalid, &["query", name], wrong, text.into())
    })
}

/// Find devices in an area
///
/// Returns a page of the devices inside an area or on its edge, newest first.
#[utoipa::path(post, path = "/api/v1/devices/within", tag = "devices", operation_id = "devices_within", request_body = AreaBody,
    responses((status = 200, description = "A page of devices", body = Data<WithinList>), BodyErrors<Disaster>))]
pub async fn within(request: Sent<DevicesRead, AreaBody>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let AreaBody { geometry, limit, cursor } = request.body;
    let missing = || Error::field(Kind::Invalid, &["body", "geometry"], "is required", json!(null));
    let shape = geometry
        .ok_or_else(missing)?
        .shape()
        .map_err(|error| Error::field(Kind::Invalid, &["body", "geometry"], error.to_string(), json!(null)))?;
    let mut ask = ask::page(None, cursor)?;
    ask.limit = limit.unwrap_or(ask.limit);
    let (page, total) = app.devices.within(shape, ask).await?;
    Ok(envelope::data(json!({ "devices": page.items, "total": total, "next_cursor": page.next })))
}
