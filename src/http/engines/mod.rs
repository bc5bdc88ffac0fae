//! Engines: the list of them, each one's description, and its run.

mod body;
pub mod describe;
mod run;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room. Those of one engine are described by [`describe::paths`], each with its own types.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/engines", get => run::list))
        .service(resource!("/api/q{number}", get => run::get))
        .service(resource!("/api/q{number}/run", post => run::run));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(run::list), components(schemas(body::EngineBody)))]
pub struct Api;
