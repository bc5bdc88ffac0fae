//! CAP alerts: published, confirmed, imported, exported.

mod body;
mod import;
mod publish;
mod read;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/incidents/{id}/alerts", post => publish::publish))
        .service(resource!("/api/v1/alerts", get => read::list))
        .service(resource!("/api/v1/alerts/feed.atom", get => read::atom))
        .service(resource!("/api/v1/alerts/{id}.cap", get => read::cap))
        .service(resource!("/api/v1/alerts/{id}", get => read::get))
        .service(resource!("/api/v1/alerts/{id}/confirm", post => publish::confirm))
        .service(resource!("/api/v1/alerts/{id}/reject", post => publish::reject))
        .service(resource!("/api/v1/cap", post => import::import));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(
    publish::publish,
    publish::confirm,
    publish::reject,
    read::list,
    read::atom,
    read::cap,
    read::get,
    import::import,
))]
pub struct Api;
