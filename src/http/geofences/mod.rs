//! Geofences: areas that devices and incidents enter and leave. Reading needs `devices:read`; writing needs
//! `incidents:write`, because geofences follow incidents, not installed devices.

mod body;

use actix_web::{HttpRequest, HttpResponse, web};

use body::{FenceBody, FenceList, FencePatchBody, InsideBody, InsideList, NewFenceBody};

use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay, MessageBody};
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Disaster, NotFound, ReadErrors, VersionErrors, WriteErrors};
use crate::guard::{DevicesRead, Guarded, IncidentsWrite, Queried, Sent, by_of};
use crate::parameters::{self, PageQuery};
use crate::route::operations;

operations! {
    list,
    create,
    get,
    patch,
    delete,
    inside,
}

/// List geofences
///
/// Returns a page of the geofences, newest first.
#[utoipa::path(get, path = "/api/v1/geofences", tag = "geofences", operation_id = "list_geofences", params(PageQuery),
    responses((status = 200, description = "A page of geofences", body = Data<FenceList>), ReadErrors<Disaster>))]
async fn list(request: Queried<DevicesRead, PageQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let page = app.geofences.list(request.query.into()).await?;
    Ok(envelope::list("geofences", &page.map(|fence| FenceBody::from(&*fence))))
}

/// Create a geofence
///
/// Creates a geofence. Devices and incidents that are inside enter it at once: `geofence.entered` is published on the
/// channels `devices` and `devices:{id}`, or `incidents` and `incidents:{id}`.
#[utoipa::path(post, path = "/api/v1/geofences", tag = "geofences", operation_id = "create_geofence",
    request_body = NewFenceBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new geofence", body = Data<FenceBody>), WriteErrors<Disaster>))]
async fn create(
    request: Sent<IncidentsWrite, NewFenceBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = parameters::idempotency(&http, by.id(), &request.sent)?;
    let made = app.geofences.create(request.body.into(), by, idempotency).await?;
    let replay = IdempotencyReplay::from(made.replayed);
    Ok(envelope::created(FenceBody::from(&*made.fence), replay))
}

/// Get a geofence
///
/// Returns one geofence, with its version as `ETag`.
#[utoipa::path(get, path = "/api/v1/geofences/{id}", tag = "geofences", operation_id = "get_geofence",
    params(("id" = String, Path)),
    responses((status = 200, description = "The geofence", body = Data<FenceBody>), CallErrors<Disaster>,
        NotFound<Disaster>))]
async fn get(
    _guard: Guarded<DevicesRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let fence = app.geofences.get(id.into_inner()).await?;
    Ok(envelope::record(fence.version, FenceBody::from(&*fence)))
}

/// Update a geofence
///
/// Changes a geofence. Devices and incidents enter or leave it by its new area.
#[utoipa::path(patch, path = "/api/v1/geofences/{id}", tag = "geofences", operation_id = "update_geofence",
    request_body = FencePatchBody, params(("id" = String, Path), ("If-Match" = String, Header)),
    responses((status = 200, description = "The changed geofence", body = Data<FenceBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
async fn patch(
    request: Sent<IncidentsWrite, FencePatchBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, parameters::if_match(&http)?);
    let fence = app.geofences.update(id.into_inner(), request.body.into(), if_match, by).await?;
    Ok(envelope::record(fence.version, FenceBody::from(&*fence)))
}

/// Delete a geofence
///
/// Deletes a geofence. Devices and incidents that are inside leave it.
#[utoipa::path(delete, path = "/api/v1/geofences/{id}", tag = "geofences", operation_id = "delete_geofence",
    params(("id" = String, Path), ("If-Match" = String, Header)),
    responses((status = 200, description = "The geofence is deleted", body = MessageBody), ReadErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
async fn delete(
    _guard: Guarded<IncidentsWrite>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, parameters::if_match(&http)?);
    app.geofences.remove(id.into_inner(), if_match, by).await?;
    Ok(envelope::message("the geofence is deleted"))
}

/// List what is inside a geofence
///
/// Returns the devices and incidents inside a geofence, by kind and identifier. Restricted incidents are left out.
#[utoipa::path(get, path = "/api/v1/geofences/{id}/inside", tag = "geofences", operation_id = "inside_geofence",
    params(("id" = String, Path), PageQuery),
    responses((status = 200, description = "A page of devices and incidents", body = Data<InsideList>),
        ReadErrors<Disaster>, NotFound<Disaster>))]
async fn inside(
    request: Queried<DevicesRead, PageQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = app.geofences.inside(id.into_inner(), request.query.into()).await?;
    Ok(envelope::list("inside", &page.map(|inside| InsideBody::from(&inside))))
}
