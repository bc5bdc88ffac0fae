//! What devices call by themselves, with tokens that they sign.

mod commands;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/device/commands/next", get => commands::next))
        .service(resource!("/api/v1/device/commands/{id}/ack", post => commands::ack));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(commands::next, commands::ack))]
pub struct Api;
