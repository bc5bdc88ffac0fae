//! What devices call by themselves, with tokens that they sign.

mod commands;
mod incidents;

use std::sync::Arc;

use actix_web::{HttpRequest, web};
use muster_core::Kind;
use muster_identity::By;
use utoipa::OpenApi;

use crate::error::HttpError;
use crate::guard::by_of;
use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/device/commands/next", get => commands::next))
        .service(resource!("/api/v1/device/commands/{id}/ack", post => commands::ack))
        .service(resource!("/api/v1/device/incidents", post => incidents::report));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(commands::next, commands::ack, incidents::report))]
pub struct Api;

/// Which device calls.
fn device(http: &HttpRequest) -> Result<Arc<str>, HttpError> {
    match by_of(http)? {
        By::Device(id) => Ok(id),
        By::Person(_) | By::Key(_) | By::System => {
            Err(HttpError::new(Kind::Internal, "a route for devices let another in"))
        }
    }
}
