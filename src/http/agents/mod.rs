//! Agents: which there are, what they take, and their runs.

mod catalogue;
mod run;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/agents", get => catalogue::list))
        .service(resource!("/api/v1/agents/{id}", get => catalogue::get))
        .service(resource!("/api/v1/agents/{id}/run", post => run::run));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(catalogue::list, catalogue::get, run::run))]
pub struct Api;
