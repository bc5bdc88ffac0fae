//! Geofences: areas that devices and incidents enter and leave. Who may read devices may read them; who may write
//! incidents may draw them, since they follow what happens, not what is installed.

mod body;

use actix_web::{HttpRequest, HttpResponse, web};
use utoipa::OpenApi;

use body::{FenceBody, FenceList, FencePatchBody, InsideBody, InsideList, NewFenceBody};

use crate::app::App;
use crate::ask::{self, PageQuery};
use crate::envelope::{self, Data, Given, Said};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{DevicesRead, Guarded, IncidentsWrite, Queried, Sent, by_of};
use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/geofences", get => list, post => create))
        .service(resource!("/api/v1/geofences/{id}", get => get, patch => patch, delete => delete))
        .service(resource!("/api/v1/geofences/{id}/inside", get => inside));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(list, create, get, patch, delete, inside))]
pub struct Api;

/// Geofences, newest first. Needs `devices:read`.
#[utoipa::path(get, path = "/api/v1/geofences", tag = "geofences", operation_id = "list_geofences", params(PageQuery),
    security(("token" = [])),
    responses((status = 200, body = Data<FenceList>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
async fn list(request: Queried<DevicesRead, PageQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let page = app.geofences.list(request.query.into()).await?;
    Ok(envelope::list("geofences", &page.map(|fence| FenceBody::from(&*fence))))
}

/// Draws a geofence. What is inside already enters it at once: `geofence.entered` is told on `devices` and
/// `devices:{id}`, `incidents` and `incidents:{id}`. Needs `incidents:write`.
#[utoipa::path(post, path = "/api/v1/geofences", tag = "geofences", operation_id = "create_geofence",
    request_body = NewFenceBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    security(("token" = [])),
    responses((status = 201, body = Data<FenceBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
async fn create(
    request: Sent<IncidentsWrite, NewFenceBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = ask::idempotency(&http, by.id(), &request.sent)?;
    let made = app.geofences.create(request.body.into(), by, idempotency).await?;
    let given = Given::again_if(made.replayed);
    Ok(envelope::created(FenceBody::from(&*made.fence), given))
}

/// One geofence, with its version as ETag. Needs `devices:read`.
#[utoipa::path(get, path = "/api/v1/geofences/{id}", tag = "geofences", operation_id = "get_geofence",
    params(("id" = String, Path)), security(("token" = [])),
    responses((status = 200, body = Data<FenceBody>), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
async fn get(
    _guard: Guarded<DevicesRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let fence = app.geofences.get(id.into_inner()).await?;
    Ok(envelope::record(fence.version, FenceBody::from(&*fence)))
}

/// Changes a geofence; what is then inside or outside enters or leaves it. Needs `incidents:write` and `If-Match`.
#[utoipa::path(patch, path = "/api/v1/geofences/{id}", tag = "geofences", operation_id = "update_geofence",
    request_body = FencePatchBody, params(("id" = String, Path), ("If-Match" = String, Header)),
    security(("token" = [])),
    responses((status = 200, body = Data<FenceBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
async fn patch(
    request: Sent<IncidentsWrite, FencePatchBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, ask::if_match(&http)?);
    let fence = app.geofences.update(id.into_inner(), request.body.into(), if_match, by).await?;
    Ok(envelope::record(fence.version, FenceBody::from(&*fence)))
}

/// Deletes a geofence; what is inside leaves it. Needs `incidents:write` and `If-Match`.
#[utoipa::path(delete, path = "/api/v1/geofences/{id}", tag = "geofences", operation_id = "delete_geofence",
    params(("id" = String, Path), ("If-Match" = String, Header)), security(("token" = [])),
    responses((status = 200, body = Said), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 412, body = ErrorDisaster),
        (status = 428, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
async fn delete(
    _guard: Guarded<IncidentsWrite>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, ask::if_match(&http)?);
    app.geofences.remove(id.into_inner(), if_match, by).await?;
    Ok(envelope::said("the geofence is deleted"))
}

/// What is inside a geofence, by kind and identifier; incidents that are restricted are not shown. Needs
/// `devices:read`.
#[utoipa::path(get, path = "/api/v1/geofences/{id}/inside", tag = "geofences", operation_id = "inside_geofence",
    params(("id" = String, Path), PageQuery), security(("token" = [])),
    responses((status = 200, body = Data<InsideList>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
async fn inside(
    request: Queried<DevicesRead, PageQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = app.geofences.inside(id.into_inner(), request.query.into()).await?;
    Ok(envelope::list("inside", &page.map(|inside| InsideBody::from(&inside))))
}
