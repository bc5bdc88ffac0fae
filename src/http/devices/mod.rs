//! Devices, as people see them, and what each says of itself.

mod body;
mod deeds;
mod life;
mod places;
mod record;
mod registry;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room. Those with a word in the place of an id come first.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/devices/near", get => places::near))
        .service(resource!("/api/v1/devices/within", post => places::within))
        .service(resource!("/api/v1/devices", get => registry::list, post => registry::create))
        .service(resource!("/api/v1/devices/{id}", get => registry::get, patch => registry::patch, delete => registry::retire))
        .service(resource!("/api/v1/devices/{id}/heartbeat", post => life::heartbeat))
        .service(resource!("/api/v1/devices/{id}/telemetry", get => life::telemetry, post => life::measured))
        .service(resource!("/api/v1/devices/{id}/history", get => life::history))
        .service(resource!("/api/v1/devices/{id}/commands", get => deeds::commands, post => deeds::command))
        .service(resource!("/api/v1/devices/{id}/quarantine", post => deeds::quarantine))
        .service(resource!("/api/v1/devices/{id}/release", post => deeds::release))
        .service(resource!("/api/v1/devices/{id}/maintenance", post => deeds::maintenance))
        .service(resource!("/api/v1/devices/{id}/rotate-credentials", post => deeds::rotate));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(
    places::near,
    places::within,
    registry::list,
    registry::create,
    registry::get,
    registry::patch,
    registry::retire,
    life::heartbeat,
    life::telemetry,
    life::measured,
    life::history,
    deeds::commands,
    deeds::command,
    deeds::quarantine,
    deeds::release,
    deeds::maintenance,
    deeds::rotate,
))]
pub struct Api;
