//! Firmware: signed images, the keys that sign them, and their rollout.

mod artifacts;
mod body;
mod content;
mod describe;
mod jobs;
mod keys;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/firmware/artifacts", get => artifacts::list, post => artifacts::create))
        .service(resource!("/api/v1/firmware/artifacts/{id}", get => artifacts::get))
        .service(resource!("/api/v1/firmware/artifacts/{id}/content", get => content::get, put => content::put))
        .service(resource!("/api/v1/firmware/artifacts/{id}/verify", post => artifacts::verify))
        .service(resource!("/api/v1/firmware/artifacts/{id}/revoke", post => artifacts::revoke))
        .service(resource!("/api/v1/firmware/keys", get => keys::list, post => keys::create))
        .service(resource!("/api/v1/firmware/keys/{id}", delete => keys::revoke))
        .service(resource!("/api/v1/firmware/jobs", get => jobs::list, post => jobs::create))
        .service(resource!("/api/v1/firmware/jobs/{id}", get => jobs::get))
        .service(resource!("/api/v1/firmware/jobs/{id}/executions", get => jobs::executions))
        .service(resource!("/api/v1/firmware/jobs/{id}/approve", post => jobs::approve))
        .service(resource!("/api/v1/firmware/jobs/{id}/deny", post => jobs::deny))
        .service(resource!("/api/v1/firmware/jobs/{id}/pause", post => jobs::pause))
        .service(resource!("/api/v1/firmware/jobs/{id}/resume", post => jobs::resume))
        .service(resource!("/api/v1/firmware/jobs/{id}/cancel", post => jobs::cancel))
        .service(resource!("/api/v1/firmware/jobs/{id}/rollback", post => jobs::rollback))
        .service(resource!("/api/v1/devices/{id}/executions", get => jobs::executions_of));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(
    artifacts::list,
    artifacts::create,
    artifacts::get,
    artifacts::verify,
    artifacts::revoke,
    content::get,
    content::put,
    keys::list,
    keys::create,
    keys::revoke,
    jobs::list,
    jobs::create,
    jobs::get,
    jobs::executions,
    jobs::approve,
    jobs::deny,
    jobs::pause,
    jobs::resume,
    jobs::cancel,
    jobs::rollback,
    jobs::executions_of,
))]
pub struct Api;
