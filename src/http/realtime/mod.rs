//! The live feed: sockets, and over HTTP its history, its presence and server-sent events.

mod api;
mod channels;
mod socket;
mod sse;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/realtime", get => socket::open))
        .service(resource!("/api/v1/realtime/sse", get => sse::listen))
        .service(resource!("/api/v1/realtime/channels/{ch}/history", get => channels::history))
        .service(resource!("/api/v1/realtime/channels/{ch}/presence", get => channels::presence))
        .service(resource!("/asyncapi.json", get => api::asyncapi));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(socket::open, sse::listen, channels::history, channels::presence, api::asyncapi))]
pub struct Api;
