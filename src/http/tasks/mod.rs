//! Tasks: how they stand, what happened to them, and their control.

mod body;
mod bulk;
mod control;
mod events;
mod filter;
mod read;
mod stream;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/tasks", get => read::list))
        .service(resource!("/api/v1/tasks/control", post => bulk::control))
        .service(resource!("/api/v1/tasks/{id}", get => read::get))
        .service(resource!("/api/v1/tasks/{id}/events", get => events::events))
        .service(resource!("/api/v1/tasks/{id}/pause", post => control::pause))
        .service(resource!("/api/v1/tasks/{id}/resume", post => control::resume))
        .service(resource!("/api/v1/tasks/{id}/kill", post => control::kill))
        .service(resource!("/api/v1/tasks/{id}/redirect", post => control::redirect));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(
    read::list,
    read::get,
    events::events,
    control::pause,
    control::resume,
    control::kill,
    control::redirect,
    bulk::control
))]
pub struct Api;
