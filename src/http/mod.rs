//! The routes. A handler parses, asks an actor, maps the answer; it decides nothing.

pub mod admin;
pub mod agents;
pub mod alerts;
pub mod auth;
pub mod chat_a;
pub mod chat_agent;
pub mod chat_b;
pub mod device_jobs;
pub mod device_side;
pub mod devices;
pub mod docs;
pub mod embeddings;
pub mod engines;
pub mod firmware;
pub mod geofences;
pub mod health;
pub mod incidents;
pub mod keys;
pub mod memory;
pub mod messages;
pub mod metrics;
pub mod models_a;
pub mod models_b;
pub mod monitor;
pub mod realtime;
pub mod responses;
pub mod status;
pub mod tasks;
pub mod usage;
pub mod users;

use actix_web::{HttpResponse, web};
use muster_core::Kind;

use crate::error::HttpError;
use crate::route::resource;

/// Every route of the server.
pub fn routes(config: &mut web::ServiceConfig) {
    for room in [
        auth::routes,
        users::routes,
        devices::routes,
        device_side::routes,
        device_jobs::routes,
        incidents::routes,
        geofences::routes,
        alerts::routes,
        firmware::routes,
        realtime::routes,
        engines::routes,
        monitor::routes,
        agents::routes,
        tasks::routes,
        memory::routes,
    ] {
        room(config);
    }
    config
        .service(resource!("/api/chat", post => chat_a::chat))
        .service(resource!("/api/models", get => models_a::list))
        .service(resource!("/v1/chat/completions", post => chat_b::complete))
        .service(resource!("/v1/messages", post => messages::create))
        .service(resource!("/v1/messages/count_tokens", post => messages::count_tokens))
        .service(resource!("/v1/responses", post => responses::create))
        .service(resource!("/v1/embeddings", post => embeddings::create))
        .service(resource!("/api/q159/llm/chat", post => chat_agent::gateway))
        .service(resource!("/api/v1/usage", get => usage::usage))
        .service(resource!("/v1/models", get => models_b::list))
        .service(resource!("/v1/models/{id:.+}", get => models_b::get))
        .service(resource!("/api/llm/chat", post => chat_agent::chat))
        .service(resource!("/api/health", get => health::report))
        .service(resource!("/api/health/live", get => health::live))
        .service(resource!("/api/health/ready", get => health::ready))
        .service(resource!("/api/v1/status", get => status::status))
        .service(resource!("/api/v1/keys", get => keys::list, post => keys::create))
        .service(resource!("/api/v1/keys/{id}", get => keys::get, delete => keys::revoke))
        .service(resource!("/api/v1/keys/{id}/rotate", post => keys::rotate))
        .service(resource!("/api/v1/admin/backup", post => admin::backup))
        .service(resource!("/api/v1/admin/reload", post => admin::reload))
        .service(resource!("/openapi.json", get => docs::openapi))
        .service(resource!("/docs", get => docs::swagger))
        .service(resource!("/redoc", get => docs::redoc))
        .service(resource!("/docs/assets/{file}", get => docs::asset))
        .service(resource!("/metrics", get => metrics::metrics))
        .default_service(web::to(|request: actix_web::HttpRequest| std::future::ready(not_found(request.path()))));
}

fn not_found(path: &str) -> Result<HttpResponse, HttpError> {
    let path: String = path.chars().take(200).collect();
    Err(HttpError::new(Kind::NotFound, format!("there is nothing at {path}: /openapi.json lists every route")))
}
